//! Scores for programs: every count with the ratios that srl-eval's table has.

use serde_json::{Map, Value, json};

use super::evaluation::Evaluation;
use super::score::Counts;

impl Evaluation {
    /// All counts and ratios as one JSON object: overall and by role.
    pub fn to_json(&self) -> Value {
        let Evaluation { sentences, score, mismatches } = self;
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
}

fn with_ratios(counts: &Counts) -> Value {
    let mut value = serde_json::to_value(counts).unwrap_or_default();
    value["precision"] = json!(counts.precision());
    value["recall"] = json!(counts.recall());
    value["f1"] = json!(counts.f1());
    value
}
