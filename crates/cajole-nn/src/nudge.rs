//! `W_λ` and `∇` of one input, in main memory.
//!
//! If matrices move, an input needs a copy of the weights, of which only the touched ranges are
//! restored afterwards. If only biases move, it needs a few kilobytes, and inputs share every
//! matrix.

use std::ops::Range;

use cajole_core::{Mark, Move, Moving, Schedule};

use crate::Aligned;
use crate::gradient::{Gradient, Purpose, is_known, remember};
use crate::kernels;
use crate::layout::Layout;
use crate::optimizer::{self, Momenta};
use crate::tape::Tape;
use crate::transposed::Copies;
use crate::vectors::Vectors;

/// `W_λ` and `∇` of one input.
#[derive(Clone, Debug)]
pub struct Nudge(pub(crate) Kind);

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A copy of the weights.
    Dense(Box<Dense>),
    /// Additions to biases.
    Small(Small),
}

/// A private copy of all weights; empty until the first step.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    weights: Aligned,
    /// Where the copy may differ from `W`.
    dirty: Vec<Range<usize>>,
    /// `‖W_λ − W‖²` of each dirty range.
    squares: Vec<f64>,
    pub(crate) grad: Gradient,
    momenta: Momenta,
}

/// `W_λ − W`, where only biases move.
#[derive(Clone, Debug)]
pub(crate) struct Small {
    pub(crate) vectors: Vectors,
    pub(crate) shift: Vec<f32>, // (S)
    pub(crate) grad: Vec<f32>,  // (S)
    momenta: (Vec<f32>, Vec<f32>),
}

impl Nudge {
    /// A nudge at `W`.
    pub(crate) fn new(layout: &Layout, moving: &Moving) -> Self {
        if moving.only_vectors() {
            let vectors = Vectors::new(layout, moving);
            let zeros = vec![0.0; vectors.len()];
            let momenta = (Vec::new(), Vec::new());
            return Nudge(Kind::Small(Small {
                vectors,
                shift: zeros.clone(),
                grad: zeros,
                momenta,
            }));
        }
        let mut grad = Gradient::new(layout.len());
        let frozen = layout.entries().iter().enumerate().filter(|(i, _)| !moving.moves(*i));
        grad.freeze(frozen.map(|(_, entry)| entry.param.range()));
        let (weights, dirty, squares) = (Aligned::default(), Vec::new(), Vec::new());
        let momenta = Momenta::default();
        Nudge(Kind::Dense(Box::new(Dense { weights, dirty, squares, grad, momenta })))
    }

    /// The copy of all weights, if matrices move.
    pub(crate) fn dense(&self) -> Option<&Dense> {
        match &self.0 {
            Kind::Dense(dense) => Some(dense),
            Kind::Small(_) => None,
        }
    }

    /// The bias shifts, if only biases move.
    pub(crate) fn small(&self) -> Option<&Small> {
        match &self.0 {
            Kind::Dense(_) => None,
            Kind::Small(small) => Some(small),
        }
    }

    /// The last computed `∇`, one value per weight; zero where nothing moves.
    pub fn gradient(&self, layout: &Layout) -> Vec<f32> {
        let mut values = vec![0.0; layout.len()];
        match &self.0 {
            Kind::Dense(dense) => dense.grad.write(&mut values),
            Kind::Small(Small { vectors, grad, .. }) => {
                for p in layout.entries().iter().map(|entry| entry.param) {
                    let Some(at) = vectors.at(p) else { continue };
                    values[p.range()].copy_from_slice(&grad[at..][..p.cols as usize]);
                }
            }
        }
        values
    }

    /// Number of weights that a step along `∇` moves.
    pub fn n_moved(&self) -> usize {
        match &self.0 {
            Kind::Dense(dense) => dense.grad.ranges().map(ExactSizeIterator::len).sum(),
            Kind::Small(small) => small.shift.len(),
        }
    }

    /// `W_λ`, one value per weight.
    pub(crate) fn write(&self, layout: &Layout, w: &[f32]) -> Vec<f32> {
        match &self.0 {
            Kind::Dense(dense) => dense.weights(w).to_vec(),
            Kind::Small(Small { vectors, shift, .. }) => {
                let mut w = w.to_vec();
                for p in layout.entries().iter().map(|entry| entry.param) {
                    let Some(at) = vectors.at(p) else { continue };
                    let shift = &shift[at..][..p.cols as usize];
                    w[p.range()].iter_mut().zip(shift).for_each(|(w, shift)| *w += shift);
                }
                w
            }
        }
    }

    /// `W_λ ← W`.
    pub(crate) fn restore(&mut self, w: &[f32]) {
        match &mut self.0 {
            Kind::Dense(dense) => dense.restore(w),
            Kind::Small(Small { shift, momenta: (first, second), .. }) => {
                [shift, first, second].into_iter().for_each(|values| values.fill(0.0));
            }
        }
    }
}

impl Dense {
    /// `W_λ`. The copy is made before the first step and is valid once anything is dirty.
    pub(crate) fn weights<'a>(&'a self, w: &'a [f32]) -> &'a [f32] {
        if self.dirty.is_empty() { w } else { &self.weights }
    }

    /// The gradient, if `W_λ` may differ from `W`: it knows what moves.
    pub(crate) fn moved(&self) -> Option<&Gradient> {
        (!self.dirty.is_empty()).then_some(&self.grad)
    }

    /// Copies back only the dirty ranges.
    fn restore(&mut self, w: &[f32]) {
        for range in self.dirty.drain(..) {
            self.weights[range.clone()].copy_from_slice(&w[range]);
        }
        self.squares.clear();
        self.momenta.clear();
    }

    /// `∇ ← ∂/∂W_λ Σ cost · log p` over the blame, on a tape recorded under `W_λ`.
    pub(crate) fn backward(
        &mut self,
        tape: &mut Tape,
        (w, copies): (&[f32], &Copies),
        layout: &Layout,
        blame: &[(Mark, f32)],
    ) {
        let w = if self.dirty.is_empty() { w } else { &self.weights };
        tape.backward_with(w, layout, blame, Some(copies), &mut self.grad);
    }

    /// Declares what the gradient is for, before it is computed.
    pub(crate) fn prepare(&mut self, schedule: &Schedule, pull: f32) {
        // A plain subtraction can leave matrices as outer products; a pull cannot.
        let is_pulled = pull != 0.0;
        self.grad.serve(if is_pulled { Purpose::Any } else { optimizer::purpose(schedule.rule) });
    }

    /// `∇ ← ∇ + α (W_λ − W)/‖W_λ − W‖`.
    fn pull(&mut self, scale: f32, w: &[f32]) {
        // Weights moved earlier that this gradient does not touch are pulled back too.
        for range in &self.dirty {
            if !is_known(self.grad.touched(), range) {
                self.grad.touch(range.clone()).fill(0.0);
            }
            let (nudged, w) = (&self.weights[range.clone()], &w[range.clone()]);
            for ((g, n), w) in self.grad.values_mut(range).iter_mut().zip(nudged).zip(w) {
                *g += scale * (n - w);
            }
        }
    }
}

/// Completes a gradient: adds the pull, and computes the norm if the rule needs it.
pub(crate) fn complete(own: &mut Move<Nudge>, w: &[f32]) {
    let scale = match own.pull != 0.0 && own.distance != 0.0 {
        true => own.pull / own.distance,
        false => 0.0,
    };
    let needs_norm = own.schedule.rule.needs_norm();
    own.norm = match &mut own.nudge.0 {
        Kind::Dense(dense) => {
            if scale != 0.0 {
                dense.pull(scale, w);
            }
            if needs_norm { dense.grad.norm() } else { 1.0 }
        }
        Kind::Small(Small { shift, grad, .. }) => {
            if scale != 0.0 {
                grad.iter_mut().zip(&*shift).for_each(|(g, shift)| *g += scale * shift);
            }
            if needs_norm { kernels::sum_of_squares(grad).sqrt() as f32 } else { 1.0 }
        }
    };
}

/// `W_λ ← W_λ − η∇`, and its new distance from `W`.
pub(crate) fn step(own: &mut Move<Nudge>, w: &[f32]) {
    let Schedule { rule, step_size, .. } = own.schedule;
    own.distance = match &mut own.nudge.0 {
        Kind::Dense(dense) => {
            let Dense { weights, dirty, squares, grad, momenta } = &mut **dense;
            if weights.is_empty() {
                *weights = w.into();
            }
            let mut moved = |range: &Range<usize>, moved: &[f32]| {
                let place = remember(dirty, range);
                if squares.len() < dirty.len() {
                    squares.insert(place, 0.0);
                }
                squares[place] = kernels::squared_distance(moved, &w[range.clone()]);
            };
            let step = (own.t, step_size, own.norm);
            optimizer::step(rule, step, weights, grad, momenta, &mut moved);
            squares.iter().sum::<f64>().sqrt() as f32
        }
        Kind::Small(Small { shift, grad, momenta: (first, second), .. }) => {
            first.resize(if 1 <= rule.memory() { shift.len() } else { 0 }, 0.0);
            second.resize(if 2 <= rule.memory() { shift.len() } else { 0 }, 0.0);
            let eta = rule.eta(own.t, step_size, own.norm);
            rule.step(own.t, eta, shift, grad, (first, second));
            kernels::sum_of_squares(shift).sqrt() as f32
        }
    };
}
