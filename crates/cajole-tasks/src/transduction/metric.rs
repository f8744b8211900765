//! Accuracy as in the paper: positional matches over the longer length, end symbol counted.

use cajole_core::Symbol;

/// The share of positions at which `y` and `gold` agree. Its end symbol is a position of each.
pub fn accuracy(y: &[Symbol], gold: &[Symbol]) -> f64 {
    let matches = y.iter().zip(gold).filter(|(y, g)| y == g).count();
    let ends = usize::from(y.len() == gold.len());
    (matches + ends) as f64 / (y.len().max(gold.len()) + 1) as f64
}

/// Sums over outputs; ratios are taken only when asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Outputs counted.
    pub n: usize,
    /// Their accuracies, added up.
    pub accuracies: f64,
    /// Those that are right.
    pub exact: usize,
}

impl Score {
    /// Counts one output.
    pub fn add(&mut self, y: &[Symbol], gold: &[Symbol]) {
        self.n += 1;
        self.accuracies += accuracy(y, gold);
        self.exact += usize::from(y == gold);
    }

    /// Counts several.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a [Symbol], &'a [Symbol])>) -> Self {
        let mut score = Score::default();
        pairs.into_iter().for_each(|(y, gold)| score.add(y, gold));
        score
    }

    /// Mean accuracy, in per cent.
    pub fn accuracy(&self) -> f64 {
        100.0 * self.accuracies / self.n as f64
    }

    /// Share of right outputs, in per cent.
    pub fn exact_match(&self) -> f64 {
        100.0 * self.exact as f64 / self.n as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters as numbers; any will do here.
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
    fn lengths_count() {
        assert_eq!(accuracy(&symbols("ab"), &symbols("abab")), 2.0 / 5.0);
        assert_eq!(accuracy(&[], &[]), 1.0);
        assert_eq!(accuracy(&[], &symbols("a")), 0.0);
    }
}
