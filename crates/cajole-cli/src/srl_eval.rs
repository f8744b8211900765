//! `cajole srl-eval`: propositions against gold's, by the measure of `srl-eval.pl`.

use cajole_tasks::experiment::Watch;
use cajole_tasks::srl::eval::{Counts, Evaluation};
use serde_json::{Map, Value, json};

use crate::args::{Args, SrlEval};
use crate::screen::{self, Screen};

pub(crate) fn run(what: &SrlEval, args: &Args) -> anyhow::Result<()> {
    let evaluation = Evaluation::of_files(&what.gold, &what.test)?;
    let screen = Screen::new();
    evaluation.mismatches.iter().for_each(|mismatch| screen.say(&mismatch.to_string()));
    match args.json {
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
