//! The `k` best tag sequences: the Viterbi recursion over sorted lists instead of maxima.
//!
//! Gradient-based inference may lower several candidates at once, and a lower-ranked candidate may
//! satisfy the constraint that the first one violates.
//!
//! `open_t` and `inside_t(X)` are, as in [`Viterbi`](super::Viterbi), the continuations from `t`
//! that begin with `O` or `B-…`, or with `I-X`; here each is a list of the `k` best. The
//! continuations of a tag of role `X` are two such lists merged.

use crate::Symbol;
use crate::constraints::Role;

use super::{Space, TagScores};

/// Finds the best valid sequences of tags.
#[derive(Clone, Copy, Debug)]
pub struct KBest {
    /// How many.
    pub k: usize,
    /// The quantity to maximise.
    pub space: Space,
}

impl KBest {
    /// Finds the `k` best valid sequences, or all if there are fewer, and returns their number.
    ///
    /// Read them from `lists`. Impossible ones come last, with a sum of `−∞`.
    pub fn tag(&self, scores: &TagScores, lists: &mut SuffixLists) -> usize {
        let n = scores.n_positions();
        lists.clear(n, scores.tags().n_roles(), self.k);
        for t in (0..n).rev() {
            lists.fill(scores, self.space, t);
        }
        lists.len_of(lists.open(0))
    }
}

/// The best continuations from every position, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct SuffixLists {
    k: usize,
    n_roles: usize,
    /// Index of the end.
    end: u32,
    suffixes: Vec<Suffix>, // (T + 1, 1 + R, k), each list sorted, best first
    lens: Vec<usize>,      // (T + 1, 1 + R)
    merged: Vec<u32>,
}

/// A symbol and the index of its continuation in `suffixes`.
#[derive(Clone, Copy, Debug, Default)]
struct Suffix {
    sum: f64,
    symbol: Symbol,
    rest: u32,
}

impl Suffix {
    /// Whether this one precedes `other` in a list.
    fn is_before(&self, other: &Suffix) -> bool {
        other.sum < self.sum || other.sum == self.sum && self.symbol < other.symbol
    }
}

impl SuffixLists {
    /// Writes the sequence with this rank, from 0, into `y` and returns its sum.
    pub fn read(&self, rank: usize, y: &mut Vec<Symbol>) -> Option<f32> {
        y.clear();
        let len = *self.lens.first()?;
        let best = (rank < len).then_some(rank)?;
        let mut at = best;
        while at != self.end as usize {
            let Suffix { symbol, rest, .. } = self.suffixes[at];
            y.push(symbol);
            at = rest as usize;
        }
        Some(self.suffixes[best].sum as f32)
    }

    fn clear(&mut self, n_positions: usize, n_roles: usize, k: usize) {
        (self.k, self.n_roles) = (k, n_roles);
        let n_lists = (n_positions + 1) * (1 + n_roles);
        self.suffixes.clear();
        self.suffixes.resize(n_lists * k, Suffix::default());
        self.lens.clear();
        self.lens.resize(n_lists, 0);
        // At the end there is one continuation: the empty one.
        let end = self.open(n_positions);
        self.lens[end] = k.min(1);
        self.end = (end * k) as u32;
    }

    /// The lists of position `t` from those of `t + 1`.
    fn fill(&mut self, scores: &TagScores, space: Space, t: usize) {
        let tags = scores.tags();
        let value = |symbol| space.value(scores.log_prob(t, symbol));
        let open = self.open(t);
        let next = self.open(t + 1);
        for rank in 0..self.len_of(next) {
            let rest = (next * self.k + rank) as u32;
            self.insert(open, tags.outside(), value(tags.outside()), rest);
        }
        for role in tags.roles() {
            self.merge(next, self.inside(t + 1, role));
            let begin = tags.begin(role);
            for i in 0..self.merged.len() {
                if !self.insert(open, begin, value(begin), self.merged[i]) {
                    break; // the rest are no better
                }
            }
            let Some(inside) = tags.inside(role) else { continue };
            for i in 0..self.merged.len() {
                self.insert(self.inside(t, role), inside, value(inside), self.merged[i]);
            }
        }
    }

    /// Inserts `symbol` and `rest` into `list`; false if they are not among the `k` best so far.
    fn insert(&mut self, list: usize, symbol: Symbol, value: f64, rest: u32) -> bool {
        let new = Suffix { sum: value + self.suffixes[rest as usize].sum, symbol, rest };
        let (first, len) = (list * self.k, self.lens[list]);
        let here = &self.suffixes[first..first + len];
        let place = here.partition_point(|old| !new.is_before(old));
        if place == self.k {
            return false;
        }
        let len = (len + 1).min(self.k);
        self.suffixes[first + place..first + len].rotate_right(1);
        self.suffixes[first + place] = new;
        self.lens[list] = len;
        true
    }

    /// The `k` best of two lists, in order.
    fn merge(&mut self, a: usize, b: usize) {
        let k = self.k;
        let (mut i, mut j) = (0, 0);
        self.merged.clear();
        while self.merged.len() < k && (i < self.lens[a] || j < self.lens[b]) {
            let (from_a, from_b) = (a * k + i, b * k + j);
            let takes_b = i == self.lens[a]
                || j < self.lens[b] && self.suffixes[from_b].is_before(&self.suffixes[from_a]);
            self.merged.push(if takes_b { from_b } else { from_a } as u32);
            if takes_b { j += 1 } else { i += 1 }
        }
    }

    /// The list of continuations at `t` that begin with `O` or `B-…`.
    fn open(&self, t: usize) -> usize {
        t * (1 + self.n_roles)
    }

    /// The list of continuations at `t` that begin with the `I-` of `role`.
    fn inside(&self, t: usize, role: Role) -> usize {
        t * (1 + self.n_roles) + 1 + role.index()
    }

    fn len_of(&self, list: usize) -> usize {
        self.lens[list]
    }
}
