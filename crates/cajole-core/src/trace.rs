//! The history of one input: every decode, and how it ended.

use std::time::Duration;

use serde::Serialize;

use crate::backend_error::BackendError;
use crate::model::{Candidate, Symbol};

/// One decode, under the weights at that point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The attempt this belongs to; restarts and racing candidates each count as one.
    pub attempt: usize,
    /// Steps taken in this attempt before the decode; 0 is the network's own output.
    pub iteration: usize,
    /// `g(y, Lˣ)`.
    pub g: f32,
    /// `log p(y | x, W_λ)`.
    pub log_prob: f32,
    /// `‖W_λ − W‖₂`.
    pub distance: f32,
    /// Sequences the network was run over since this input began, including this decode.
    pub passes: usize,
    /// Time since this input began.
    pub elapsed: Duration,
    /// Whether the decoder hit its length limit.
    pub capped: bool,
    /// The range of the output in the trace's symbols.
    #[serde(skip)]
    output: (usize, usize),
}

/// Every decode of one input, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    steps: Vec<Step>,
    symbols: Vec<Symbol>,
    /// How many weights were free to move.
    pub moving: usize,
}

impl Trace {
    /// The decodes, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The steps worth showing: the first, and the last of each run of equal outputs.
    pub fn changes(&self) -> impl Iterator<Item = &Step> {
        let steps = self.steps();
        let is_shown = move |&(i, step): &(usize, &Step)| {
            let next = steps.get(i + 1);
            i == 0 || next.is_none_or(|next| self.output(step) != self.output(next))
        };
        steps.iter().enumerate().filter(is_shown).map(|(_, step)| step)
    }

    /// The output of one decode.
    pub fn output(&self, step: &Step) -> &[Symbol] {
        &self.symbols[step.output.0..step.output.1]
    }

    /// The decode with the smallest violation; ties go to the earliest.
    pub fn best(&self) -> Option<&Step> {
        let g = |step: &Step| if step.g.is_nan() { f32::INFINITY } else { step.g };
        self.steps.iter().reduce(|best, step| if g(step) < g(best) { step } else { best })
    }

    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.symbols.clear();
    }

    /// Adds a decode. An output equal to the previous one shares its symbols.
    pub(crate) fn push(
        &mut self,
        (attempt, iteration): (usize, usize),
        decoded: &Candidate,
        (g, distance): (f32, f32),
        (passes, elapsed): (usize, Duration),
    ) {
        let output = match self.steps.last() {
            Some(last) if self.output(last) == decoded.output => last.output,
            _ => {
                let start = self.symbols.len();
                self.symbols.extend_from_slice(&decoded.output);
                (start, self.symbols.len())
            }
        };
        let (log_prob, capped) = (decoded.log_prob, decoded.capped);
        self.steps.push(Step {
            attempt,
            iteration,
            g,
            log_prob,
            distance,
            passes,
            elapsed,
            capped,
            output,
        });
    }
}

/// Why inference ended. None of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stop {
    /// The network's own output satisfied the constraint; nothing was nudged.
    AlreadySatisfied,
    /// A nudged network's output satisfies it.
    Satisfied,
    /// All attempts used up their steps.
    StepLimit,
    /// Time ran out.
    Deadline,
    /// The gradient vanished under a rule that normalises it, so there is no direction.
    Stuck,
    /// The nudged weights became non-finite.
    Diverged,
    /// The constraint returned NaN for `g`.
    Unmeasured,
    /// The caller cancelled the run.
    Cancelled,
    /// The model or a decoder failed; [`Outcome::failure`] says why.
    Failed,
}

/// The result for one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The satisfying output, or else the least-violating one seen; ties go to the earliest.
    pub output: Vec<Symbol>,
    /// Why inference ended.
    pub stop: Stop,
    /// `g` of the network's own output.
    pub g_before: f32,
    /// `g` of the output returned.
    pub g_after: f32,
    /// Whether the returned output was truncated at the length limit.
    pub capped: bool,
    /// Steps taken, over all attempts.
    pub steps: usize,
    /// Sequences the network was run over, forward or backward.
    pub passes: usize,
    /// What went wrong, if a model or decoder call failed.
    pub failure: Option<BackendError>,
    /// Every decode.
    pub trace: Trace,
}

impl Outcome {
    /// Whether the output satisfies the constraint.
    pub fn is_satisfied(&self) -> bool {
        matches!(self.stop, Stop::AlreadySatisfied | Stop::Satisfied)
    }

    /// Whether a violating output was turned into a satisfying one.
    pub fn is_converted(&self) -> bool {
        self.stop == Stop::Satisfied
    }
}
