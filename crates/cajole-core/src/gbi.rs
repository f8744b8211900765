//! Algorithm 1: gradient-based inference.
//!
//! A network's own decoder gives an output that violates a constraint. Take a private copy of the
//! weights, lower the score of that output by a gradient step, decode again, and go on until what
//! is decoded satisfies the constraint. The network itself is never changed, an output that
//! satisfies the constraint is never touched, and running out of steps is an ordinary outcome.
//!
//! [`Gbi::descend`] is the algorithm, line by line. Around it: [`Gbi::run`] decodes and asks
//! whether anything is wrong at all, and [`Gbi::repair`] calls `descend` once per schedule of the
//! restart ladder and, where satisfying candidates race, once per candidate.

use crate::config::{Config, Schedule};
use crate::constraint::{Constraint, Violation};
use crate::decoder::Decoder;
use crate::gradient::Purpose;
use crate::model::{Candidate, Model, Symbol};
use crate::trace::{Outcome, Stop};
use crate::workspace::Workspace;

/// Gradient-based inference with a given model, decoder and constraint.
pub struct Gbi<'a, M: Model + ?Sized, D: ?Sized, C: ?Sized> {
    /// `Ψ(x, y, W)`.
    pub model: &'a M,
    /// `f(x; W)`.
    pub decoder: &'a D,
    /// `g(y, Lˣ)`.
    pub constraint: &'a C,
    /// Where satisfying candidates come from, for contrast; without any, from the inner beam.
    pub sources: Vec<&'a dyn Decoder<M>>,
    /// All settings.
    pub config: Config,
}

impl<M, D, C> Gbi<'_, M, D, C>
where
    M: Model + ?Sized,
    D: Decoder<M> + ?Sized,
    C: Constraint<M::Input> + ?Sized,
{
    /// Decodes `x`, and repairs the output if it violates the constraint.
    pub fn run(&self, x: &M::Input, s: &mut Workspace<M>) -> Outcome {
        s.begin();
        self.decode(x, s);
        s.note();
        match s.violation.total() {
            0.0 => s.outcome(Stop::AlreadySatisfied),
            g if g.is_nan() => s.outcome(Stop::Unmeasured),
            _ => self.repair(x, s),
        }
    }

    /// One descent from `W`, towards a satisfying candidate if there is one: Algorithm 1.
    ///
    /// Expects the recording of `y = f(x; W)` and its violation in the workspace.
    #[rustfmt::skip]
    fn descend(&self, x: &M::Input, s: &mut Workspace<M>, plan: &Plan<'_>) -> Stop {
        let Schedule { rule, step_size, .. } = *plan.schedule;
        let w = self.model.weights();
        s.reset(w);                                                    // W_λ ← W
        for t in 0..plan.limit {                                       // while iteration < M
            self.blame(x, s, plan.target);                             //   g(y, Lˣ), by position
            self.gradient(s);                                          //   ∇ ← g ∂Ψ(x, y, W_λ)/∂W_λ
            s.pull(self.config.pull, w);                               //       + α (W_λ − W)/‖W_λ − W‖
            let norm = rule.norm(&s.grad);
            if norm == 0.0 { return Stop::Stuck; }
            rule.step(t, step_size, &mut s.nudged, &s.grad, norm, &mut s.momenta);
            s.moved(w);                                                //   W_λ ← W_λ − η∇
            if !s.distance.is_finite() { return Stop::Diverged; }
            self.decode(x, s);                                         //   y ← f(x; W_λ)
            s.note();
            if s.violation.is_satisfied() { return Stop::Satisfied; }  //   until g(y, Lˣ) = 0
            if s.violation.total().is_nan() { return Stop::Unmeasured; }
            if self.is_late(s) { return Stop::Deadline; }
        }
        Stop::StepLimit
    }

    /// Descends by each schedule in turn until one succeeds, racing the candidates if there are
    /// several.
    ///
    /// Expects the recording of `y = f(x; W)` and its violation in the workspace.
    fn repair(&self, x: &M::Input, s: &mut Workspace<M>) -> Outcome {
        let targets = self.targets(x, s);
        let targets: Vec<_> = match targets.is_empty() {
            true => vec![None],
            false => targets.iter().map(|y| Some(y.as_slice())).collect(),
        };
        let ladder = std::iter::once(&self.config.schedule).chain(&self.config.restarts);
        let mut stop = Stop::StepLimit;
        for schedule in ladder {
            // A step that only subtracts the gradient does not need it multiplied out.
            let is_pulled = self.config.pull != 0.0;
            s.grad.serve(if is_pulled { Purpose::Any } else { schedule.rule.purpose() });
            // In a race, each candidate has to be reached in fewer steps than the one before.
            let mut limit = schedule.max_steps;
            for &target in &targets {
                if s.next_attempt() {
                    self.decode(x, s); // the recording is no longer that of f(x; W)
                }
                stop = self.descend(x, s, &Plan { schedule, target, limit });
                match stop {
                    Stop::Satisfied => limit = s.keep_winner() - 1,
                    Stop::Deadline | Stop::Unmeasured => break,
                    _ => {}
                }
            }
            if limit < schedule.max_steps {
                return s.outcome(Stop::Satisfied);
            }
            if matches!(stop, Stop::Deadline | Stop::Unmeasured) {
                break;
            }
        }
        s.outcome(stop)
    }

    /// `y ← f(x; W_λ)`, or under `W` before the first step, and `g(y, Lˣ)`.
    fn decode(&self, x: &M::Input, s: &mut Workspace<M>) {
        let w = if s.iteration == 0 { self.model.weights() } else { &s.nudged };
        self.decoder.decode(self.model, w, x, &mut s.scratch, &mut s.found);
        s.passes += s.found.passes;
        s.violation = s.found.best().map_or(Violation::NONE, |y| self.check(x, y));
    }

    /// `∇ ← ∂/∂W_λ Σ cost · log p(y_t)` over the blamed positions.
    fn gradient(&self, s: &mut Workspace<M>) {
        self.model.gradient(&s.nudged, &s.blame, &mut s.scratch, &mut s.grad);
    }

    /// `g(y, Lˣ)`. An output that never ended is no output: it violates, whatever it contains.
    pub fn check(&self, x: &M::Input, y: &Candidate) -> Violation {
        let violation = self.constraint.check(x, &y.output);
        match y.capped && violation.is_satisfied() {
            true => Violation::Whole(1.0 / y.output.len().max(1) as f32),
            false => violation,
        }
    }

    fn is_late(&self, s: &Workspace<M>) -> bool {
        self.config.deadline.is_some_and(|deadline| deadline <= s.started.elapsed())
    }
}

/// What one descent is to do.
struct Plan<'a> {
    schedule: &'a Schedule,
    target: Option<&'a [Symbol]>,
    limit: usize,
}
