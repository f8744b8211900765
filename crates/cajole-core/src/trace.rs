//! What happened to one input: every decode, and how it ended.

use std::time::Duration;

use serde::Serialize;

use crate::model::{Candidate, Symbol};

/// One decode under the weights of that moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Which attempt this belongs to: restarts and racing copies each count as one.
    pub attempt: usize,
    /// Nudges taken in this attempt before the decode; 0 is the network's own output.
    pub iteration: usize,
    /// `g(y, Lˣ)`.
    pub g: f32,
    /// `log p(y | x, W_λ)`.
    pub log_prob: f32,
    /// `‖W_λ − W‖₂`.
    pub distance: f32,
    /// Sequences the network was run over since the input was taken up, this decode's included.
    pub passes: usize,
    /// Since the input was taken up.
    pub elapsed: Duration,
    /// The decoder ran into its length cap.
    pub capped: bool,
    /// Where the output lies in the trace's symbols.
    #[serde(skip)]
    output: (usize, usize),
}

/// Every decode of one input, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    steps: Vec<Step>,
    symbols: Vec<Symbol>,
}

impl Trace {
    /// The decodes, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The steps worth showing: the first, and of those that repeat an output the last.
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

    /// The decode that violates least; of equals, the earliest.
    pub fn best(&self) -> Option<&Step> {
        let g = |step: &Step| if step.g.is_nan() { f32::INFINITY } else { step.g };
        self.steps.iter().reduce(|best, step| if g(step) < g(best) { step } else { best })
    }

    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.symbols.clear();
    }

    /// Adds a decode. An output equal to the one before shares its symbols.
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
pub enum Stop {
    /// The network's own output satisfied the constraint; nothing was nudged.
    AlreadySatisfied,
    /// A nudged network's output satisfies it.
    Satisfied,
    /// All attempts used up their steps.
    StepLimit,
    /// Time ran out.
    Deadline,
    /// The gradient vanished under a rule that sets the length of steps: there is no direction.
    Stuck,
    /// The nudged weights stopped being finite numbers.
    Diverged,
    /// The constraint could not say how far an output is off: its `g` was no number.
    Unmeasured,
}

/// The result for one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The satisfying output, or the least-violating one seen (of equals, the earliest).
    pub output: Vec<Symbol>,
    /// Why inference ended.
    pub stop: Stop,
    /// `g` of the network's own output.
    pub g_before: f32,
    /// `g` of the output returned.
    pub g_after: f32,
    /// Whether the output returned was cut off at the length cap.
    pub capped: bool,
    /// Nudges taken, over all attempts.
    pub steps: usize,
    /// Sequences the network was run over, forward or backward.
    pub passes: usize,
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
