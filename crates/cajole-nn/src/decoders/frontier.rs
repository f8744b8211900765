//! What best-first search knows: the prefixes it has extended, and what it might look at next.
//!
//! Both are bounded by the number of prefixes that may be extended. A prefix with more better ones
//! before it than may still be extended will not get its turn, so it is forgotten. (One more than
//! that is remembered, so that a search that has reached its limit knows that something was left.)

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use cajole_core::constraints::{Automaton, State};
use cajole_core::model::Symbol;

use super::beam::is_allowed;
use super::clock::Clock;

/// A search under way.
///
/// Prefixes are numbered in the order in which they are extended, and are what the network has read
/// so far: number 0 is nothing at all, number 1 the end symbol that stands before every output.
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
    /// How many symbols of the output it has.
    length: usize,
    state: Option<State>,
}

/// A prefix and one more symbol; a complete output if that is the end.
#[derive(Clone, Copy)]
struct Extension {
    score: f32,
    parent: usize,
    symbol: Symbol,
}

impl<'a> Frontier<'a> {
    /// Outputs of at most `cap` symbols, the end symbol included; under `mask`, only those of its
    /// language.
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

    /// Takes the best prefixes, at most `n`, to be extended. Complete outputs that come up before
    /// them are checked.
    ///
    /// There are none if the search is over or late, or if `n` is 0 and a prefix comes up.
    pub(super) fn take(
        &mut self,
        n: usize,
        clock: &Clock,
        satisfies: impl Fn(&[Symbol]) -> bool,
    ) -> Range<usize> {
        let first = self.prefixes.len();
        while !clock.is_late() {
            if let Some(y) = self.next_complete() {
                if satisfies(&self.read(y)) {
                    // Nothing that is left scores higher; only what is being extended may lead there.
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

    /// The prefixes of these numbers.
    pub(super) fn prefixes(&self, which: Range<usize>) -> &[Prefix] {
        &self.prefixes[which]
    }

    /// Adds what `prefix` can be extended to, by the log-probabilities `(V)` of the next symbol.
    pub(super) fn extend(&mut self, prefix: usize, log_probs: &[f32]) {
        let Prefix { score, length, state, .. } = self.prefixes[prefix];
        let left = self.cap - length - 1;
        let least = self.best.map_or(f32::NEG_INFINITY, |best| best.score);
        for (symbol, &log_prob) in (0..).zip(log_probs) {
            // Rounding must not make a prefix worse than what it leads to.
            let score = score + log_prob.min(0.0);
            let is_complete = symbol == self.end;
            if log_prob.is_finite()
                && least < score
                && (is_complete || 0 < left)
                && is_allowed(state, symbol, self.end, self.mask, left)
            {
                let list = if is_complete { &mut self.complete } else { &mut self.unfinished };
                list.push(Extension { score, parent: prefix, symbol });
            }
        }
    }

    /// Forgets prefixes that do not come up before `left` more have been extended.
    pub(super) fn forget(&mut self, left: usize) {
        let kept = left.saturating_add(1);
        if self.unfinished.len() / 2 <= kept {
            return; // so that forgetting takes no longer than adding did
        }
        let mut all = std::mem::take(&mut self.unfinished).into_vec();
        all.select_nth_unstable_by(kept, |a, b| b.cmp(a));
        all.truncate(kept);
        self.unfinished = all.into();
    }

    /// The best output that satisfies the constraint, if the search has come to its end.
    pub(super) fn best(&self) -> Option<Vec<Symbol>> {
        let is_over = self.unfinished.is_empty() && self.complete.is_empty();
        self.best.filter(|_| is_over).map(|y| self.read(y))
    }

    /// How many prefixes have been extended.
    pub(super) fn n_expanded(&self) -> usize {
        self.prefixes.len() - 1
    }

    /// The length of the longest of them.
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

/// By score; of equals the one is larger whose prefix was extended earlier, then that of the smaller
/// symbol.
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
