//! What one thread needs to work on one input after another: `W_λ`, `∇` and every buffer between.
//!
//! Nothing here outlives its input but memory. [`Workspace::begin`] forgets the last one, and
//! `W_λ` is restored from `W` wherever it was touched, before it is used again.

use std::ops::Range;
use std::time::Instant;

use crate::aligned::Aligned;
use crate::config::Config;
use crate::constraint::Violation;
use crate::decoder::Found;
use crate::gradient::{Gradient, is_known, remember};
use crate::model::{Candidate, Mark, Model, Symbol};
use crate::step_rule::Momenta;
use crate::trace::{Outcome, Stop, Trace};
use crate::vector;

/// The private memory of one thread; see [`Gbi::run`](crate::Gbi::run).
pub struct Workspace<M: Model + ?Sized> {
    pub(crate) scratch: M::Scratch,
    pub(crate) found: Found,
    pub(crate) proposed: Found,
    /// `y⁺` and `ŷ`, where one is raised and the other lowered.
    pub(crate) raised: Candidate,
    pub(crate) lowered: Candidate,
    pub(crate) violation: Violation,
    /// `W_λ`; empty until something has to be repaired.
    pub(crate) nudged: Aligned,
    /// Where `W_λ` may differ from `W`.
    dirty: Vec<Range<usize>>,
    pub(crate) grad: Gradient,
    pub(crate) momenta: Momenta,
    /// The recorded positions and the cost of each.
    pub(crate) blame: Vec<(Mark, f32)>,
    pub(crate) costs: Vec<f32>,
    pub(crate) started: Instant,
    /// The recording is no longer that of `f(x; W)`.
    pub(crate) is_stale: bool,
    attempt: usize,
    pub(crate) iteration: usize,
    pub(crate) passes: usize,
    steps: usize,
    pub(crate) distance: f32,
    /// The satisfying output reached in the fewest steps so far.
    winner: Option<Vec<Symbol>>,
    trace: Trace,
}

impl<M: Model + ?Sized> Workspace<M> {
    /// Memory for one thread working with `model` under `config`.
    ///
    /// # Errors
    /// If the configuration names a parameter group that the model does not have.
    pub fn new(model: &M, config: &Config) -> Result<Self, UnknownGroup> {
        let groups = model.groups();
        for name in &config.moves {
            if !groups.iter().any(|group| group.name == *name) {
                let known = groups.iter().map(|group| group.name.clone()).collect();
                return Err(UnknownGroup { name: name.clone(), known });
            }
        }
        let mut grad = Gradient::new(model.weights().len());
        if !config.moves.is_empty() {
            let frozen = groups.into_iter().filter(|group| !config.moves.contains(&group.name));
            grad.freeze(frozen.map(|group| group.range));
        }
        Ok(Workspace {
            scratch: model.scratch(),
            found: Found::default(),
            proposed: Found::default(),
            raised: Candidate::default(),
            lowered: Candidate::default(),
            violation: Violation::NONE,
            nudged: Aligned::default(),
            dirty: Vec::new(),
            grad,
            momenta: Momenta::default(),
            blame: Vec::new(),
            costs: Vec::new(),
            started: Instant::now(),
            is_stale: false,
            attempt: 0,
            iteration: 0,
            passes: 0,
            steps: 0,
            distance: 0.0,
            winner: None,
            trace: Trace::default(),
        })
    }

    /// Forgets the last input.
    pub(crate) fn begin(&mut self) {
        self.started = Instant::now();
        self.trace.clear();
        self.winner = None;
        self.is_stale = false;
        (self.attempt, self.iteration, self.passes, self.steps) = (0, 0, 0, 0);
        self.distance = 0.0;
    }

    /// Begins a descent; returns whether `x` has to be decoded under `W` again.
    pub(crate) fn next_attempt(&mut self) -> bool {
        self.attempt += 1;
        self.iteration = 0;
        self.distance = 0.0;
        std::mem::replace(&mut self.is_stale, true)
    }

    /// `W_λ ← W`, copying only what may differ.
    pub(crate) fn reset(&mut self, w: &[f32]) {
        if self.nudged.is_empty() {
            self.nudged = w.into();
        }
        for range in self.dirty.drain(..) {
            self.nudged[range.clone()].copy_from_slice(&w[range]);
        }
        self.momenta.clear();
    }

    /// `∇ ← ∇ + α (W_λ − W)/‖W_λ − W‖`; nothing at `W_λ = W`, where it is 0/0.
    pub(crate) fn pull(&mut self, alpha: f32, w: &[f32]) {
        if alpha == 0.0 || self.distance == 0.0 {
            return;
        }
        let scale = alpha / self.distance;
        // Weights moved earlier that this gradient leaves alone are pulled back as well.
        for range in &self.dirty {
            if !is_known(self.grad.touched(), range) {
                self.grad.touch(range.clone()).fill(0.0);
            }
            let (nudged, w) = (&self.nudged[range.clone()], &w[range.clone()]);
            for ((g, n), w) in self.grad.values_mut(range).iter_mut().zip(nudged).zip(w) {
                *g += scale * (n - w);
            }
        }
    }

    /// Takes note of a step: where `W_λ` moved, and how far it is from `W` now.
    pub(crate) fn moved(&mut self, w: &[f32]) {
        self.grad.ranges().for_each(|range| remember(&mut self.dirty, range));
        let squares = self
            .dirty
            .iter()
            .map(|range| vector::squared_distance(&self.nudged[range.clone()], &w[range.clone()]));
        self.distance = squares.sum::<f64>().sqrt() as f32;
        self.iteration += 1;
        self.steps += 1;
    }

    /// Adds the decode just made to the trace.
    pub(crate) fn note(&mut self) {
        if let Some(decoded) = self.found.best() {
            let at = (self.attempt.saturating_sub(1), self.iteration);
            let (g, spent) = (self.violation.total(), (self.passes, self.started.elapsed()));
            self.trace.push(at, decoded, (g, self.distance), spent);
        }
    }

    /// Keeps the output just decoded as the one to beat; returns the steps it took.
    pub(crate) fn keep_winner(&mut self) -> usize {
        self.winner = self.found.best().map(|y| y.output.clone());
        self.iteration
    }

    /// The result: the satisfying output, or the least-violating one seen.
    pub(crate) fn outcome(&mut self, stop: Stop) -> Outcome {
        let first = self.trace.steps().first();
        let g_before = first.map_or(f32::NAN, |step| step.g);
        let best = self.trace.best();
        let (output, g_after, capped) = match (&mut self.winner, best) {
            (Some(winner), _) => (std::mem::take(winner), 0.0, false),
            (None, Some(best)) => (self.trace.output(best).to_vec(), best.g, best.capped),
            (None, None) => (Vec::new(), f32::NAN, false),
        };
        let (steps, passes) = (self.steps, self.passes);
        let trace = self.trace.clone();
        Outcome { output, stop, g_before, g_after, capped, steps, passes, trace }
    }
}

/// A configuration names a parameter group that the model does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGroup {
    /// The name.
    pub name: String,
    /// The model's groups.
    pub known: Vec<String>,
}

impl std::fmt::Display for UnknownGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnknownGroup { name, known } = self;
        write!(f, "no parameter group is called {name:?}; this model has {}", known.join(", "))
    }
}

impl std::error::Error for UnknownGroup {}
