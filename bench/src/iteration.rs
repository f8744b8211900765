//! One iteration of Algorithm 1, taken apart so that it can be timed alone.

use std::borrow::Borrow;
use std::time::{Duration, Instant};

use cajole_core::{
    Aligned, Constraint, Decoder, Found, Gradient, Mark, Model, Momenta, Purpose, StepRule,
    Violation,
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
}

/// One thread's private weights and buffers.
pub(crate) struct Worker<'a, M: Model> {
    of: Iteration<'a, M>,
    nudged: Aligned,
    scratch: M::Scratch,
    pub(crate) found: Found,
    pub(crate) costs: Vec<f32>,
    blame: Vec<(Mark, f32)>,
    pub(crate) grad: Gradient,
}

/// What was timed, per case.
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
        let weights = of.model.weights();
        Worker {
            nudged: weights.into(),
            scratch: of.model.scratch(),
            found: Found::default(),
            costs: Vec::new(),
            blame: Vec::new(),
            grad: Gradient::new(weights.len()),
            of,
        }
    }

    /// `W_λ ← W`, where the last step moved it.
    pub(crate) fn restore(&mut self) {
        let weights = self.of.model.weights();
        for range in self.grad.ranges() {
            self.nudged[range.clone()].copy_from_slice(&weights[range.clone()]);
        }
    }

    /// Decodes.
    pub(crate) fn decode(&mut self, x: &M::Input) {
        let Iteration { model, decoder, .. } = self.of;
        decoder.decode(model, &self.nudged, x, &mut self.scratch, &mut self.found);
    }

    /// Differentiates `Σ g_t · log p(y_t)` for what was decoded; returns `g`.
    pub(crate) fn differentiate(&mut self, x: &M::Input) -> f32 {
        let Worker { of, nudged, scratch, found, costs, blame, grad } = self;
        let Some(decoded) = found.best() else { return 0.0 };
        let violation: Violation = of.constraint.check(x, &decoded.output);
        costs.clear();
        costs.resize(decoded.marks.len(), 0.0);
        violation.spread(1.0, costs);
        blame.clear();
        blame.extend(decoded.marks.iter().copied().zip(costs.iter().copied()));
        of.model.gradient(nudged, blame, scratch, grad);
        violation.total()
    }

    /// A step in place.
    pub(crate) fn step(&mut self) {
        let Iteration { rule, step_size, .. } = self.of;
        let (norm, momenta) = (rule.norm(&self.grad), &mut Momenta::default());
        rule.step(0, step_size, &mut self.nudged, &self.grad, norm, momenta);
    }

    /// Decode, violation, backward pass, step.
    pub(crate) fn iterate(&mut self, x: &M::Input) {
        self.decode(x);
        self.differentiate(x);
        self.step();
    }

    /// Iterates once as Algorithm 1 does, and decodes again; then all is as it was.
    pub(crate) fn after_a_step(&mut self, x: &M::Input) -> Value {
        self.grad.serve(self.of.rule.purpose());
        self.iterate(x);
        self.decode(x);
        self.restore();
        self.grad.serve(Purpose::Any);
        let decoded = self.found.best();
        json!({
            "output": decoded.map(|y| &y.output),
            "log_prob": decoded.map(|y| y.log_prob),
        })
    }

    /// How long an iteration takes, and its parts: decoding, differentiating and the step.
    pub(crate) fn times(&mut self, cases: &[impl Borrow<M::Input>], budget: Duration) -> Times {
        self.grad.serve(self.of.rule.purpose()); // as Algorithm 1 does
        let iteration = per_item(budget, || {
            let mut took = Duration::ZERO;
            for x in cases {
                self.restore();
                let start = Instant::now();
                self.iterate(x.borrow());
                took += start.elapsed();
            }
            (cases.len(), took)
        });
        let mut parts = [Duration::ZERO; 3];
        for x in cases {
            self.restore();
            let start = Instant::now();
            self.decode(x.borrow());
            let decoded = start.elapsed();
            self.differentiate(x.borrow());
            let differentiated = start.elapsed();
            self.step();
            parts[0] += decoded;
            parts[1] += differentiated - decoded;
            parts[2] += start.elapsed() - differentiated;
        }
        Times { iteration, parts: parts.map(|part| part / cases.len() as u32) }
    }

    /// The gradient as one flat buffer, zero where nothing was touched.
    pub(crate) fn dense(&self) -> Vec<f32> {
        let mut dense = vec![0.0; self.nudged.len()];
        for range in self.grad.touched() {
            dense[range.clone()].copy_from_slice(self.grad.values(range));
        }
        dense
    }
}
