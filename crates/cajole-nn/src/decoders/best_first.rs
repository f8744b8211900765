//! Best-first search: the most probable output that satisfies the constraint, exactly.
//!
//! A prefix never scores less than what it is extended to. So if the best prefix is extended each
//! time, complete outputs come up in the order of their probability, and the first that satisfies
//! the constraint is the constrained maximum; the constraint may be a black box. Where it is an
//! automaton, prefixes that cannot lead to a member within the cap are not even considered.
//!
//! A network runs many rows at little more than the price of one, so several of the best prefixes
//! are extended at a time. An output that satisfies the constraint then waits until nothing that
//! scores higher is left.
//!
//! Prefixes are taken up again long after the step that led to them, and most lead nowhere. So the
//! search records nothing: the decoder's state after each prefix is kept aside, the recording goes
//! back to the encoder's after each step, and what is found runs through the network once more.

use std::time::Duration;

use cajole_core::constraint::Constraint;
use cajole_core::decoder::{Decoder, Found};

use super::clock::Clock;
use super::frontier::Frontier;
use crate::autoregressive::{AutoRegressive, Scratch, Vars};
use crate::network::{Network, Trained};
use crate::tape::{Graph, Tape};

/// Extends the best prefixes first until a complete output that satisfies the constraint is the
/// best of all that is left. Of equals any may be found, but the same each time.
///
/// It finds nothing if it reaches one of its limits, or if there is nothing to find: an output that
/// is cut off at the cap, or impossible, never satisfies.
///
/// Its [passes](Found::passes) are the steps it took for single prefixes over those that the output
/// takes, or the longest prefix where none is found; rounded up, and one for the recording.
pub struct BestFirst<'a, C: ?Sized> {
    /// What an output has to satisfy.
    pub constraint: &'a C,
    /// How many prefixes are extended at most. The decoder's state after each of them is kept,
    /// and about twice as many of the best that are not.
    pub max_expansions: usize,
    /// How many are extended at a time.
    pub batch: usize,
    /// How long the search may take; looked at before each step and each check.
    pub deadline: Option<Duration>,
}

impl<N: AutoRegressive, C: Constraint<N::Input> + ?Sized> Decoder<Trained<N>> for BestFirst<'_, C> {
    fn decode(
        &self,
        model: &Trained<N>,
        w: &[f32],
        x: &N::Input,
        scratch: &mut Scratch,
        found: &mut Found,
    ) {
        let net = &model.net;
        let mask = self.constraint.automaton(x);
        let mut frontier = Frontier::new(net.end(), net.cap(x), mask.as_deref());
        scratch.begin(net, w, &[x]);
        self.search(net, w, x, scratch, &mut frontier);
        found.clear();
        let y = frontier.best();
        let steps = y.as_ref().map_or(frontier.longest(), Vec::len) + 1;
        found.passes = frontier.n_expanded().div_ceil(steps);
        if let Some(y) = y {
            net.force(w, x, &y, scratch, found.add());
            found.passes += 1;
        }
    }
}

impl<C: ?Sized> BestFirst<'_, C> {
    /// Extends prefixes until there is nothing left to extend or a limit is reached.
    fn search<N: AutoRegressive>(
        &self,
        net: &N,
        w: &[f32],
        x: &N::Input,
        scratch: &mut Scratch,
        frontier: &mut Frontier<'_>,
    ) where
        C: Constraint<N::Input>,
    {
        let clock = Clock::start(self.deadline);
        let Scratch { tape, encoded, .. } = scratch;
        let mut g = Graph::new(w, tape);
        let start = g.tape.position();
        let mut states = States::default();
        states.keep(g.tape, &encoded.state, 0);
        let (mut inputs, mut previous) = (Vec::new(), Vec::new());
        loop {
            let left = self.max_expansions.saturating_sub(frontier.n_expanded());
            let batch = frontier.take(self.batch.max(1).min(left), &clock, |y| {
                self.constraint.check(x, y).is_satisfied()
            });
            if batch.is_empty() {
                return;
            }
            let prefixes = frontier.prefixes(batch.clone());
            previous.clear();
            previous.extend(prefixes.iter().map(|prefix| prefix.symbol));
            inputs.resize(batch.len(), 0);
            let parents: Vec<usize> = prefixes.iter().map(|prefix| prefix.parent).collect();
            let state = states.gather(&mut g, &encoded.state, &parents);
            let (next, log_probs) = net.step(&mut g, encoded, &state, &inputs, &previous); // (R, V)
            for (i, prefix) in batch.enumerate() {
                states.keep(g.tape, &next, i);
                frontier.extend(prefix, g.tape.value(log_probs.row(i)));
            }
            g.tape.rewind(start);
            frontier.forget(self.max_expansions.saturating_sub(frontier.n_expanded()));
        }
    }
}

/// The decoder's state after each prefix, by the prefix's number.
#[derive(Default)]
struct States {
    values: Vec<f32>, // (P, S)
    n: usize,
}

impl States {
    /// Adds row `i` of `state`.
    fn keep(&mut self, tape: &Tape, state: &Vars, i: usize) {
        for var in state.iter() {
            self.values.extend_from_slice(tape.value(var.row(i)));
        }
        self.n += 1;
    }

    /// Those of `which`, as rows of matrices shaped `like` those that were kept.
    fn gather(&self, g: &mut Graph<'_>, like: &Vars, which: &[usize]) -> Vars {
        let size = self.values.len() / self.n.max(1);
        let (mut vars, mut offset) = (Vars::default(), 0);
        for cols in like.iter().map(|var| var.cols as usize) {
            let var = g.zeros(which.len(), cols); // (R, cols)
            let row = |&i: &usize| self.values[i * size + offset..][..cols].iter().copied();
            g.fill(var, which.iter().flat_map(row));
            vars.push(var);
            offset += cols;
        }
        vars
    }
}
