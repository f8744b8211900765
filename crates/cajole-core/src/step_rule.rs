//! `W_λ ← W_λ − η∇`, "with SGD or a variant thereof".
//!
//! The same rules train networks and nudge them. A rule is data; its state between steps belongs to
//! the backend, as slices beside the weights.

use serde::{Deserialize, Serialize};

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum StepRule {
    /// `w ← w − η∇`.
    Sgd,
    /// `v ← decay·v + ∇; w ← w − ηv`.
    Momentum {
        /// Decay of the velocity.
        decay: f32,
    },
    /// Kingma and Ba 2015, with bias correction.
    Adam {
        /// Decay of the first moment.
        beta1: f32,
        /// Decay of the second moment.
        beta2: f32,
        /// Added to the root.
        epsilon: f32,
    },
    /// `v ← decay·v + (1 − decay)∇²; w ← w − η∇ / (√v + ε)`.
    RmsProp {
        /// Decay of the second moment.
        decay: f32,
        /// Added to the root.
        epsilon: f32,
    },
    /// Zeiler 2012: scales the gradient by the ratio of past updates to past gradients.
    Adadelta {
        /// Decay of both second moments.
        rho: f32,
        /// Added under both roots.
        epsilon: f32,
    },
    /// `w ← w − min(η·growthᵗ, cap) ∇/‖∇‖`: the distance moved is fixed, whatever the network.
    ///
    /// The best plain SGD step size varies a thousandfold between similar networks; this does not.
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

    /// Floats of state per weight.
    pub fn memory(&self) -> usize {
        match self {
            StepRule::Sgd | StepRule::UnitNorm { .. } => 0,
            StepRule::Momentum { .. } | StepRule::RmsProp { .. } => 1,
            StepRule::Adam { .. } | StepRule::Adadelta { .. } => 2,
        }
    }

    /// Whether the rule divides by `‖∇‖`.
    pub fn needs_norm(&self) -> bool {
        matches!(self, StepRule::UnitNorm { .. })
    }

    /// The factor applied to the gradient at step `t` (from 0), for step size `eta`.
    pub fn eta(&self, t: usize, eta: f32, norm: f32) -> f32 {
        match *self {
            StepRule::UnitNorm { growth, cap } => (eta * growth.powi(t as i32)).min(cap) / norm,
            _ => eta,
        }
    }

    /// Takes step `t` on some weights along their gradient, scaled by [`eta`](StepRule::eta).
    /// `first` and `second` are the rule's state for these weights, initially zero; empty if
    /// unused.
    pub fn step(
        &self,
        t: usize,
        eta: f32,
        w: &mut [f32],
        grad: &[f32],
        (first, second): (&mut [f32], &mut [f32]),
    ) {
        let all = w.iter_mut().zip(grad);
        match *self {
            StepRule::Sgd | StepRule::UnitNorm { .. } => all.for_each(|(w, g)| *w -= eta * g),
            StepRule::Momentum { decay } => {
                for ((w, g), v) in all.zip(first) {
                    *v = flush(decay * *v + g);
                    *w -= eta * *v;
                }
            }
            StepRule::RmsProp { decay, epsilon } => {
                for ((w, g), v) in all.zip(first) {
                    *v = flush(decay * *v + (1.0 - decay) * g * g);
                    *w -= eta * g / (v.sqrt() + epsilon);
                }
            }
            StepRule::Adam { beta1, beta2, epsilon } => {
                let t = t as i32 + 1;
                let eta = eta / (1.0 - beta1.powi(t));
                let correct = 1.0 / (1.0 - beta2.powi(t)).sqrt();
                for (((w, g), m), v) in all.zip(first).zip(second) {
                    *m = flush(beta1 * *m + (1.0 - beta1) * g);
                    *v = flush(beta2 * *v + (1.0 - beta2) * g * g);
                    *w -= eta * *m / (v.sqrt() * correct + epsilon);
                }
            }
            StepRule::Adadelta { rho, epsilon } => {
                for (((w, g), v), d) in all.zip(first).zip(second) {
                    *v = flush(rho * *v + (1.0 - rho) * g * g);
                    let step = ((*d + epsilon) / (*v + epsilon)).sqrt() * g;
                    *d = flush(rho * *d + (1.0 - rho) * step * step);
                    *w -= eta * step;
                }
            }
        }
    }
}

/// A moment, or zero if it is tiny. The moments of weights whose gradient has vanished decay into
/// subnormal floats, which slow down every later step.
#[inline(always)]
fn flush(moment: f32) -> f32 {
    const TINY: f32 = 1e-30;
    if moment.abs() < TINY { 0.0 } else { moment }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes five steps on two weights with gradient `[w₀ + 0.5, 3 w₁]` and compares every one.
    fn check(rule: StepRule, eta: f32, expected: [[f32; 2]; 5]) {
        let mut w = [0.4f32, -0.3];
        let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
        for (t, want) in expected.iter().enumerate() {
            let grad = [w[0] + 0.5, 3.0 * w[1]];
            let eta = rule.eta(t, eta, grad[0].hypot(grad[1]));
            rule.step(t, eta, &mut w, &grad, (&mut first, &mut second));
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
    fn unit_norm_moves_a_fixed_distance() {
        let rule = StepRule::UnitNorm { growth: 2.0, cap: 0.3 };
        let grad = [30.0f32, -40.0];
        let norm = grad[0].hypot(grad[1]);
        let mut w = [0.0f32; 2];
        // Steps of 0.1 and 0.2; then the cap.
        for (t, far) in [(0, 0.1), (1, 0.3), (2, 0.6), (3, 0.9)] {
            rule.step(t, rule.eta(t, 0.1, norm), &mut w, &grad, (&mut [], &mut []));
            let distance = w[0].hypot(w[1]);
            assert!((distance - far).abs() < 1e-6, "step {t}: moved {distance}, not {far}");
        }
    }

    #[test]
    fn moments_of_vanished_gradients_decay_to_zero_not_to_subnormal_floats() {
        for rule in [
            StepRule::Momentum { decay: 0.9 },
            StepRule::ADAM,
            StepRule::RmsProp { decay: 0.9, epsilon: 1e-8 },
            StepRule::Adadelta { rho: 0.9, epsilon: 1e-6 },
        ] {
            let (mut w, mut first, mut second) = ([0.0f32], [0.0f32], [0.0f32]);
            for t in 0..3000 {
                let grad = if t == 0 { 1e-8 } else { 0.0 };
                rule.step(t, 0.1, &mut w, &[grad], (&mut first, &mut second));
                let moments = [first[0], second[0]];
                assert!(!moments.iter().any(|m| m.is_subnormal()), "{rule:?} at {t}: {moments:?}");
            }
        }
    }
}
