//! One iteration of Algorithm 1, taken apart so that it can be timed alone.

use cajole::{Aligned, Decoder, Found, Gradient, Mark, Model, Momenta, StepRule, Symbol};
use cajole_nn::decoders::Greedy;
use cajole_nn::{AutoRegressive, Scratch, Trained};

/// `g(y)` for an input and its output.
type Violation<'a, X> = &'a dyn Fn(&X, &[Symbol]) -> f32;

/// One thread's private weights and buffers.
pub(crate) struct Worker<'a, N: AutoRegressive> {
    model: &'a Trained<N>,
    violation: Violation<'a, N::Input>,
    step_size: f32,
    nudged: Aligned,
    scratch: Scratch,
    pub(crate) found: Found,
    blame: Vec<(Mark, f32)>,
    pub(crate) grad: Gradient,
}

impl<'a, N: AutoRegressive> Worker<'a, N> {
    pub(crate) fn new(
        model: &'a Trained<N>,
        violation: Violation<'a, N::Input>,
        step_size: f32,
    ) -> Self {
        Worker {
            model,
            violation,
            step_size,
            nudged: model.weights.clone(),
            scratch: model.scratch(),
            found: Found::default(),
            blame: Vec::new(),
            grad: Gradient::new(model.weights.len()),
        }
    }

    /// `W_λ ← W`, where the last step moved it.
    pub(crate) fn restore(&mut self) {
        for range in self.grad.touched() {
            self.nudged[range.clone()].copy_from_slice(&self.model.weights[range.clone()]);
        }
    }

    /// Decodes greedily.
    pub(crate) fn decode(&mut self, x: &N::Input) {
        Greedy.decode(self.model, &self.nudged, x, &mut self.scratch, &mut self.found);
    }

    /// Differentiates `g · log p(y)` for what was decoded; returns `g`.
    pub(crate) fn differentiate(&mut self, x: &N::Input) -> f32 {
        let Worker { model, violation, nudged, scratch, found, blame, grad, .. } = self;
        let Some(decoded) = found.best() else { return 0.0 };
        let g = violation(x, &decoded.output);
        blame.clear();
        blame.extend(decoded.marks.iter().map(|&mark| (mark, g)));
        model.gradient(nudged, blame, scratch, grad);
        g
    }

    /// An SGD step in place.
    pub(crate) fn step(&mut self) {
        let momenta = &mut Momenta::default();
        StepRule::Sgd.step(0, self.step_size, &mut self.nudged, &self.grad, 1.0, momenta);
    }

    /// Decode, violation, backward pass, SGD step.
    pub(crate) fn iterate(&mut self, x: &N::Input) {
        self.decode(x);
        self.differentiate(x);
        self.step();
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
