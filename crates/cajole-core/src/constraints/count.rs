//! A fixed number of one output symbol per occurrence of an input symbol.
//!
//! A transducer that forgets or repeats a step gets its counts wrong, and counting needs no
//! alignment to notice. This is the paper's transduction constraint, there with three `a` in the
//! output for each `a` in the input:
//!
//! ```text
//! g(y, Lˣ) = (ratio · x_a − y_a)² / (m + n)
//! ```
//!
//! `x_a` and `y_a` count `source` in the input and `target` in the output. Normalising by the
//! lengths keeps `g` from growing with them.

use super::{Automaton, Dfa};
use crate::constraint::{Constraint, Violation};
use crate::model::Symbol;

/// The output must contain `ratio` times as many `target` as the input contains `source`.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_core::constraints::Count;
///
/// let (a_in, a_out) = (0, 0);
/// let three_each = Count { source: a_in, target: a_out, ratio: 3, n_symbols: 3 };
/// assert_eq!(three_each.check(&[0], &[0, 0, 0]).total(), 0.0);
/// assert_eq!(three_each.check(&[0], &[0, 0]).total(), 1.0 / 3.0); // (3 − 2)² over 1 + 2 symbols
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The input symbol to count.
    pub source: Symbol,
    /// The output symbol to count.
    pub target: Symbol,
    /// How many `target` there must be per `source`.
    pub ratio: usize,
    /// The size of the output alphabet, for the automaton.
    pub n_symbols: usize,
}

impl Count {
    /// The number of `target` that `x` requires.
    fn required(&self, x: &[Symbol]) -> usize {
        self.ratio * occurrences(self.source, x)
    }
}

impl<X: AsRef<[Symbol]> + ?Sized> Constraint<X> for Count {
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        let x = x.as_ref();
        let off = self.required(x).abs_diff(occurrences(self.target, y)) as f32;
        // Both empty: avoid 0/0.
        Violation::Whole(off * off / (x.len() + y.len()).max(1) as f32)
    }

    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        let n = self.required(x.as_ref());
        Some(Box::new(Dfa::exactly_n(self.n_symbols, self.target, n)))
    }
}

fn occurrences(symbol: Symbol, string: &[Symbol]) -> usize {
    string.iter().filter(|&&s| s == symbol).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::oracle::strings;

    /// `a`, `b`, `z` as 0, 1, 2.
    fn symbols(string: &str) -> Vec<Symbol> {
        string.chars().filter_map(|c| "abz".find(c)).map(|at| at as Symbol).collect()
    }

    const PAPER: Count = Count { source: 0, target: 0, ratio: 3, n_symbols: 3 };

    /// The transduction example of the appendix. The losses printed there are `g · ψ` with an
    /// unspecified `ψ`, so `g` itself is computed by hand from its definition.
    #[test]
    fn the_example_of_the_paper() {
        let x = symbols("azazbzazbzbzazbzbzbzbzbz");
        let wrong = symbols("aaaaaazbaaazbaaazbzbzbzbaaazb");
        let right = symbols("aaaaaazbaaazbzbaaazbzbzbzbzb");
        assert_eq!((x.len(), wrong.len(), right.len()), (24, 29, 28));
        let expected = (3.0 * 4.0 - 15.0f32).powi(2) / (24.0 + 29.0);
        assert_eq!(PAPER.check(&x, &wrong), Violation::Whole(expected));
        assert_eq!(PAPER.check(&x, &right), Violation::NONE);
    }

    #[test]
    fn missing_and_excess_symbols_count_equally() {
        let g = |x: &str, y: &str| PAPER.check(&symbols(x), &symbols(y)).total();
        assert_eq!(g("az", "a"), 4.0 / 3.0);
        assert_eq!(g("az", "aaaaa"), 4.0 / 7.0);
        assert_eq!(g("", "aa"), 4.0 / 2.0);
        assert_eq!(g("a", ""), 9.0 / 1.0);
        assert_eq!(g("", ""), 0.0);
    }

    #[test]
    fn the_automaton_accepts_exactly_the_feasible_outputs() {
        for x in ["", "b", "a", "bab"].map(symbols) {
            let dfa = Constraint::automaton(&PAPER, &x).expect("counts are regular");
            for y in strings(3, 5) {
                let violation = PAPER.check(&x, &y);
                assert_eq!(dfa.contains(&y), violation.is_satisfied(), "{x:?} to {y:?}");
            }
        }
    }
}
