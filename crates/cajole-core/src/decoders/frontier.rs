//! The state of best-first search: extended prefixes, and those that may come next.
//!
//! Both are bounded by the expansion limit. A prefix ranked below the number of expansions left
//! will never be extended, so it is dropped. (One more is kept, so that a search at its limit knows
//! that something was left.)

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::beam::each_allowed;
use crate::constraints::{Automaton, State};
use crate::model::Symbol;

/// A search in progress.
///
/// A prefix is what the network has read. Prefixes are numbered in the order in which they are
/// extended: number 0 is empty, number 1 is the start symbol (the end symbol) before every output.
pub(super) struct Frontier<'a> {
    end: Symbol,
    cap: usize,
    mask: Option<&'a dyn Automaton>,
    prefixes: Vec<Prefix>,
    unfinished: BinaryHeap<Extension>,
    complete: BinaryHeap<Extension>,
    /// The best complete output known to satisfy the constraint.
    best: Option<Extension>,
    longest: usize,
}

/// A prefix that has been extended.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    /// The prefix without its last symbol.
    pub(super) parent: usize,
    /// Its last symbol.
    pub(super) symbol: Symbol,
    score: f32,
    /// Number of output symbols.
    length: usize,
    state: Option<State>,
}

/// A prefix plus one symbol; a complete output if that is the end.
#[derive(Clone, Copy)]
struct Extension {
    score: f32,
    parent: usize,
    symbol: Symbol,
}

impl<'a> Frontier<'a> {
    /// Searches outputs of at most `cap` symbols, including the end symbol; under `mask`, only
    /// those of its language.
    pub(super) fn new(end: Symbol, cap: usize, mask: Option<&'a dyn Automaton>) -> Self {
        let nothing = Prefix { parent: 0, symbol: end, score: 0.0, length: 0, state: None };
        let start = Extension { score: 0.0, parent: 0, symbol: end };
        Frontier {
            end,
            cap,
            mask,
            prefixes: vec![nothing],
            unfinished: (0 < cap).then_some(start).into_iter().collect(),
            complete: BinaryHeap::new(),
            best: None,
            longest: 0,
        }
    }

    /// Takes up to `n` of the best prefixes, to be extended. Complete outputs that rank before them
    /// are checked.
    ///
    /// Returns none if the search is over or late, or if `n` is 0 and a prefix ranks next.
    pub(super) fn take(
        &mut self,
        n: usize,
        is_late: &dyn Fn() -> bool,
        satisfies: impl Fn(&[Symbol]) -> bool,
    ) -> Range<usize> {
        let first = self.prefixes.len();
        while !is_late() {
            if let Some(y) = self.next_complete() {
                if satisfies(&self.read(y)) {
                    // Nothing left scores higher, except possibly extensions of this batch.
                    self.best = Some(y);
                    self.unfinished.clear();
                    self.complete.clear();
                }
            } else if self.prefixes.len() - first < n {
                let Some(extension) = self.unfinished.pop() else { break };
                let prefix = self.follow(extension);
                self.longest = self.longest.max(prefix.length);
                self.prefixes.push(prefix);
            } else {
                break;
            }
        }
        first..self.prefixes.len()
    }

    /// The prefixes with these numbers.
    pub(super) fn prefixes(&self, which: Range<usize>) -> &[Prefix] {
        &self.prefixes[which]
    }

    /// Adds the extensions of `prefix`, given the log-probabilities `(V)` of the next symbol.
    pub(super) fn extend(&mut self, prefix: usize, log_probs: &[f32]) {
        let Prefix { score, length, state, .. } = self.prefixes[prefix];
        let left = self.cap - length - 1;
        let least = self.best.map_or(f32::NEG_INFINITY, |best| best.score);
        let (end, n_symbols) = (self.end, log_probs.len());
        each_allowed(state, n_symbols, end, self.mask, left, &mut |symbol| {
            let log_prob = log_probs[symbol as usize];
            // Rounding must not let an extension score higher than its prefix.
            let score = score + log_prob.min(0.0);
            let is_complete = symbol == end;
            if log_prob.is_finite() && least < score && (is_complete || 0 < left) {
                let list = if is_complete { &mut self.complete } else { &mut self.unfinished };
                list.push(Extension { score, parent: prefix, symbol });
            }
        });
    }

    /// Drops prefixes that cannot be reached within `left` more expansions.
    pub(super) fn forget(&mut self, left: usize) {
        let kept = left.saturating_add(1);
        if self.unfinished.len() / 2 <= kept {
            return; // amortised: no more work than the insertions
        }
        let mut all = std::mem::take(&mut self.unfinished).into_vec();
        all.select_nth_unstable_by(kept, |a, b| b.cmp(a));
        all.truncate(kept);
        self.unfinished = all.into();
    }

    /// The best satisfying output with its log-probability, if the search has finished.
    pub(super) fn best(&self) -> Option<(Vec<Symbol>, f32)> {
        let is_over = self.unfinished.is_empty() && self.complete.is_empty();
        self.best.filter(|_| is_over).map(|y| (self.read(y), y.score))
    }

    /// Number of extended prefixes.
    pub(super) fn n_expanded(&self) -> usize {
        self.prefixes.len() - 1
    }

    /// The length of the longest extended prefix.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Takes the best complete output, unless an unfinished prefix scores higher.
    fn next_complete(&mut self) -> Option<Extension> {
        let score = self.complete.peek()?.score;
        let is_next = self.unfinished.peek().is_none_or(|prefix| prefix.score <= score);
        if is_next { self.complete.pop() } else { None }
    }

    fn follow(&self, Extension { score, parent, symbol }: Extension) -> Prefix {
        let before = self.prefixes[parent];
        let (length, state) = match parent {
            0 => (0, self.mask.map(Automaton::start)),
            _ => {
                let state = before.state.and_then(|state| self.mask?.next(state, symbol));
                (before.length + 1, state)
            }
        };
        Prefix { parent, symbol, score, length, state }
    }

    /// The symbols of a complete output, without its end.
    fn read(&self, y: Extension) -> Vec<Symbol> {
        let (mut symbols, mut at) = (Vec::new(), y.parent);
        while 1 < at {
            symbols.push(self.prefixes[at].symbol);
            at = self.prefixes[at].parent;
        }
        symbols.reverse();
        symbols
    }
}

/// By score; ties go to the earlier extended prefix, then to the smaller symbol.
impl Ord for Extension {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| (other.parent, other.symbol).cmp(&(self.parent, self.symbol)))
    }
}

impl PartialOrd for Extension {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Extension {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Extension {}
