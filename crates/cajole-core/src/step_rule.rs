//! `W_λ ← W_λ − η∇`, "with SGD or a variant thereof".
//!
//! The same rules train networks and nudge them. A rule is data; what it remembers between steps
//! lives in [`Momenta`], which is cleared only where it was used, so that a large network with a
//! small gradient stays cheap.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::gradient::{Gradient, Purpose, remember};

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum StepRule {
    /// `w ← w − η∇`.
    Sgd,
    /// `v ← decay·v + ∇; w ← w − ηv`.
    Momentum {
        /// How much of the last step is kept.
        decay: f32,
    },
    /// Kingma and Ba 2015, with bias correction.
    Adam {
        /// Decay of the mean.
        beta1: f32,
        /// Decay of the mean square.
        beta2: f32,
        /// Added to the root.
        epsilon: f32,
    },
    /// `v ← decay·v + (1 − decay)∇²; w ← w − η∇ / (√v + ε)`.
    RmsProp {
        /// Decay of the mean square.
        decay: f32,
        /// Added to the root.
        epsilon: f32,
    },
    /// Zeiler 2012: steps as large as earlier steps were, relative to the gradients' size.
    Adadelta {
        /// Decay of both mean squares.
        rho: f32,
        /// Added under both roots.
        epsilon: f32,
    },
    /// `w ← w − min(η·growthᵗ, cap) ∇/‖∇‖`: the distance moved is set, whatever the network.
    ///
    /// The best plain SGD step differs a thousandfold between networks of one kind; this does not.
    UnitNorm {
        /// Factor by which the step grows at each iteration.
        growth: f32,
        /// The longest step.
        cap: f32,
    },
}

impl StepRule {
    /// Adam as published.
    pub const ADAM: StepRule = StepRule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

    /// What a step does with a gradient.
    pub fn purpose(&self) -> Purpose {
        match self {
            StepRule::Sgd => Purpose::Subtract,
            StepRule::UnitNorm { .. } => Purpose::SubtractByNorm,
            StepRule::Momentum { .. }
            | StepRule::Adam { .. }
            | StepRule::RmsProp { .. }
            | StepRule::Adadelta { .. } => Purpose::Any,
        }
    }

    /// How many numbers per weight the rule remembers.
    fn memory(&self) -> usize {
        match self {
            StepRule::Sgd | StepRule::UnitNorm { .. } => 0,
            StepRule::Momentum { .. } | StepRule::RmsProp { .. } => 1,
            StepRule::Adam { .. } | StepRule::Adadelta { .. } => 2,
        }
    }

    /// `‖∇‖`, for rules that divide by it; to others it is all one, and not worth a pass over the
    /// weights.
    pub fn norm(&self, grad: &Gradient) -> f32 {
        match self {
            StepRule::UnitNorm { .. } => grad.norm(),
            _ => 1.0,
        }
    }

    /// Takes step `t` (from 0) of size `eta` on `w` along `grad`, whose [norm](Self::norm) is given.
    pub fn step(
        &self,
        t: usize,
        eta: f32,
        w: &mut [f32],
        grad: &Gradient,
        norm: f32,
        momenta: &mut Momenta,
    ) {
        let eta = match *self {
            StepRule::UnitNorm { growth, cap } => (eta * growth.powi(t as i32)).min(cap) / norm,
            _ => eta,
        };
        let needs_values = self.purpose() == Purpose::Any;
        assert!(!needs_values || grad.products().is_empty(), "a rule needs every value");
        grad.subtract_products(w, eta);
        momenta.prepare(self.memory(), w.len(), grad.touched());
        for range in grad.touched() {
            let (w, g) = (&mut w[range.clone()], grad.values(range));
            let (first, second) = momenta.of(range);
            let all = w.iter_mut().zip(g);
            match *self {
                StepRule::Sgd | StepRule::UnitNorm { .. } => all.for_each(|(w, g)| *w -= eta * g),
                StepRule::Momentum { decay } => {
                    for ((w, g), v) in all.zip(first) {
                        *v = decay * *v + g;
                        *w -= eta * *v;
                    }
                }
                StepRule::RmsProp { decay, epsilon } => {
                    for ((w, g), v) in all.zip(first) {
                        *v = decay * *v + (1.0 - decay) * g * g;
                        *w -= eta * g / (v.sqrt() + epsilon);
                    }
                }
                StepRule::Adam { beta1, beta2, epsilon } => {
                    let t = t as i32 + 1;
                    let eta = eta / (1.0 - beta1.powi(t));
                    let correct = 1.0 / (1.0 - beta2.powi(t)).sqrt();
                    for (((w, g), m), v) in all.zip(first).zip(second) {
                        *m = beta1 * *m + (1.0 - beta1) * g;
                        *v = beta2 * *v + (1.0 - beta2) * g * g;
                        *w -= eta * *m / (v.sqrt() * correct + epsilon);
                    }
                }
                StepRule::Adadelta { rho, epsilon } => {
                    for (((w, g), v), d) in all.zip(first).zip(second) {
                        *v = rho * *v + (1.0 - rho) * g * g;
                        let step = ((*d + epsilon) / (*v + epsilon)).sqrt() * g;
                        *d = rho * *d + (1.0 - rho) * step * step;
                        *w -= eta * step;
                    }
                }
            }
        }
    }
}

/// What a rule remembers of earlier steps: up to two numbers per weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Momenta {
    /// Means, or mean squares where a rule keeps only those.
    pub first: Vec<f32>,
    /// Mean squares.
    pub second: Vec<f32>,
    used: Vec<Range<usize>>,
}

impl Momenta {
    /// Forgets all earlier steps.
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
        touched.iter().for_each(|range| remember(&mut self.used, range));
    }

    /// The memory of a range; empty where the rule keeps none.
    fn of(&mut self, range: &Range<usize>) -> (&mut [f32], &mut [f32]) {
        let first = self.first.get_mut(range.clone()).unwrap_or_default();
        (first, self.second.get_mut(range.clone()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes five steps on two weights with gradient `[w₀ + 0.5, 3 w₁]` and compares every one.
    fn check(rule: StepRule, eta: f32, expected: [[f32; 2]; 5]) {
        let mut w = vec![0.4, -0.3];
        let mut momenta = Momenta::default();
        for (t, want) in expected.iter().enumerate() {
            let mut grad = Gradient::new(2);
            let now = [w[0] + 0.5, 3.0 * w[1]];
            grad.touch(0..2).copy_from_slice(&now);
            let norm = grad.norm();
            rule.step(t, eta, &mut w, &grad, norm, &mut momenta);
            for (got, want) in w.iter().zip(want) {
                assert!((got - want).abs() < 2e-6, "{rule:?} step {t}: {got} is not {want}");
            }
        }
    }

    // import torch
    // for name, make in [
    //     ('sgd', lambda p: torch.optim.SGD(p, lr=0.1)),
    //     ('momentum', lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
    //     ('adam', lambda p: torch.optim.Adam(p, lr=0.1)),
    //     ('rmsprop', lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.95, eps=1e-6)),
    //     ('adadelta', lambda p: torch.optim.Adadelta(p, lr=1.0, rho=0.95, eps=1e-6))]:
    //     w = torch.tensor([0.4, -0.3], requires_grad=True)
    //     opt = make([w])
    //     rows = []
    //     for _ in range(5):
    //         opt.zero_grad()
    //         (0.5 * (w[0] + 0.5) ** 2 + 1.5 * w[1] ** 2).backward()
    //         opt.step()
    //         rows.append([round(v, 7) for v in w.tolist()])
    //     print(name, rows)
    #[test]
    fn rules_agree_with_pytorch() {
        check(
            StepRule::Sgd,
            0.1,
            [
                [0.31, -0.21],
                [0.229, -0.147],
                [0.1561, -0.1029],
                [0.09049, -0.07203],
                [0.031441, -0.050421],
            ],
        );
        check(
            StepRule::Momentum { decay: 0.9 },
            0.1,
            [
                [0.31, -0.21],
                [0.148, -0.066],
                [-0.0626, 0.0834],
                [-0.29588, 0.19284],
                [-0.5262439, 0.233484],
            ],
        );
        check(
            StepRule::ADAM,
            0.1,
            [
                [0.3, -0.2],
                [0.2004787, -0.1029648],
                [0.1018543, -0.013289],
                [0.0046365, 0.0621827],
                [-0.0905604, 0.1161778],
            ],
        );
        check(
            StepRule::RmsProp { decay: 0.95, epsilon: 1e-6 },
            0.01,
            [
                [0.3552789, -0.2552789],
                [0.324059, -0.2258673],
                [0.2986585, -0.2029429],
                [0.2766663, -0.183836],
                [0.2569675, -0.1673318],
            ],
        );
        check(
            StepRule::Adadelta { rho: 0.95, epsilon: 1e-6 },
            1.0,
            [
                [0.3955279, -0.2955279],
                [0.3910099, -0.2910322],
                [0.3864684, -0.2865433],
                [0.3819145, -0.2820768],
                [0.3773552, -0.2776418],
            ],
        );
    }

    #[test]
    fn unit_norm_moves_a_set_distance() {
        let rule = StepRule::UnitNorm { growth: 2.0, cap: 0.3 };
        let mut grad = Gradient::new(2);
        grad.touch(0..2).copy_from_slice(&[30.0, -40.0]);
        let mut w = vec![0.0; 2];
        for (t, far) in [(0, 0.1), (1, 0.3), (2, 0.6), (3, 0.9)] {
            rule.step(t, 0.1, &mut w, &grad, grad.norm(), &mut Momenta::default());
            let distance = w[0].hypot(w[1]);
            assert!((distance - far).abs() < 1e-6, "step {t}: moved {distance}, not {far}");
        }
    }

    #[test]
    fn cleared_momenta_start_afresh() {
        let mut grad = Gradient::new(3);
        grad.touch(1..3).copy_from_slice(&[1.0, 2.0]);
        let mut momenta = Momenta::default();
        let step = |momenta: &mut Momenta| {
            let mut w = vec![0.0; 3];
            StepRule::ADAM.step(0, 0.1, &mut w, &grad, grad.norm(), momenta);
            w
        };
        let first = step(&mut momenta);
        assert_ne!(step(&mut momenta), first, "momenta change the second step");
        momenta.clear();
        assert_eq!(step(&mut momenta), first);
    }
}
