//! A tagger's scores for one input: a log-probability for every tag at every position.

use crate::Symbol;
use crate::constraints::TagSet;

/// A matrix of scores, with the meaning of its columns. T positions, V tags.
#[derive(Clone, Copy, Debug)]
pub struct TagScores<'a> {
    tags: &'a TagSet,
    scores: &'a [f32], // (T, V)
}

impl<'a> TagScores<'a> {
    /// `scores` is a row-major `(T, V)` matrix of log-probabilities.
    ///
    /// Non-finite values count as impossible.
    ///
    /// # Panics
    ///
    /// If `scores` is not a whole number of rows.
    pub fn new(tags: &'a TagSet, scores: &'a [f32]) -> Self {
        let (v, left) = (tags.n_tags(), scores.len() % tags.n_tags());
        assert!(left == 0, "{} scores are not rows of {v} tags", scores.len());
        TagScores { tags, scores }
    }

    /// The tags.
    pub fn tags(&self) -> &'a TagSet {
        self.tags
    }

    /// T.
    pub fn n_positions(&self) -> usize {
        self.scores.len() / self.tags.n_tags()
    }

    /// The score of `symbol` at position `t` as given.
    pub(super) fn raw(&self, t: usize, symbol: Symbol) -> f32 {
        self.scores[t * self.tags.n_tags() + symbol as usize]
    }

    /// The log-probability of `symbol` at position `t`, or `−∞`.
    ///
    /// In f64, so that sums of f32 values are practically exact and decoders that add in different
    /// orders agree on which of two outputs is better.
    pub fn log_prob(&self, t: usize, symbol: Symbol) -> f64 {
        let score = self.scores[t * self.tags.n_tags() + symbol as usize];
        if score.is_finite() { f64::from(score) } else { f64::NEG_INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_scores_are_impossible() {
        let tags = TagSet::new(["O", "B-A"]).unwrap();
        let scores = [-1.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let scores = TagScores::new(&tags, &scores);
        assert_eq!((scores.n_positions(), scores.log_prob(0, 0)), (2, -1.5));
        for (t, symbol) in [(0, 1), (1, 0), (1, 1)] {
            assert_eq!(scores.log_prob(t, symbol), f64::NEG_INFINITY);
        }
    }

    #[test]
    #[should_panic(expected = "3 scores are not rows of 2 tags")]
    fn incomplete_rows_are_rejected() {
        TagScores::new(&TagSet::new(["O", "B-A"]).unwrap(), &[0.0; 3]);
    }
}
