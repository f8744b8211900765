//! Parses a checker's reply.
//!
//! ```text
//! {"loss": 1.5, "parts": [{"start": 2, "end": 3, "cost": 1.0, "message": "…"}], "message": "…"}
//! ```
//!
//! The loss is authoritative; the costs of the parts are shares of it, whatever their sum. So a
//! checker may use its own units, and rounding errors in the sum do not matter. It is an error if
//! the loss cannot be shared: a positive loss with no costs, or costs with a zero loss.

use std::ops::Range;

use cajole_core::{Fault, Part, Symbol, Violation};
use serde::Deserialize;
use serde_json::Value;

use crate::vocabulary::Vocabulary;

/// A parsed reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The id of the request, if the checker echoed it.
    pub id: Option<Value>,
    /// The verdict on the output.
    pub verdict: Verdict,
}

/// A checker's verdict on an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// `g`: zero exactly if the output is feasible.
    pub loss: f32,
    /// The parts that bear the loss, with the checker's messages; empty if the whole output does.
    pub parts: Vec<Fault>,
    /// The checker's message about the whole output.
    pub message: String,
}

/// Why a line is not a valid reply.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// It is not JSON, or not an object with the right fields.
    #[error("{error}")]
    Json {
        /// The JSON error.
        error: String,
    },
    /// An invalid loss.
    #[error("loss {loss} is not a finite number >= 0")]
    Loss {
        /// The loss.
        loss: f64,
    },
    /// A part is empty or outside the output.
    #[error("part {part} is {start}..{end}, but the positions are 0..{positions}")]
    Range {
        /// The index of the part, from 0.
        part: usize,
        /// Its first position.
        start: usize,
        /// One past its last position.
        end: usize,
        /// How many positions there are, including the end symbol.
        positions: usize,
    },
    /// The cost of a part is invalid.
    #[error("part {part} costs {cost}, which is not a finite number >= 0")]
    Cost {
        /// The index of the part, from 0.
        part: usize,
        /// Its cost.
        cost: f64,
    },
    /// The loss cannot be shared among the parts.
    #[error("the parts cost {sum} together, but the loss is {loss}")]
    Shares {
        /// The sum of the costs.
        sum: f64,
        /// The loss.
        loss: f64,
    },
}

impl Verdict {
    /// Rejects the output as a whole, with a loss of 1.
    pub(super) fn rejection(message: String) -> Self {
        Verdict { loss: 1.0, parts: Vec::new(), message }
    }

    /// The verdict as the value of a constraint.
    pub fn violation(&self) -> Violation {
        if self.parts.is_empty() {
            return Violation::Whole(self.loss);
        }
        let part = |fault: &Fault| Part { at: fault.at.clone(), cost: fault.cost };
        Violation::Parts(self.parts.iter().map(part).collect())
    }

    /// Why `y` is rejected: the messages of the parts, each with the symbols it is about, or of the
    /// whole; `unsaid` stands for a missing message. Empty if `y` is accepted.
    pub fn faults(&self, vocabulary: &Vocabulary, y: &[Symbol], unsaid: &str) -> Vec<Fault> {
        let said = |message: &str| match message {
            "" => unsaid.to_owned(),
            _ => message.to_owned(),
        };
        if self.loss == 0.0 {
            return Vec::new();
        }
        if self.parts.is_empty() {
            let (at, cost) = (0..y.len() + 1, self.loss);
            return vec![Fault { at, cost, message: said(&self.message) }];
        }
        let part = |fault: &Fault| Fault {
            message: format!("{}: {}", place(vocabulary, y, &fault.at), said(&fault.message)),
            ..fault.clone()
        };
        self.parts.iter().map(part).collect()
    }
}

/// The symbols at these positions, and the positions.
fn place(vocabulary: &Vocabulary, y: &[Symbol], at: &Range<usize>) -> String {
    let Range { start, end } = *at;
    let symbols = y.get(start..end.min(y.len())).unwrap_or_default();
    let name = match vocabulary.text(symbols) {
        name if y.len() < end && name.is_empty() => "the end".to_owned(),
        name if y.len() < end => format!("{name:?} and the end"),
        name => format!("{name:?}"),
    };
    format!("{name} at {}", vocabulary.place(y, at))
}

/// Parses a checker's `line` about an output of `n_symbols` symbols. Unknown fields are ignored.
///
/// # Errors
/// If the loss is missing, or the reply is inconsistent.
pub fn parse_reply(line: &[u8], n_symbols: usize) -> Result<Reply, ReplyError> {
    let written: WrittenReply = serde_json::from_slice(line)
        .map_err(|error| ReplyError::Json { error: error.to_string() })?;
    let loss = cost(written.loss).ok_or(ReplyError::Loss { loss: written.loss })?;
    let parts = written.parts.unwrap_or_default();
    let positions = n_symbols.saturating_add(1);
    for (k, part) in parts.iter().enumerate() {
        part.validate(k, positions)?;
    }
    let parts = shared(parts, written.loss)?;
    let verdict = Verdict { loss, parts, message: written.message.unwrap_or_default() };
    if !verdict.violation().total().is_finite() {
        return Err(ReplyError::Loss { loss: written.loss });
    }
    Ok(Reply { id: written.id, verdict })
}

/// The `id` of a line that is a JSON object, valid reply or not: `Some(None)` if it has none.
pub(super) fn id_of(line: &[u8]) -> Option<Option<Value>> {
    #[derive(Deserialize)]
    struct Written {
        id: Option<Value>,
    }
    // A list could be read as the fields of an object, in order.
    let is_object = line.trim_ascii_start().starts_with(b"{");
    let written = is_object.then(|| serde_json::from_slice::<Written>(line).ok()).flatten();
    written.map(|written| written.id)
}

#[derive(Deserialize)]
struct WrittenReply {
    id: Option<Value>,
    loss: f64,
    parts: Option<Vec<WrittenPart>>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct WrittenPart {
    start: usize,
    end: usize,
    cost: f64,
    message: Option<String>,
}

impl WrittenPart {
    fn validate(&self, part: usize, positions: usize) -> Result<(), ReplyError> {
        let WrittenPart { start, end, cost: written, .. } = *self;
        if start >= end || end > positions {
            return Err(ReplyError::Range { part, start, end, positions });
        }
        cost(written).map(drop).ok_or(ReplyError::Cost { part, cost: written })
    }
}

/// The parts with a positive cost, scaled to shares of `loss`.
fn shared(parts: Vec<WrittenPart>, loss: f64) -> Result<Vec<Fault>, ReplyError> {
    let sum: f64 = parts.iter().map(|part| part.cost).sum();
    if !parts.is_empty() && (sum == 0.0) != (loss == 0.0) {
        return Err(ReplyError::Shares { sum, loss });
    }
    let fault = |part: WrittenPart| {
        let cost = (loss * (part.cost / sum)) as f32;
        let cost = cost.max(f32::MIN_POSITIVE);
        Fault { at: part.start..part.end, cost, message: part.message.unwrap_or_default() }
    };
    Ok(parts.into_iter().filter(|part| 0.0 < part.cost).map(fault).collect())
}

/// Validates a cost and converts it to f32; positive costs stay positive.
fn cost(written: f64) -> Option<f32> {
    let rounded = match written as f32 {
        0.0 if 0.0 < written => f32::MIN_POSITIVE,
        // Turns a negative zero into a positive one.
        rounded => rounded + 0.0,
    };
    (0.0 <= written && rounded.is_finite()).then_some(rounded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(line: &str) -> Result<Verdict, ReplyError> {
        parse_reply(line.as_bytes(), 3).map(|reply| reply.verdict)
    }

    #[test]
    fn a_reply_has_messages_and_positions() {
        let fine = verdict(r#" {"loss": 0, "seconds": 0.1, "parts": null} "#).unwrap();
        assert!(fine.violation().is_satisfied());
        let whole = verdict(r#"{"loss": 2.5, "parts": [], "message": "no"}"#).unwrap();
        assert_eq!(whole.violation(), Violation::Whole(2.5));
        assert_eq!(whole.message, "no");
        let parts = verdict(
            r#"{"loss": 3, "id": 7, "parts": [{"start": 0, "end": 2, "cost": 1, "message": "x"},
                {"start": 1, "end": 2, "cost": 0}, {"start": 3, "end": 4, "cost": 5}]}"#,
        );
        let fault = |at, cost, message: &str| Fault { at, cost, message: message.to_owned() };
        assert_eq!(parts.unwrap().parts, [fault(0..2, 0.5, "x"), fault(3..4, 2.5, "")]);
        assert!(0.0 < verdict(r#"{"loss": 1e-300}"#).unwrap().loss);
        assert!(verdict(r#"{"loss": -0.0}"#).unwrap().loss.is_sign_positive());
    }

    #[test]
    fn invalid_replies_are_rejected() {
        let refused = |line: &str, why: &str| {
            let error = verdict(line).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        };
        for line in ["", "rubbish", "3", "[1]", "null", "{\"loss\": 1", "{\"loss\": 1} {}"] {
            assert!(matches!(verdict(line), Err(ReplyError::Json { .. })), "{line}");
        }
        assert!(parse_reply(b"{\"loss\": 1, \"message\": \"\xff\"}", 3).is_err());
        refused(r#"{"message": "fine"}"#, "loss");
        refused(r#"{"loss": "1"}"#, "string");
        refused(r#"{"loss": 1, "message": 4}"#, "string");
        refused(r#"{"loss": 1, "parts": {}}"#, "map");
        refused(r#"{"loss": -1}"#, "loss -1 ");
        refused(r#"{"loss": NaN}"#, "expected value");
        refused(r#"{"loss": 1e40}"#, "loss 1");
        let part = |start: i32, end: u64, cost: &str| {
            format!(r#"{{"loss": 1, "parts": [{{"start":{start},"end":{end},"cost":{cost}}}]}}"#)
        };
        refused(&part(2, 5, "1"), "part 0 is 2..5, but the positions are 0..4");
        refused(&part(2, 2, "1"), "2..2");
        refused(&part(3, 2, "1"), "3..2");
        refused(&part(-1, 2, "1"), "-1");
        refused(&part(0, u64::MAX, "1"), "18446744073709551615");
        refused(&part(0, 1, "-2"), "part 0 costs -2");
        refused(&part(0, 1, "1e300"), "part 0 costs 1");
        refused(&part(0, 1, "0"), "the parts cost 0 together, but the loss is 1");
        refused(&part(0, 1, "1").replace("\"loss\": 1", "\"loss\": 0"), "the loss is 0");
    }

    fn replies() -> impl Strategy<Value = String> {
        let number = || prop_oneof![Just(0.0), Just(1.0), 0.0..9.0, any::<f64>()];
        let part = (0usize..5, 0usize..5, number());
        (number(), proptest::collection::vec(part, 0..4)).prop_map(|(loss, parts)| {
            let part =
                |(start, end, cost)| serde_json::json!({"start": start, "end": end, "cost": cost});
            let parts: Vec<Value> = parts.into_iter().map(part).collect();
            serde_json::json!({"loss": loss, "parts": parts}).to_string()
        })
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(line: Vec<u8>, n_symbols: usize) {
            let _ = parse_reply(&line, n_symbols);
        }

        #[test]
        fn the_violation_is_zero_exactly_if_the_loss_is(line in replies()) {
            if let Ok(verdict) = verdict(&line) {
                let written: Value = serde_json::from_str(&line).unwrap();
                let loss = written["loss"].as_f64().unwrap();
                let total = verdict.violation().total();
                prop_assert_eq!(total == 0.0, loss == 0.0);
                prop_assert!((f64::from(total) - loss).abs() <= 1e-5 * loss + 1e-37);
                for fault in &verdict.parts {
                    prop_assert!(fault.at.start < fault.at.end && fault.at.end <= 4);
                }
            }
        }
    }
}
