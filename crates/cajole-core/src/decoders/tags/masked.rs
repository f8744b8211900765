//! Masked decoding of tags: the most probable sequence in the constraint's language, exactly.
//!
//! What may follow a prefix depends on the automaton's state after it and on the role of its last
//! tag, which only an `I-` of that role may continue. So of all prefixes that agree in both, only
//! the best is kept: a Viterbi recursion from the start, over the reachable pairs.
//!
//! The pairs of a position are kept in lexicographic order of their best prefixes. Ties then go to
//! the lexicographically smallest sequence, as in [`Viterbi`](super::Viterbi).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::Symbol;
use crate::constraints::{Automaton, Role, State, Tag};
use crate::wanted::Wanted;

use super::{ConstrainedTagSearch, SoughtTags, TagBuffers, TagScores};

/// Finds the best valid sequence of tags that a constraint's automaton accepts.
#[derive(Clone, Copy, Debug)]
pub struct MaskedTags {
    /// Maximum number of (state, role) pairs, over all positions.
    pub max_states: usize,
}

impl Default for MaskedTags {
    fn default() -> Self {
        MaskedTags { max_states: 1 << 18 }
    }
}

impl MaskedTags {
    /// Writes the best sequence into `y` and returns its log-probability.
    ///
    /// `None` if the constraint has no automaton, if no member of the input's length is possible,
    /// or if there are too many states.
    pub fn tag(
        &self,
        scores: &TagScores,
        wanted: &Wanted<'_>,
        trellis: &mut Trellis,
        y: &mut Vec<Symbol>,
    ) -> Option<f32> {
        y.clear();
        let mask = &*wanted.automaton()?;
        trellis.start(mask);
        for t in 0..scores.n_positions() {
            if wanted.is_late() {
                return None;
            }
            trellis.extend(mask, scores, t, self.max_states)?;
        }
        trellis.read(mask, y)
    }
}

impl<X: ?Sized> ConstrainedTagSearch<X> for MaskedTags {
    fn search(&self, sought: &SoughtTags<'_, '_, X>, buffers: &mut TagBuffers) -> Option<f32> {
        self.tag(&sought.scores, sought.wanted, &mut buffers.trellis, &mut buffers.y)
    }
}

/// The best prefixes of every length, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Trellis {
    nodes: Vec<Node>,
    /// The nodes of the last position.
    last: Range<usize>,
    /// Index of each pair at the current position.
    places: HashMap<(State, Option<Role>), usize>,
}

/// The best prefix that leads to a state and role.
#[derive(Clone, Copy, Debug)]
struct Node {
    state: State,
    sum: f64,
    /// The prefix without its last symbol.
    parent: usize,
    /// The last symbol; `None` at the start.
    symbol: Option<Symbol>,
}

impl Trellis {
    fn start(&mut self, mask: &dyn Automaton) {
        self.nodes.clear();
        self.nodes.push(Node { state: mask.start(), sum: 0.0, parent: 0, symbol: None });
        self.last = 0..1;
    }

    /// Extends the prefixes to position `t`; `None` if there are too many.
    fn extend(
        &mut self,
        mask: &dyn Automaton,
        scores: &TagScores,
        t: usize,
        max_states: usize,
    ) -> Option<()> {
        let (tags, left) = (scores.tags(), scores.n_positions() - t - 1);
        let n_symbols = tags.n_tags().min(mask.n_symbols());
        let first = self.nodes.len();
        self.places.clear();
        for parent in self.last.clone() {
            let before = self.nodes[parent];
            for symbol in 0..n_symbols as Symbol {
                let sum = before.sum + scores.log_prob(t, symbol);
                if sum == f64::NEG_INFINITY || !tags.may_follow(before.symbol, symbol) {
                    continue;
                }
                let Some(state) = mask.next(before.state, symbol) else { continue };
                let role = tags.tag(symbol).and_then(Tag::role);
                let can_end = || mask.distance_to_accept(state).is_some_and(|far| far <= left);
                let node = Node { state, sum, parent, symbol: Some(symbol) };
                if !self.add(node, role, can_end, max_states) {
                    return None;
                }
            }
        }
        self.nodes[first..].sort_unstable_by_key(|node| (node.parent, node.symbol));
        self.last = first..self.nodes.len();
        Some(())
    }

    /// Keeps `node` if it is the best of its state and role so far; false if there is no room.
    fn add(
        &mut self,
        node: Node,
        role: Option<Role>,
        can_end: impl Fn() -> bool,
        max_states: usize,
    ) -> bool {
        match self.places.entry((node.state, role)) {
            Entry::Occupied(place) => {
                let old = &mut self.nodes[*place.get()];
                if old.sum < node.sum {
                    *old = node;
                }
            }
            Entry::Vacant(place) if can_end() => {
                if max_states <= self.nodes.len() {
                    return false;
                }
                place.insert(self.nodes.len());
                self.nodes.push(node);
            }
            Entry::Vacant(_) => {}
        }
        true
    }

    /// Writes the best accepted sequence into `y` and returns its sum.
    fn read(&self, mask: &dyn Automaton, y: &mut Vec<Symbol>) -> Option<f32> {
        let ends = self.nodes[self.last.clone()].iter().filter(|node| mask.accepts(node.state));
        let best = ends.reduce(|best, node| if best.sum < node.sum { node } else { best })?;
        let mut at = best;
        while let Some(symbol) = at.symbol {
            y.push(symbol);
            at = &self.nodes[at.parent];
        }
        y.reverse();
        Some(best.sum as f32)
    }
}
