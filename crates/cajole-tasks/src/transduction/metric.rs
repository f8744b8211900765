//! Accuracy as in the paper: positional matches over the longer length, counting the end symbol.

use cajole_core::Symbol;

/// The fraction of positions at which `y` and `gold` agree, counting the end symbol of each.
pub fn accuracy(y: &[Symbol], gold: &[Symbol]) -> f64 {
    let matches = y.iter().zip(gold).filter(|(y, g)| y == g).count();
    let ends = usize::from(y.len() == gold.len());
    (matches + ends) as f64 / (y.len().max(gold.len()) + 1) as f64
}

/// Sums over outputs. Ratios are computed on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The number of outputs.
    pub n: usize,
    /// The sum of their accuracies.
    pub accuracies: f64,
    /// Outputs that match exactly.
    pub exact: usize,
}

impl Score {
    /// Adds one output.
    pub fn add(&mut self, y: &[Symbol], gold: &[Symbol]) {
        self.n += 1;
        self.accuracies += accuracy(y, gold);
        self.exact += usize::from(y == gold);
    }

    /// Sums several outputs.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a [Symbol], &'a [Symbol])>) -> Self {
        let mut score = Score::default();
        pairs.into_iter().for_each(|(y, gold)| score.add(y, gold));
        score
    }

    /// Mean accuracy, in per cent.
    pub fn accuracy(&self) -> f64 {
        100.0 * self.accuracies / self.n as f64
    }

    /// The percentage of outputs that match exactly.
    pub fn exact_match(&self) -> f64 {
        100.0 * self.exact as f64 / self.n as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters as numbers; the mapping does not matter here.
    fn symbols(text: &str) -> Vec<Symbol> {
        text.bytes().map(Symbol::from).collect()
    }

    #[test]
    fn the_papers_case_study() {
        let gold = symbols("aaaaaazbaaazbzbaaazbzbzbzbzb");
        let first = symbols("aaaaaazbaaazbaaazbzbzbzbaaazb");
        assert_eq!(accuracy(&first, &gold), 20.0 / 30.0, "printed as 66.7");
        assert_eq!(accuracy(&gold, &gold), 1.0);
    }

    #[test]
    fn length_differences_count_as_errors() {
        assert_eq!(accuracy(&symbols("ab"), &symbols("abab")), 2.0 / 5.0);
        assert_eq!(accuracy(&[], &[]), 1.0);
        assert_eq!(accuracy(&[], &symbols("a")), 0.0);
    }
}
