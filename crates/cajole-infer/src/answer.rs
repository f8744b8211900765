//! The answer to one input, and how it went.

use std::time::Duration;

use cajole_core::{BackendError, Candidate, Fault, Found, Outcome, Search, Stop, Symbol, Trace};
use serde::{Deserialize, Serialize};

use crate::input::Input;
use crate::plan::Plan;

/// How it went with one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The output satisfies all rules.
    Satisfied,
    /// It violates them less than the network's own.
    Improved,
    /// It is the network's own, or no better.
    Unchanged,
    /// Time ran out; it is the least violating one seen.
    TimedOut,
    /// A rule could not be measured, for example because a checker crashed.
    Unmeasured,
    /// The run was cancelled; it is the least violating one seen.
    Cancelled,
    /// The network or a decoder failed.
    Failed,
}

/// The answer to one input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The output.
    pub output: Vec<Symbol>,
    /// How it went.
    pub status: Status,
    /// `g` of the network's own output.
    pub g_before: f32,
    /// `g` of this one.
    pub g_after: f32,
    /// `log p(y | x, W)` under the network's own weights, where it is known.
    pub log_prob: Option<f32>,
    /// Nudges taken; `None` for searches that do not nudge.
    pub steps: Option<usize>,
    /// Sequences the network was run over.
    pub passes: usize,
    /// Why it does not satisfy.
    pub faults: Vec<Fault>,
    /// A remark, if there is one.
    pub note: Option<String>,
    /// The error, if the network or a decoder failed.
    pub failure: Option<BackendError>,
    /// The search that found the output; `None` if the plan found no better one than the network's.
    pub search: Option<Search>,
    /// The name of the plan that was tried.
    pub plan: &'static str,
    /// Every decode of gradient-based inference.
    pub trace: Option<Trace>,
    /// The time of the repair, without the first pass. Inputs that are repaired in step share it.
    pub elapsed: Duration,
}

impl Answer {
    /// The network's own output, which violates by `g`.
    pub(crate) fn own(output: Vec<Symbol>, log_prob: Option<f32>, g: f32) -> Answer {
        let status = match g {
            0.0 => Status::Satisfied,
            g if g.is_nan() => Status::Unmeasured,
            _ => Status::Unchanged,
        };
        Answer {
            output,
            status,
            g_before: g,
            g_after: g,
            log_prob,
            steps: None,
            passes: 0,
            faults: Vec::new(),
            note: None,
            failure: None,
            search: Some(Search::Network),
            plan: Search::Network.name(),
            trace: None,
            elapsed: Duration::ZERO,
        }
    }

    /// The best output that the network's own decoder found: final, if it satisfies or cannot be
    /// measured.
    pub(crate) fn decoded(input: &Input<'_>, found: &Found) -> Answer {
        let Some(y) = found.best() else {
            return Answer::failed(BackendError::new("the network gave no output"));
        };
        if y.log_prob.is_nan() {
            // Whatever an output is compared with, it is not less probable.
            return Answer::failed(BackendError::new(
                "the network gives no probabilities (log p is NaN): its weights overflow on this \
                 input",
            ));
        }
        if y.capped && y.output.is_empty() {
            return Answer::late();
        }
        let g = input.wanted.measure(y).total();
        let mut answer = Answer::own(y.output.clone(), Some(y.log_prob), g);
        if answer.status == Status::Unmeasured {
            answer.faults = input.wanted.explain(&y.output);
        }
        answer
    }

    /// For an input that the network gave no output for.
    pub(crate) fn failed(failure: BackendError) -> Answer {
        let own = Answer::own(Vec::new(), None, f32::NAN);
        Answer { status: Status::Failed, failure: Some(failure), ..own }
    }

    /// For an input whose time ran out before there was any output.
    pub(crate) fn late() -> Answer {
        Answer { status: Status::TimedOut, ..Answer::own(Vec::new(), None, f32::NAN) }
    }

    /// The network's own output, after this many passes of a plan without success.
    pub(crate) fn kept(&self, plan: &'static str, passes: usize) -> Answer {
        Answer { search: None, plan, passes, ..self.clone() }
    }

    /// The result of a search: the least violating candidate, if it violates less than the
    /// network's own output, which is `self`, or if the search is lenient.
    pub(crate) fn found(&self, search: &Search, input: &Input<'_>, found: &Found) -> Answer {
        let mut best: Option<(f32, &Candidate)> = None;
        for y in found.candidates() {
            let g = input.wanted.measure(y).total();
            let is_kept = search.is_lenient() && best.is_none();
            if is_kept || g < best.map_or(self.g_before, |(least, _)| least) {
                best = Some((g, y));
            }
        }
        let kept = self.kept(search.name(), found.passes);
        let Some((g, y)) = best else { return kept };
        Answer {
            output: y.output.clone(),
            status: match g {
                0.0 => Status::Satisfied,
                g if g < self.g_before => Status::Improved,
                _ => Status::Unchanged,
            },
            g_after: g,
            log_prob: Some(y.log_prob),
            search: Some(search.clone()),
            ..kept
        }
    }

    /// The result of gradient-based inference. It decodes in its own way, so the network's own
    /// output, which is `self`, may still be better.
    pub(crate) fn descended(&self, search: &Search, outcome: Outcome) -> Answer {
        let is_better = outcome.g_after < self.g_before;
        let status = match outcome.stop {
            Stop::AlreadySatisfied | Stop::Satisfied => Status::Satisfied,
            Stop::Deadline => Status::TimedOut,
            Stop::Unmeasured => Status::Unmeasured,
            Stop::Cancelled => Status::Cancelled,
            Stop::Failed => Status::Failed,
            _ if is_better => Status::Improved,
            _ => Status::Unchanged,
        };
        let Outcome { output, g_after, steps, passes, trace, failure, .. } = outcome;
        let elapsed = trace.steps().last().map_or(Duration::ZERO, |step| step.elapsed);
        let mut answer = self.kept(search.name(), passes);
        answer.status = status;
        answer.steps = Some(steps);
        answer.trace = Some(trace);
        answer.failure = failure;
        answer.elapsed = elapsed;
        if is_better {
            answer.output = output;
            answer.g_after = g_after;
            answer.log_prob = None;
            answer.search = Some(search.clone());
        }
        answer
    }

    /// Takes in the answer of another search of a plan that keeps the best.
    pub(crate) fn consider(&mut self, answer: Answer, plan: &Plan) {
        let passes = self.passes + answer.passes;
        let elapsed = self.elapsed + answer.elapsed;
        let is_satisfied = answer.status == Status::Satisfied;
        let status = answer.status;
        let is_descent = answer.steps.is_some();
        if answer.is_better_than(self) {
            *self = answer;
        } else if is_descent && !is_satisfied && self.status == Status::Unchanged {
            self.status = status;
        }
        (self.passes, self.elapsed, self.plan) = (passes, elapsed, plan.name);
    }

    /// Says why the answer in the end does not satisfy, and whether time ran out.
    pub(crate) fn complete(&mut self, input: &Input<'_>) {
        if matches!(self.status, Status::Improved | Status::Unchanged) && input.time.is_up() {
            self.status = Status::TimedOut;
        }
        if self.status == Status::Satisfied {
            return;
        }
        self.faults = input.wanted.explain(&self.output);
        if self.faults.is_empty() {
            let (n, cost) = (self.output.len(), self.g_after);
            let message = "the output was cut off: the network did not end it".to_owned();
            self.faults.push(Fault { at: n..n + 1, cost, message });
        }
    }

    /// Whether it violates less, or is more probable and violates no more.
    fn is_better_than(&self, other: &Answer) -> bool {
        let log_prob = |answer: &Answer| answer.log_prob.unwrap_or(f32::NEG_INFINITY);
        self.g_after < other.g_after
            || (self.g_after == other.g_after && log_prob(self) > log_prob(other))
    }

    /// Whether the output violates its rules and nothing has been tried.
    pub(crate) fn is_failing(&self) -> bool {
        self.status == Status::Unchanged
    }

    /// The name of the search that found the output, or of the plan that found none.
    pub fn engine(&self) -> &'static str {
        self.search.as_ref().map_or(self.plan, Search::name)
    }
}
