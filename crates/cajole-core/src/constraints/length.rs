//! An output length determined by the input.
//!
//! Many tasks fix the length in advance: a tag per word, `2m − 1` commands for a binary tree over
//! `m` words. An end symbol one step early breaks everything, and one number detects it:
//!
//! ```text
//! g(y, Lˣ) = |n − L(x)| / (m + n)
//! ```
//!
//! Normalising by the lengths keeps `g` from growing with them, as the paper recommends.

use super::{Automaton, Dfa};
use crate::constraint::{Constraint, Violation};
use crate::model::Symbol;

/// The output must have the length that `required` computes from the input.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_core::constraints::Length;
///
/// // A binary tree over m words takes m shifts and m − 1 reduces.
/// let one_tree = Length { required: |x: &[u32]| (2 * x.len()).saturating_sub(1), n_symbols: 2 };
/// assert_eq!(one_tree.check(&[5, 6], &[0, 0, 1]).total(), 0.0);
/// assert!(one_tree.check(&[5, 6], &[0, 1]).total() > 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Length<F> {
    /// `L(x)`.
    pub required: F,
    /// The size of the output alphabet, for the automaton.
    pub n_symbols: usize,
}

impl<X, F> Constraint<X> for Length<F>
where
    X: AsRef<[Symbol]> + ?Sized,
    F: Fn(&X) -> usize + Sync,
{
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        let off = (self.required)(x).abs_diff(y.len()) as f32;
        Violation::Whole(off / (x.as_ref().len() + y.len()).max(1) as f32)
    }

    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        Some(Box::new(Dfa::length(self.n_symbols, (self.required)(x))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::oracle::strings;

    #[test]
    fn the_difference_is_divided_by_the_lengths() {
        let double = Length { required: |x: &[Symbol]| 2 * x.len(), n_symbols: 2 };
        let g = |x: &[Symbol], y: &[Symbol]| double.check(x, y).total();
        assert_eq!(g(&[0, 0], &[1]), 3.0 / 3.0);
        assert_eq!(g(&[0, 0], &[1; 6]), 2.0 / 8.0);
        assert_eq!(g(&[0, 0], &[1; 4]), 0.0);
        assert_eq!(g(&[], &[]), 0.0);
    }

    #[test]
    fn empty_input_and_output_can_still_violate() {
        let two = Length { required: |_: &[Symbol]| 2, n_symbols: 2 };
        assert_eq!(two.check(&[], &[]), Violation::Whole(2.0));
    }

    #[test]
    fn the_automaton_accepts_exactly_the_feasible_outputs() {
        let next = Length { required: |x: &Vec<Symbol>| x.len() + 1, n_symbols: 2 };
        for x in strings(2, 2) {
            let dfa = next.automaton(&x).expect("lengths are regular");
            for y in strings(2, 5) {
                assert_eq!(dfa.contains(&y), next.check(&x, &y).is_satisfied(), "{x:?} to {y:?}");
            }
        }
    }
}
