//! Scores for programs: every count with the ratios that evalb's table has.

use serde_json::{Value, json};

use super::evaluation::Evaluation;
use super::score::{Score, SentenceScore};

impl Evaluation {
    /// All counts and ratios as one JSON object: by sentence, over all, and over the short ones.
    pub fn to_json(&self) -> Value {
        let sentences = (1..).zip(&self.sentences).map(|(id, sentence)| of(id, sentence));
        json!({
            "sentences": sentences.collect::<Vec<_>>(),
            "all": with_ratios(&self.all),
            "short": with_ratios(&self.short),
            "cutoff_length": self.cutoff_length,
            "cut_off": self.is_cut_off,
        })
    }
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
