//! Viterbi decoding under the BIO rule: the best sequence in which every span begins with `B-`.
//!
//! Any tag may follow any other, except that `I-X` must continue an `X`. So two numbers determine
//! the best continuation from position `t`, and tags need not be compared pairwise:
//!
//! ```text
//! open_t      = max over v ∈ {O, B-…} of s_t(v) + after_{t+1}(v)
//! inside_t(X) = s_t(I-X) + after_{t+1}(I-X)
//! after_t(O) = open_t      after_t(B-X) = after_t(I-X) = max(open_t, inside_t(X))
//! ```
//!
//! which takes O(T·V) instead of O(T·V²). The recursion runs backwards, so that the best sequence
//! is read off forwards and ties go to the lexicographically smallest one. A* search uses the same
//! table as its heuristic.

use crate::Symbol;
use crate::constraints::Tag;
use serde::{Deserialize, Serialize};

use super::TagScores;

/// The quantity to sum and maximise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Log-probabilities: finds the most probable sequence.
    #[default]
    Log,
    /// Probabilities: finds the sequence with the highest expected number of correct tags.
    /// AllenNLP's semantic role labeler decodes this way, so an imported model needs it to give the
    /// same outputs.
    Probability,
}

impl Space {
    /// What `log_prob` adds to the sum.
    pub(super) fn value(self, log_prob: f64) -> f64 {
        match self {
            Space::Log => log_prob,
            Space::Probability => log_prob.exp(),
        }
    }
}

/// Finds the best valid sequence of tags.
///
/// ```
/// use cajole_core::constraints::TagSet;
/// use cajole_core::decoders::tags::{Space, Suffixes, TagScores, Viterbi};
///
/// let tags = TagSet::new(["O", "B-A", "I-A"])?;
/// let scores = [0.40f32, 0.05, 0.55, 0.15, 0.05, 0.80].map(f32::ln);
/// let scores = TagScores::new(&tags, &scores);
/// let (mut suffixes, mut y) = (Suffixes::default(), Vec::new());
/// Viterbi { space: Space::Log }.tag(&scores, &mut suffixes, &mut y);
/// assert_eq!(y, [0, 0]);
/// Viterbi { space: Space::Probability }.tag(&scores, &mut suffixes, &mut y);
/// assert_eq!(y, [1, 2]);
/// # Ok::<(), cajole_core::constraints::TagSetError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Viterbi {
    /// The quantity to maximise.
    pub space: Space,
}

impl Viterbi {
    /// Writes the best valid sequence into `y` and returns its sum.
    ///
    /// There always is one: if every sequence is impossible, the sum is `−∞` and `y` is still
    /// valid.
    pub fn tag(&self, scores: &TagScores, suffixes: &mut Suffixes, y: &mut Vec<Symbol>) -> f32 {
        suffixes.fill(scores, self.space);
        y.clear();
        let mut before = Tag::O;
        for t in 0..scores.n_positions() {
            let symbol = suffixes.best_after(scores, t, before).1;
            before = scores.tags().tag(symbol).unwrap_or(Tag::O);
            y.push(symbol);
        }
        suffixes.open[0] as f32
    }
}

/// The best continuation from every position: the Viterbi table, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Suffixes {
    open: Vec<f64>,     // (T + 1)
    first: Vec<Symbol>, // (T) the first symbol of the sequence behind `open`
    inside: Vec<f64>,   // (T + 1, R)
}

impl Suffixes {
    pub(super) fn fill(&mut self, scores: &TagScores, space: Space) {
        let (tags, n) = (scores.tags(), scores.n_positions());
        let n_roles = tags.n_roles();
        self.open.clear();
        self.open.resize(n + 1, 0.0);
        self.first.clear();
        self.first.resize(n, tags.outside());
        self.inside.clear();
        self.inside.resize((n + 1) * n_roles, f64::NEG_INFINITY);
        for t in (0..n).rev() {
            let value = |symbol| space.value(scores.log_prob(t, symbol));
            let mut best = (value(tags.outside()) + self.open[t + 1], tags.outside());
            for role in tags.roles() {
                let going_on = self.inside[(t + 1) * n_roles + role.index()];
                let after = going_on.max(self.open[t + 1]);
                let begin = tags.begin(role);
                best = better(best, (value(begin) + after, begin));
                if let Some(inside) = tags.inside(role) {
                    self.inside[t * n_roles + role.index()] = value(inside) + after;
                }
            }
            (self.open[t], self.first[t]) = best;
        }
    }

    /// The best sum over positions `t..` after `before`, and its symbol at `t`.
    ///
    /// `t` must be below T.
    pub(super) fn best_after(&self, scores: &TagScores, t: usize, before: Tag) -> (f64, Symbol) {
        let tags = scores.tags();
        let open = (self.open[t], self.first[t]);
        let going_on = before.role().and_then(|role| {
            let inside = tags.inside(role)?;
            Some((self.inside[t * tags.n_roles() + role.index()], inside))
        });
        going_on.map_or(open, |going_on| better(open, going_on))
    }

    /// `after_t(before)`: the best sum over positions `t..` after `before`; `t` is at most T.
    pub(super) fn after(&self, scores: &TagScores, t: usize, before: Tag) -> f64 {
        if t < self.first.len() { self.best_after(scores, t, before).0 } else { 0.0 }
    }
}

/// The larger sum; ties go to the smaller symbol.
pub(super) fn better(a: (f64, Symbol), b: (f64, Symbol)) -> (f64, Symbol) {
    if a.0 < b.0 || a.0 == b.0 && b.1 < a.1 { b } else { a }
}
