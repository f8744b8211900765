//! What outputs have to satisfy: the paper's count, or all that the transducer implies.

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
    /// Count, target grammar and length together.
    Full,
}

impl ConstraintKind {
    /// Both.
    pub const ALL: [ConstraintKind; 2] = [ConstraintKind::Count, ConstraintKind::Full];

    /// As it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            ConstraintKind::Count => "count",
            ConstraintKind::Full => "full",
        }
    }

    /// In a few words.
    pub fn describe(self) -> &'static str {
        match self {
            ConstraintKind::Count => "count constraint",
            ConstraintKind::Full => "full constraint (count, grammar, length)",
        }
    }

    /// The constraint itself.
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

/// Everything that is known of an output without transducing the input: it is a string of
/// `(aaa|zb)*`, has three `a` for each one in the input, and the right length.
pub fn full() -> All<'static, [Symbol]> {
    let grammar = Language::any_of([Language::word(&[A, A, A]), Language::word(&[Z, B])]).star();
    let grammar = Regular::new(&grammar.automaton(END as usize));
    let required = |x: &[Symbol]| x.iter().map(|&s| [3, 2, 0][s as usize]).sum::<usize>();
    All::new()
        .with(1.0, count())
        .with(0.1, PerSymbol(grammar))
        .with(1.0, Length { required, n_symbols: END as usize })
}

/// A constraint whose cost is divided by the length of the output, as the paper recommends.
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
    fn gold_satisfies_and_what_differs_in_grammar_length_or_count_does_not() {
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
