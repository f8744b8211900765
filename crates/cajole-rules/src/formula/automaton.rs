//! The outputs that satisfy a formula, as an automaton.
//!
//! A state holds, for each comparison, the difference of its sides so far. If no symbol lowers the
//! difference, it can never return from above zero, so all positive values are merged into one;
//! likewise below zero if no symbol raises it. If the comparison fails in the merged state,
//! transitions to it are dropped.
//!
//! A difference that can move both ways has no such bound. The other comparisons may still bound
//! it; the exploration finds out.

use cajole_core::Symbol;

use super::{Comparison, Relation};
use crate::Subject;
use crate::classes::Classes;

/// Enough for several counts up to a few hundred, or one up to some thousands.
pub(super) const MAX_STATES: usize = 1 << 14;
/// The maximum of states times comparisons: a state stores one number per comparison.
pub(super) const MAX_NUMBERS: usize = 1 << 18;

/// The feasible set for `x`, if it is small enough.
pub(super) fn explore(
    comparisons: &[Comparison],
    x: &Subject,
    n_symbols: usize,
) -> Option<Classes> {
    let differences: Vec<Difference> =
        comparisons.iter().map(|c| Difference::new(c, x, n_symbols)).collect::<Option<_>>()?;
    // Symbols that add the same to every difference are interchangeable.
    let kinds =
        (0..n_symbols).map(|s| differences.iter().map(|d| d.weights[s]).collect::<Vec<i128>>());
    let start = differences.iter().map(|d| d.settled(d.start)).collect::<Vec<i128>>();
    let next = |values: &Vec<i128>, weights: &Vec<i128>| {
        let steps = differences.iter().zip(values).zip(weights);
        steps.map(|((d, value), weight)| d.next(value + weight)).collect::<Option<Vec<i128>>>()
    };
    let accepts =
        |values: &Vec<i128>| differences.iter().zip(values).all(|(d, &value)| d.holds(value));
    let max_states = MAX_STATES.min(MAX_NUMBERS / comparisons.len().max(1));
    Classes::explore(max_states, kinds, start, next, accepts)
}

/// `l − r` of one comparison, as the output grows.
pub(super) struct Difference {
    pub(super) relation: Relation,
    pub(super) start: i128,
    /// What each symbol adds.
    pub(super) weights: Vec<i128>,
    pub(super) can_rise: bool,
    pub(super) can_fall: bool,
}

impl Difference {
    pub(super) fn new(
        comparison: &Comparison,
        x: &Subject,
        n_symbols: usize,
    ) -> Option<Difference> {
        let (left, right) = comparison.sides(x)?;
        let weight = |symbol: Symbol| left.weight(symbol) - right.weight(symbol);
        let weights: Vec<i128> = (0..n_symbols as Symbol).map(weight).collect();
        Some(Difference {
            relation: comparison.relation,
            start: left.value(&[]) - right.value(&[]),
            can_rise: weights.iter().any(|&weight| 0 < weight),
            can_fall: weights.iter().any(|&weight| weight < 0),
            weights,
        })
    }

    /// The successor value, or `None` if the comparison can no longer hold.
    pub(super) fn next(&self, value: i128) -> Option<i128> {
        (!self.is_final(value) || self.holds(value)).then_some(self.settled(value))
    }

    /// Maps values with no way back to zero to a single representative.
    pub(super) fn settled(&self, value: i128) -> i128 {
        if self.is_final(value) { value.signum() } else { value }
    }

    /// Whether there is no way back to zero.
    fn is_final(&self, value: i128) -> bool {
        (0 < value && !self.can_fall) || (value < 0 && !self.can_rise)
    }

    pub(super) fn holds(&self, value: i128) -> bool {
        self.relation.distance(value) == 0
    }
}
