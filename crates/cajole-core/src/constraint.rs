//! `g(y, Lˣ)`: how far an output is from the feasible set.
//!
//! A constraint is a black box: any closure `|x, y| …` that returns zero exactly for feasible
//! outputs will do. One that knows *where* an output errs returns [`Violation::Parts`], and only
//! the offending positions then receive a gradient.

use std::ops::Range;

use serde::Serialize;

use crate::constraints::Automaton;
use crate::model::Symbol;

/// Measures how far `y` is from what `x` requires.
pub trait Constraint<X: ?Sized>: Sync {
    /// `g(y, Lˣ)`: zero exactly when `y` is feasible, positive otherwise.
    fn check(&self, x: &X, y: &[Symbol]) -> Violation;

    /// Why `y` is infeasible, in words; empty if it is feasible.
    ///
    /// The costs add up to `g`. Constraints should override this with messages that say what they
    /// require; the default only says where the constraint is violated, and by how much.
    fn explain(&self, x: &X, y: &[Symbol]) -> Vec<Fault> {
        self.check(x, y).into_faults(y.len() + 1, |_| "the constraint is violated".to_owned())
    }

    /// The feasible set for `x` as an automaton, if the constraint has one.
    ///
    /// Gradient-based inference does not need it; masked decoding does.
    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        let _ = x;
        None
    }
}

impl<X: ?Sized, F: Fn(&X, &[Symbol]) -> f32 + Sync> Constraint<X> for F {
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        Violation::Whole(self(x, y))
    }
}

/// The value of `g`, as a whole or broken into parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Violation {
    /// One cost for the whole output: every position is blamed equally.
    Whole(f32),
    /// A cost for each offending part of the output: `g = Σ_k g_k`.
    Parts(Vec<Part>),
}

/// `g_k` on part `k` of the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The positions of the output to blame; position `y.len()` is the end symbol.
    pub at: Range<usize>,
    /// The cost to each of these positions.
    pub cost: f32,
}

/// One reason why an output is infeasible.
///
/// Positions count from 0 and ranges are half-open, here and in all messages: `2..4` is the third
/// and fourth symbol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fault {
    /// The positions of the output to blame; position `y.len()` is the end symbol.
    pub at: Range<usize>,
    /// Its share of `g`.
    pub cost: f32,
    /// What is wrong.
    pub message: String,
}

impl Fault {
    /// The same fault with its cost multiplied by `weight`.
    #[must_use]
    pub fn scaled(self, weight: f32) -> Fault {
        Fault { cost: self.cost * weight, ..self }
    }
}

impl Violation {
    /// The violation of a feasible output.
    pub const NONE: Violation = Violation::Whole(0.0);

    /// `g`.
    pub fn total(&self) -> f32 {
        match self {
            Violation::Whole(g) => *g,
            // Start from +0.0: an empty float sum is −0.0.
            Violation::Parts(parts) => parts.iter().fold(0.0, |g, part| g + part.cost),
        }
    }

    /// Whether the output is feasible. A NaN from a black box counts as a violation.
    pub fn is_satisfied(&self) -> bool {
        self.total() == 0.0
    }

    /// The same violation with every cost multiplied by `weight`, which must be positive. A
    /// non-zero violation stays non-zero even if the product underflows.
    #[must_use]
    pub fn scaled(mut self, weight: f32) -> Violation {
        let was_satisfied = self.is_satisfied();
        match &mut self {
            Violation::Whole(g) => *g *= weight,
            Violation::Parts(parts) => parts.iter_mut().for_each(|part| part.cost *= weight),
        }
        match self.is_satisfied() && !was_satisfied {
            true => Violation::Whole(f32::MIN_POSITIVE),
            false => self,
        }
    }

    /// The sum of both violations: parts stay parts, and a whole is spread over all `positions`.
    pub fn and(self, other: Violation, positions: usize) -> Violation {
        match (self, other) {
            (Violation::Whole(a), Violation::Whole(b)) => Violation::Whole(a + b),
            (a, b) if b.is_satisfied() => a,
            (a, b) if a.is_satisfied() => b,
            (a, b) => {
                let mut parts = a.into_parts(positions);
                parts.extend(b.into_parts(positions));
                Violation::Parts(parts)
            }
        }
    }

    /// Adds `scale ×` the cost of each position to `costs`, which has one entry per recorded
    /// position.
    pub fn spread(&self, scale: f32, costs: &mut [f32]) {
        match self {
            Violation::Whole(g) => costs.iter_mut().for_each(|cost| *cost += scale * g),
            Violation::Parts(parts) => {
                for part in parts {
                    let at = part.at.start.min(costs.len())..part.at.end.min(costs.len());
                    costs[at].iter_mut().for_each(|cost| *cost += scale * part.cost);
                }
            }
        }
    }

    /// A fault for each part of non-zero cost, with its `message`; a whole is one part.
    pub fn into_faults(self, positions: usize, message: impl Fn(&Part) -> String) -> Vec<Fault> {
        let is_fault = |part: &Part| part.cost != 0.0;
        let fault = |part: Part| Fault { message: message(&part), at: part.at, cost: part.cost };
        self.into_parts(positions).into_iter().filter(is_fault).map(fault).collect()
    }

    fn into_parts(self, positions: usize) -> Vec<Part> {
        match self {
            Violation::Whole(cost) => vec![Part { at: 0..positions, cost }],
            Violation::Parts(parts) => parts,
        }
    }
}
