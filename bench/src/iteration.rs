//! One iteration of Algorithm 1, taken apart so that it can be timed alone.

use std::borrow::Borrow;
use std::time::{Duration, Instant};

use cajole_core::{
    Constraint, Decoder, Found, Model, Move, Moving, Pass, Schedule, StepRule, Workspace,
};
use half::f16;
use serde_json::{Value, json};

use crate::{ms, per_item};

/// Rounds to half precision, as the weights of a network are that is stored to be shipped.
pub(crate) fn rounded(mut weights: Vec<f32>) -> Vec<f32> {
    weights.iter_mut().for_each(|w| *w = f16::from_f32(*w).to_f32());
    weights
}

/// What an iteration consists of.
pub(crate) struct Iteration<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) decoder: &'a dyn Decoder<M>,
    pub(crate) constraint: &'a dyn Constraint<M::Input>,
    pub(crate) rule: StepRule,
    pub(crate) step_size: f32,
    /// Patterns over the parameters that move.
    pub(crate) moves: &'a [&'a str],
    /// Inputs that are worked on together.
    pub(crate) in_step: usize,
}

/// One thread's private weights and buffers.
pub(crate) struct Worker<'a, M: Model> {
    of: Iteration<'a, M>,
    workspace: Workspace<M>,
    pub(crate) moves: Vec<Move<M::Nudge>>,
    pub(crate) found: Vec<Found>,
    pub(crate) costs: Vec<f32>,
}

/// What was timed, per input.
pub(crate) struct Times {
    pub(crate) iteration: Duration,
    /// Decoding, differentiating and the step.
    parts: [Duration; 3],
}

impl Times {
    /// The parts by name, in milliseconds.
    pub(crate) fn parts_ms(&self) -> Value {
        let [decode, backward, step] = self.parts.map(ms);
        json!({ "decode": decode, "backward": backward, "step": step })
    }
}

impl<'a, M: Model> Worker<'a, M> {
    pub(crate) fn new(of: Iteration<'a, M>) -> Self {
        let patterns: Vec<String> = of.moves.iter().map(|p| (*p).to_owned()).collect();
        let moving = Moving::choose(&of.model.parameters(), &patterns).expect("patterns match");
        let schedule = Schedule { rule: of.rule, step_size: of.step_size, max_steps: 1 };
        let new_move = |place| Move {
            nudge: of.model.nudge(&moving).expect("the CPU has room"),
            place,
            t: 0,
            schedule,
            pull: 0.0,
            blame: Vec::new(),
            norm: 1.0,
            distance: 0.0,
            is_over: false,
        };
        Worker {
            moves: (0..of.in_step).map(new_move).collect(),
            found: vec![Found::default(); of.in_step],
            workspace: Workspace::new(of.model),
            costs: Vec::new(),
            of,
        }
    }

    /// `W_λ ← W`, where the last step moved it.
    pub(crate) fn restore(&mut self) {
        for own in &mut self.moves {
            self.of.model.restore(&mut own.nudge);
            own.t = 0;
        }
    }

    /// Decodes, under `W_λ` once a step was taken.
    pub(crate) fn decode(&mut self, xs: &[&M::Input]) {
        let Worker { of, workspace, moves, found, .. } = self;
        let set: Vec<Pass<'_, M>> = xs
            .iter()
            .zip(&*moves)
            .map(|(&x, own)| Pass { nudge: Some(&own.nudge), ..Pass::base(x) })
            .collect();
        let mut session = workspace.session(of.model);
        of.decoder.decode(&mut session, &set, &mut found[..xs.len()]).expect("the CPU decodes");
    }

    /// Differentiates `Σ g_t · log p(y_t)` for what was decoded; returns the `g` of the first input.
    pub(crate) fn differentiate(&mut self, xs: &[&M::Input]) -> f32 {
        let Worker { of, workspace, moves, found, costs, .. } = self;
        let mut g = 0.0;
        for (i, x) in xs.iter().enumerate().rev() {
            let Some(decoded) = found[i].best() else { continue };
            let violation = of.constraint.check(x, &decoded.output);
            costs.clear();
            costs.resize(decoded.marks.len(), 0.0);
            violation.spread(1.0, costs);
            moves[i].blame.clear();
            moves[i].blame.extend(decoded.marks.iter().copied().zip(costs.iter().copied()));
            g = violation.total();
        }
        let session = workspace.session(of.model);
        let moves = &mut moves[..xs.len()];
        of.model.gradient(session.scratch, moves).expect("the CPU differentiates");
        g
    }

    /// A step in place.
    pub(crate) fn step(&mut self) {
        self.of.model.take_step(&mut self.moves).expect("the CPU steps");
        self.moves.iter_mut().for_each(|own| own.t += 1);
    }

    /// Decode, violation, backward pass, step.
    pub(crate) fn iterate(&mut self, xs: &[&M::Input]) {
        self.decode(xs);
        self.differentiate(xs);
        self.step();
    }

    /// Iterates once as Algorithm 1 does, and decodes again; then all is as it was.
    pub(crate) fn after_a_step(&mut self, x: &M::Input) -> Value {
        self.iterate(&[x]);
        self.decode(&[x]);
        self.restore();
        let decoded = self.found[0].best();
        json!({
            "output": decoded.map(|y| &y.output),
            "log_prob": decoded.map(|y| y.log_prob),
        })
    }

    /// How long an iteration takes per input, and its parts: decoding, differentiating and the step.
    /// Every input has been nudged once before, so that it is decoded under weights of its own.
    pub(crate) fn times(&mut self, cases: &[impl Borrow<M::Input>], budget: Duration) -> Times {
        let cases: Vec<&M::Input> = cases.iter().map(Borrow::borrow).collect();
        let sets: Vec<&[&M::Input]> = cases.chunks_exact(self.of.in_step).collect();
        let mut parts = [Duration::ZERO; 3];
        let mut iterations = 0;
        let iteration = per_item(budget, || {
            let mut took = Duration::ZERO;
            for xs in &sets {
                self.restore();
                self.iterate(xs);
                let start = Instant::now();
                self.decode(xs);
                let decoded = start.elapsed();
                self.differentiate(xs);
                let differentiated = start.elapsed();
                self.step();
                took += start.elapsed();
                parts[0] += decoded;
                parts[1] += differentiated - decoded;
                parts[2] += start.elapsed() - differentiated;
                iterations += xs.len() as u32;
            }
            (sets.len() * self.of.in_step, took)
        });
        Times { iteration, parts: parts.map(|part| part / iterations) }
    }
}
