//! Constraints on outputs: the paper's count, or everything that the transducer implies.

use cajole_core::Symbol;
use cajole_core::constraint::{Constraint, Violation};
use cajole_core::constraints::{All, Automaton, Count, Language, Length, Regular};
use serde::{Deserialize, Serialize};

use super::language::{A, B, END, Z};

/// Which constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConstraintKind {
    /// The paper's: three times as many `a` in the output as in the input.
    Count,
    /// Count, target grammar and length combined.
    Full,
}

impl ConstraintKind {
    /// Both.
    pub const ALL: [ConstraintKind; 2] = [ConstraintKind::Count, ConstraintKind::Full];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            ConstraintKind::Count => "count",
            ConstraintKind::Full => "full",
        }
    }

    /// A short description.
    pub fn describe(self) -> &'static str {
        match self {
            ConstraintKind::Count => "count constraint",
            ConstraintKind::Full => "full constraint (count, grammar, length)",
        }
    }

    /// Builds the constraint.
    pub fn build(self) -> Box<dyn Constraint<[Symbol]> + Send> {
        match self {
            ConstraintKind::Count => Box::new(count()),
            ConstraintKind::Full => Box::new(full()),
        }
    }
}

/// `(3 x_a − y_a)² / (m + n)`.
fn count() -> Count {
    Count { source: A, target: A, ratio: 3, n_symbols: END as usize }
}

/// Everything that is known about an output without transducing the input: it matches `(aaa|zb)*`,
/// has three `a` for each one in the input, and the right length.
pub fn full() -> All<'static, [Symbol]> {
    let grammar = Language::any_of([Language::word(&[A, A, A]), Language::word(&[Z, B])]).star();
    let grammar = Regular::new(&grammar.automaton(END as usize));
    let required = |x: &[Symbol]| x.iter().map(|&s| [3, 2, 0][s as usize]).sum::<usize>();
    All::new()
        .with(1.0, count())
        .with(0.1, PerSymbol(grammar))
        .with(1.0, Length { required, n_symbols: END as usize })
}

/// A constraint whose cost is divided by the output length, as the paper recommends.
struct PerSymbol<C>(C);

impl<C: Constraint<[Symbol]>> Constraint<[Symbol]> for PerSymbol<C> {
    fn check(&self, x: &[Symbol], y: &[Symbol]) -> Violation {
        self.0.check(x, y).scaled(1.0 / y.len().max(1) as f32)
    }

    fn automaton(&self, x: &[Symbol]) -> Option<Box<dyn Automaton + '_>> {
        self.0.automaton(x)
    }
}

#[cfg(test)]
mod tests {
    use super::super::language::{Splits, transduce};
    use super::*;

    #[test]
    fn only_outputs_with_the_right_grammar_length_and_count_satisfy() {
        let constraint = full();
        for x in Splits::new(20).tune {
            let gold = transduce(&x);
            assert!(constraint.check(&x, &gold).is_satisfied());
            assert!(constraint.automaton(&x).is_some_and(|dfa| dfa.contains(&gold)));
            for i in 0..gold.len() {
                let mut wrong = gold.clone();
                wrong[i] = (wrong[i] + 1) % 3;
                assert!(!constraint.check(&x, &wrong).is_satisfied());
                wrong.remove(i);
                assert!(!constraint.check(&x, &wrong).is_satisfied());
            }
        }
    }
}
