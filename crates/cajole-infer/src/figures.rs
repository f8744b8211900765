//! Figures of answers, one or many: what they cost and how probable they are.

use crate::answer::{Answer, Status};

/// The figures of one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Whether the network's own output violated the rules.
    pub is_failure: bool,
    /// Whether the answer satisfies them.
    pub is_satisfied: bool,
    /// Nudges taken.
    pub steps: usize,
    /// Sequences the network was run over.
    pub passes: usize,
    /// The time of the repair on one thread.
    pub milliseconds: f64,
    /// `log p(y | x, W)` under the network's own weights, where it is known.
    pub log_prob: Option<f32>,
}

impl From<&Answer> for Measured {
    fn from(answer: &Answer) -> Self {
        Measured {
            is_failure: answer.g_before > 0.0,
            is_satisfied: answer.status == Status::Satisfied,
            steps: answer.steps.unwrap_or(0),
            passes: answer.passes,
            milliseconds: answer.elapsed.as_secs_f64() * 1e3,
            log_prob: answer.log_prob,
        }
    }
}

/// The figures of one engine over failures; means are NaN where there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// How many answers satisfy.
    pub satisfied: usize,
    /// The mean of `log p`, where it is known.
    pub log_prob: f64,
    /// The mean number of passes.
    pub passes: f64,
    /// The mean time.
    pub milliseconds: f64,
}

impl Figures {
    /// The figures of these answers.
    pub fn new(answers: impl Iterator<Item = Measured>) -> Figures {
        let answers: Vec<Measured> = answers.collect();
        Figures {
            satisfied: answers.iter().filter(|answer| answer.is_satisfied).count(),
            log_prob: mean(answers.iter().filter_map(|answer| answer.log_prob).map(f64::from)),
            passes: mean(answers.iter().map(|answer| answer.passes as f64)),
            milliseconds: mean(answers.iter().map(|answer| answer.milliseconds)),
        }
    }
}

/// The mean; NaN without values.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    sum / n as f64
}
