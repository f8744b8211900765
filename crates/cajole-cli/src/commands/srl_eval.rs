//! `cajole srl-eval`: propositions against gold's, by the measure of `srl-eval.pl`.

use std::path::PathBuf;

use cajole_tasks::Watch;
use cajole_treebank::roles::eval::Evaluation;

use crate::Session;
use crate::screen::{self, Screen};

/// Score semantic roles as srl-eval.pl does, with its own table of arguments by role
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
        true => screen::print(&serde_json::to_string_pretty(&evaluation.to_json())?)?,
        false => screen::print(&evaluation.to_string())?,
    }
    Ok(())
}
