//! Optimizer steps on flat weights along a [`Gradient`], and their state.
//!
//! Only ranges the gradient touches are read, moved or cleared, so that a large network with a
//! sparse gradient stays cheap.

use std::ops::Range;

use cajole_core::StepRule;

use crate::gradient::{Gradient, Purpose, remember};
use crate::kernels;

/// Optimizer state: up to two floats per weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Momenta {
    /// First moments, or second moments for rules that keep only those.
    pub first: Vec<f32>,
    /// Second moments.
    pub second: Vec<f32>,
    used: Vec<Range<usize>>,
}

impl Momenta {
    /// Resets all state to zero.
    pub fn clear(&mut self) {
        for range in self.used.drain(..) {
            for memory in [&mut self.first, &mut self.second] {
                if let Some(values) = memory.get_mut(range.clone()) {
                    values.fill(0.0);
                }
            }
        }
    }

    fn prepare(&mut self, memory: usize, n: usize, touched: &[Range<usize>]) {
        if memory == 0 {
            return;
        }
        self.first.resize(n, 0.0);
        if memory == 2 {
            self.second.resize(n, 0.0);
        }
        for range in touched {
            remember(&mut self.used, range);
        }
    }

    /// The state of a range; empty slices where the rule keeps none.
    fn of(&mut self, range: &Range<usize>) -> (&mut [f32], &mut [f32]) {
        let first = self.first.get_mut(range.clone()).unwrap_or_default();
        (first, self.second.get_mut(range.clone()).unwrap_or_default())
    }
}

/// How parameters follow a step, each with its start in the flat weights, in order. If there are
/// none, all follow it alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paces(pub(crate) Vec<(usize, Pace)>);

/// How a parameter follows a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// The factor of the step size.
    pub(crate) factor: f32,
    /// What a step of size 1 takes off every weight, relative to it.
    pub(crate) decay: f32,
}

impl Paces {
    /// The pace of the parameter that weight `at` belongs to.
    fn of(&self, at: usize) -> Pace {
        let after = self.0.partition_point(|(start, _)| *start <= at);
        let own = after.checked_sub(1).map(|i| self.0[i].1);
        own.unwrap_or(Pace { factor: 1.0, decay: 0.0 })
    }
}

/// What a step by `rule` needs of the gradient.
pub(crate) fn purpose(rule: StepRule) -> Purpose {
    match rule {
        StepRule::Sgd => Purpose::Subtract,
        StepRule::UnitNorm { .. } => Purpose::SubtractByNorm,
        _ => Purpose::Any,
    }
}

/// Takes step `t` (from 0) of size `eta` on `w` along `grad`, whose norm is given. Shows each range of
/// `w` as soon as it has moved, while caches hold it.
pub(crate) fn step(
    rule: StepRule,
    at: (usize, f32, f32),
    w: &mut [f32],
    grad: &mut Gradient,
    momenta: &mut Momenta,
    moved: &mut dyn FnMut(&Range<usize>, &[f32]),
) {
    step_at(&Paces::default(), rule, at, w, grad, momenta, moved);
}

/// The same, each parameter at its own pace.
pub(crate) fn step_at(
    paces: &Paces,
    rule: StepRule,
    (t, eta, norm): (usize, f32, f32),
    w: &mut [f32],
    grad: &mut Gradient,
    momenta: &mut Momenta,
    moved: &mut dyn FnMut(&Range<usize>, &[f32]),
) {
    let eta = rule.eta(t, eta, norm);
    let needs_values = purpose(rule) == Purpose::Any || !paces.0.is_empty();
    assert!(!needs_values || grad.products().is_empty(), "this step needs a dense gradient");
    grad.subtract_products(w, eta, moved);
    momenta.prepare(rule.memory(), w.len(), grad.touched());
    for range in grad.touched() {
        let Pace { factor, decay } = paces.of(range.start);
        let (eta, w) = (factor * eta, &mut w[range.clone()]);
        if decay != 0.0 {
            w.iter_mut().for_each(|w| *w -= eta * decay * *w);
        }
        match rule {
            StepRule::Sgd | StepRule::UnitNorm { .. } => {
                kernels::subtract(w, eta, grad.values(range));
            }
            _ => rule.step(t, eta, w, grad.values(range), momenta.of(range)),
        }
        moved(range, w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_momenta_resets_them() {
        let mut grad = Gradient::new(3);
        grad.touch(1..3).copy_from_slice(&[1.0, 2.0]);
        let mut momenta = Momenta::default();
        let mut take = |momenta: &mut Momenta| {
            let mut w = vec![0.0; 3];
            step(StepRule::ADAM, (0, 0.1, 1.0), &mut w, &mut grad, momenta, &mut |_, _| {});
            w
        };
        let first = take(&mut momenta);
        assert_ne!(take(&mut momenta), first, "momenta change the second step");
        momenta.clear();
        assert_eq!(take(&mut momenta), first);
    }
}
