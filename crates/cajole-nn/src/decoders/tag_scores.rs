//! What a tagger says about one input: a log-probability for every tag at every position.

use cajole_core::Symbol;
use cajole_core::constraints::TagSet;

/// A matrix of scores with what its columns stand for. T positions, V tags.
#[derive(Clone, Copy, Debug)]
pub struct TagScores<'a> {
    tags: &'a TagSet,
    scores: &'a [f32], // (T, V)
}

impl<'a> TagScores<'a> {
    /// `scores` is (T, V) log-probabilities, one row after another.
    ///
    /// Whatever is no finite number in there counts as impossible.
    ///
    /// # Panics
    ///
    /// If `scores` is no whole number of rows.
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

    /// The log-probability of `symbol` at position `t`, or `−∞`.
    ///
    /// In double precision, since sums of single-precision numbers are then as good as exact, and
    /// decoders that add in different orders agree on which of two outputs is better.
    pub fn log_prob(&self, t: usize, symbol: Symbol) -> f64 {
        let score = self.scores[t * self.tags.n_tags() + symbol as usize];
        if score.is_finite() { f64::from(score) } else { f64::NEG_INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_impossible() {
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
    fn half_a_row_is_refused() {
        TagScores::new(&TagSet::new(["O", "B-A"]).unwrap(), &[0.0; 3]);
    }
}
