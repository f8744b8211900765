//! `cajole evalb`: trees against gold's, by evalb's measure.

use std::path::PathBuf;

use anyhow::bail;
use cajole_tasks::Watch;
use cajole_treebank::evalb::{Evaluation, Params, Score, SentenceScore};
use serde_json::{Value, json};

use crate::Session;
use crate::screen::{self, Screen};

/// Score parse trees as evalb does: brackets, crossings and tags, in evalb's own table
#[derive(clap::Args, Debug)]
pub(crate) struct Evalb {
    /// The right trees, one sentence per line
    pub(crate) gold: PathBuf,

    /// The trees to score, line by line; a blank line is a sentence without a parse
    pub(crate) test: PathBuf,

    /// A parameter file of evalb [default: Collins's, which is built in]
    #[arg(long, value_name = "FILE")]
    pub(crate) param: Option<PathBuf>,
}

pub(crate) fn run(what: &Evalb, session: &Session) -> anyhow::Result<()> {
    let params = match &what.param {
        None => Params::collins(),
        Some(path) => Params::read(path)?,
    };
    let evaluation = Evaluation::of_files(&what.gold, &what.test, &params)?;
    let screen = Screen::new();
    evaluation.messages().for_each(|message| screen.say(&message));
    match session.json {
        true => screen::print(&serde_json::to_string_pretty(&to_json(&evaluation))?)?,
        false => screen::print(&evaluation.to_string())?,
    }
    if evaluation.is_cut_off {
        let (line, most) = (evaluation.sentences.len(), params.most_errors);
        let errors = evaluation.all.errors;
        bail!(
            "{errors} errors, and MAX_ERROR is {most}: stopped at {}:{line}",
            what.test.display()
        );
    }
    Ok(())
}

fn to_json(evaluation: &Evaluation) -> Value {
    let sentences = (1..).zip(&evaluation.sentences).map(|(id, sentence)| of(id, sentence));
    json!({
        "sentences": sentences.collect::<Vec<_>>(),
        "all": with_ratios(&evaluation.all),
        "short": with_ratios(&evaluation.short),
        "cutoff_length": evaluation.cutoff_length,
        "cut_off": evaluation.is_cut_off,
    })
}

fn of(id: usize, sentence: &SentenceScore) -> Value {
    let mut value = with_ratios(&sentence.score);
    value["id"] = json!(id);
    value["length"] = json!(sentence.length);
    value["status"] = json!(sentence.status.code());
    value["reason"] = match sentence.status.code() {
        0 => Value::Null,
        _ => json!(sentence.status.to_string()),
    };
    value
}

fn with_ratios(score: &Score) -> Value {
    let mut value = serde_json::to_value(score).unwrap_or_default();
    for (name, ratio) in [
        ("recall", score.recall()),
        ("precision", score.precision()),
        ("f1", score.f1()),
        ("complete_match", score.complete_match()),
        ("average_crossing", score.average_crossing()),
        ("no_crossing_rate", score.no_crossing_rate()),
        ("two_or_less_crossing_rate", score.two_or_less_crossing_rate()),
        ("tagging_accuracy", score.tagging_accuracy()),
    ] {
        value[name] = json!(ratio);
    }
    value["valid"] = json!(score.valid());
    value
}
