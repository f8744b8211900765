//! Scores outputs by exact match and edit distance.

use cajole_treebank::percent;

use crate::edit_distance;

/// Counts summed over outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// The number of outputs.
    pub pairs: usize,
    /// Outputs that match exactly.
    pub exact: usize,
    /// The total edit distance to the gold outputs.
    pub edits: usize,
    /// The total of the longer length of output and gold, which bounds the edits.
    pub symbols: usize,
}

impl Score {
    /// The score of one output.
    pub fn of(output: &[&str], gold: &[String]) -> Self {
        let edits = edit_distance(output, gold);
        let symbols = output.len().max(gold.len());
        Score { pairs: 1, exact: usize::from(edits == 0), edits, symbols }
    }

    /// The percentage of outputs that match exactly.
    pub fn exact_match(&self) -> f64 {
        percent(self.exact, self.pairs)
    }

    /// The percentage of symbols that need no edit.
    pub fn symbols_right(&self) -> f64 {
        100.0 * (1.0 - self.edits as f64 / self.symbols.max(1) as f64)
    }

    /// The criterion for early stopping: exact matches, with ties broken by symbols. Long before
    /// the first exact match, symbols distinguish one epoch from another.
    pub fn rank(&self) -> f64 {
        self.exact as f64 + self.symbols_right() / 100.0
    }
}

cajole_treebank::summable!(Score { pairs, exact, edits, symbols });

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The distance by its recursive definition.
    fn distance(y: &[&str], gold: &[&str]) -> usize {
        match (y, gold) {
            ([], rest) | (rest, []) => rest.len(),
            ([a, y_rest @ ..], [b, gold_rest @ ..]) => {
                let replaced = distance(y_rest, gold_rest) + usize::from(a != b);
                replaced.min(distance(y_rest, gold) + 1).min(distance(y, gold_rest) + 1)
            }
        }
    }

    proptest! {
        #[test]
        fn edits_match_the_recursive_definition(y in "[abc]{0,6}", gold in "[abc]{0,6}") {
            let (y, gold): (Vec<_>, Vec<_>) = (split(&y), split(&gold));
            let owned: Vec<String> = gold.iter().map(ToString::to_string).collect();
            let score = Score::of(&y, &owned);
            prop_assert_eq!(score.edits, distance(&y, &gold));
            prop_assert_eq!(score.exact == 1, y == gold);
            prop_assert!((0.0..=100.0).contains(&score.symbols_right()));
        }
    }

    fn split(text: &str) -> Vec<&str> {
        text.split("").filter(|letter| !letter.is_empty()).collect()
    }

    #[test]
    fn an_exact_match_outranks_any_number_of_symbols() {
        let right = |exact, edits| Score { pairs: 9, exact, edits, symbols: 90 }.rank();
        assert!(right(3, 1) < right(4, 60) && right(3, 2) < right(3, 1));
        assert!(Score::default().rank().is_finite());
    }
}
