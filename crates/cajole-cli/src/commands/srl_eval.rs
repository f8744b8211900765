//! `cajole srl-eval`: propositions against gold's, by the measure of `srl-eval.pl`.

use std::path::PathBuf;

use cajole_tasks::Watch;
use cajole_treebank::roles::eval::{Counts, Evaluation};
use serde_json::{Map, Value, json};

use crate::Session;
use crate::screen::{self, Screen};

/// Score semantic roles as srl-eval.pl does: arguments of each role, in its own table
///
/// Both files have a row for each word: the lemma of a predicate or -, and a column of arguments
/// for each predicate, in their order; blank lines are between sentences:
///
///     -     (ARG0*)
///     know  (V*)
///     -     (ARG1*
///     -     *)
///
/// An argument is right if its role and all its words are. C-ARG1 continues the ARG1 before it and
/// counts only together with it. V, the predicate, is left out of the overall figures. Predicates
/// that only one of the files has are reported; those that only gold has are counted as missed.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct SrlEval {
    /// The right propositions; may be gzipped
    pub(crate) gold: PathBuf,

    /// The propositions to score, for the same sentences
    pub(crate) test: PathBuf,
}

pub(crate) fn run(what: &SrlEval, session: &Session) -> anyhow::Result<()> {
    let evaluation = Evaluation::of_files(&what.gold, &what.test)?;
    let screen = Screen::new();
    evaluation.mismatches.iter().for_each(|mismatch| screen.say(&mismatch.to_string()));
    match session.json {
        true => screen::print(&serde_json::to_string_pretty(&to_json(&evaluation))?)?,
        false => screen::print(&evaluation.to_string())?,
    }
    Ok(())
}

fn to_json(evaluation: &Evaluation) -> Value {
    let Evaluation { sentences, score, mismatches } = evaluation;
    let roles = score.roles.iter().map(|(role, counts)| (role.clone(), with_ratios(counts)));
    json!({
        "sentences": sentences,
        "propositions": score.propositions,
        "perfect": score.perfect,
        "perfect_rate": score.perfect_rate(),
        "overall": with_ratios(&score.overall()),
        "roles": roles.collect::<Map<_, _>>(),
        "mismatches": mismatches.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn with_ratios(counts: &Counts) -> Value {
    let mut value = serde_json::to_value(counts).unwrap_or_default();
    value["precision"] = json!(counts.precision());
    value["recall"] = json!(counts.recall());
    value["f1"] = json!(counts.f1());
    value
}
