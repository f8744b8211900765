//! Exact constrained decoding: the most probable tags whose arguments are all allowed spans.
//!
//! It finds what A* finds when it completes, but without searching: a sequence consists of `O`s and
//! spans, and a span must be one of the input's few brackets. So the best sequence comes from a
//! semi-Markov Viterbi recursion over whole spans, backwards:
//!
//! ```text
//! best_t = max of  s_t(O) + best_{t+1}
//!                  s_t(B-X) + Σ_{t<u<e} s_u(I-X) + best_e     for brackets t..e
//!                  s_t(B-X) + free_{t+1}(X)                   for roles X that may be anywhere
//! free_t(X) = max(best_t, s_t(I-X) + free_{t+1}(X))
//! ```
//!
//! Brackets with the same start share a scan over their `I-X`. (Prefix sums would save the scan,
//! but their differences lose all precision once a score is huge, as masks are.) Every span starts
//! with its `B-`, so adjacent spans of the same role stay separate. It knows the constraint, so it
//! is a baseline for gradient-based inference, and a source of satisfying candidates.

use crate::Symbol;
use crate::constraints::{Brackets, Role, RoleSet};

use super::TagScores;
use super::viterbi::better;

/// Finds the best tag sequence whose spans, except those of free roles, are brackets.
#[derive(Clone, Copy, Debug)]
pub struct Exact<'a> {
    /// The roles whose spans may be anywhere.
    pub free: &'a RoleSet,
}

impl Exact<'_> {
    /// Writes the best sequence into `y` and returns its log-probability; `None` if every
    /// satisfying sequence is impossible. Without brackets, every span is allowed.
    pub fn tag(
        &self,
        scores: &TagScores,
        brackets: Option<&Brackets>,
        chart: &mut Chart,
        y: &mut Vec<Symbol>,
    ) -> Option<f32> {
        y.clear();
        chart.clear(scores);
        for t in (0..scores.n_positions()).rev() {
            chart.fill(scores, t, |role| match brackets {
                Some(brackets) if !self.free.contains(role) => Some(brackets.starting_at(t)),
                _ => None,
            });
        }
        if chart.best[0] == f64::NEG_INFINITY {
            return None;
        }
        chart.read(scores, y);
        Some(chart.best[0] as f32)
    }
}

/// The best continuation from every position, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    best: Vec<f64>,      // (T + 1)
    choice: Vec<Choice>, // (T) what `best` begins with
    free: Vec<Going>,    // (T + 1, R)
}

/// A symbol at one position, and where its span ends.
#[derive(Clone, Copy, Debug)]
struct Choice {
    symbol: Symbol,
    end: usize,
}

/// The best continuation inside a span that may end anywhere, and the end it chooses.
#[derive(Clone, Copy, Debug)]
struct Going {
    sum: f64,
    end: usize,
}

impl Chart {
    /// The score of the best continuation from position `t`.
    pub(super) fn after(&self, t: usize) -> f64 {
        self.best[t]
    }

    fn clear(&mut self, scores: &TagScores) {
        let (tags, n) = (scores.tags(), scores.n_positions());
        self.best.clear();
        self.best.resize(n + 1, 0.0);
        self.choice.clear();
        self.choice.resize(n, Choice { symbol: tags.outside(), end: 0 });
        self.free.clear();
        self.free.resize((n + 1) * tags.n_roles(), Going { sum: 0.0, end: n });
    }

    /// Fills position `t` from later ones; `spans` gives the spans a role may have there, or `None`
    /// if it may have any.
    fn fill<'b>(
        &mut self,
        scores: &TagScores,
        t: usize,
        spans: impl Fn(Role) -> Option<&'b [(usize, usize)]>,
    ) {
        let (tags, n) = (scores.tags(), scores.n_positions());
        let outside = (scores.log_prob(t, tags.outside()) + self.best[t + 1], tags.outside());
        let (mut best, mut end) = (outside, t + 1);
        for role in tags.roles() {
            let begin = tags.begin(role);
            let rest = match spans(role) {
                None => self.free[(t + 1) * tags.n_roles() + role.index()],
                Some(spans) => {
                    let ends = spans.iter().map(|&(_, end)| end).filter(|&end| end <= n);
                    self.best_end(scores, role, t + 1, ends)
                }
            };
            let new = better(best, (scores.log_prob(t, begin) + rest.sum, begin));
            if new.1 != best.1 {
                (best, end) = (new, rest.end);
            }
        }
        self.best[t] = best.0;
        self.choice[t] = Choice { symbol: best.1, end };
        for role in tags.roles() {
            self.free[t * tags.n_roles() + role.index()] = self.go_on(scores, role, t);
        }
    }

    /// The best of the ascending `ends` for a span of `role` that has reached `t`.
    fn best_end(
        &self,
        scores: &TagScores,
        role: Role,
        t: usize,
        ends: impl Iterator<Item = usize>,
    ) -> Going {
        let inside = scores.tags().inside(role);
        let (mut inner, mut reached) = (0.0, t);
        let mut best = Going { sum: f64::NEG_INFINITY, end: t };
        for end in ends {
            for u in reached..end {
                inner += inside.map_or(f64::NEG_INFINITY, |inside| scores.log_prob(u, inside));
            }
            reached = end;
            let new = Going { sum: inner + self.best[end], end };
            if self.prefers(scores, role, new, best) {
                best = new;
            }
        }
        best
    }

    /// `free_t(X)`.
    fn go_on(&self, scores: &TagScores, role: Role, t: usize) -> Going {
        let tags = scores.tags();
        let ends = Going { sum: self.best[t], end: t };
        let Some(inside) = tags.inside(role) else { return ends };
        let later = self.free[(t + 1) * tags.n_roles() + role.index()];
        let goes_on = Going { sum: scores.log_prob(t, inside) + later.sum, end: later.end };
        if self.prefers(scores, role, goes_on, ends) { goes_on } else { ends }
    }

    /// Whether a span of `role` should end with `long` rather than earlier, with `short`. Ties go
    /// to the smaller symbol where `short` ends.
    fn prefers(&self, scores: &TagScores, role: Role, long: Going, short: Going) -> bool {
        short.sum < long.sum
            || short.sum == long.sum
                && short.end < self.choice.len()
                && scores.tags().inside(role) < Some(self.choice[short.end].symbol)
    }

    fn read(&self, scores: &TagScores, y: &mut Vec<Symbol>) {
        let tags = scores.tags();
        let mut t = 0;
        while t < self.choice.len() {
            let Choice { symbol, end } = self.choice[t];
            y.push(symbol);
            let inside = tags.tag(symbol).and_then(|tag| tags.inside(tag.role()?));
            y.resize(end, inside.unwrap_or(symbol));
            t = end;
        }
    }
}
