//! An automaton with explicit states and transitions.
//!
//! A [`Dfa`] is `(Q, q₀, δ, F)` over the symbols `0..n_symbols`. Its `δ: Q × Σ ⇀ Q` is partial: a
//! missing transition rejects. It also stores, for every state, the fewest symbols to acceptance,
//!
//! ```text
//! d(q) = 0                             if q ∈ F
//! d(q) = 1 + min over s of d(δ(q, s))  otherwise
//! ```
//!
//! so that a decoder with a length limit knows when it must start to finish.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::{Automaton, State};
use crate::model::Symbol;

/// A deterministic, partial automaton over the symbols `0..n_symbols`.
///
/// ```
/// use cajole_core::constraints::{Automaton, Dfa};
///
/// let two_ones = Dfa::exactly_n(3, 1, 2).intersect(&Dfa::length(3, 4));
/// assert!(two_ones.contains(&[1, 0, 2, 1]));
/// assert_eq!(two_ones.distance_to_accept(two_ones.start()), Some(4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dfa {
    n_symbols: usize,
    /// State `q` owns `arcs[first_arc[q]..first_arc[q + 1]]`, sorted by symbol.
    first_arc: Vec<usize>,
    arcs: Vec<(Symbol, State)>,
    distance_to_accept: Vec<Option<usize>>,
}

impl Dfa {
    /// Enumerates the automaton given by `start`, the transition function `next` and `accepts`.
    ///
    /// States may be any hashable type. Reachable states are numbered in breadth-first order; there
    /// must be finitely many.
    pub fn explore<S: Clone + Eq + Hash>(
        n_symbols: usize,
        start: S,
        next: impl Fn(&S, Symbol) -> Option<S>,
        accepts: impl Fn(&S) -> bool,
    ) -> Dfa {
        Dfa::explore_within(usize::MAX, n_symbols, start, next, accepts)
            .expect("usize::MAX states are never exceeded")
    }

    /// Like [`explore`](Dfa::explore), but `None` if more than `max_states` are reachable: for
    /// rules whose number of states is unknown or infinite.
    pub fn explore_within<S: Clone + Eq + Hash>(
        max_states: usize,
        n_symbols: usize,
        start: S,
        next: impl Fn(&S, Symbol) -> Option<S>,
        accepts: impl Fn(&S) -> bool,
    ) -> Option<Dfa> {
        let mut numbers = HashMap::from([(start.clone(), State::new(0))]);
        let mut found = vec![start];
        let (mut first_arc, mut arcs) = (vec![0], Vec::new());
        let mut q = 0;
        while q < found.len() {
            for symbol in 0..n_symbols as Symbol {
                let Some(to) = next(&found[q], symbol) else { continue };
                let number = *numbers.entry(to).or_insert_with_key(|to| {
                    found.push(to.clone());
                    State::new(found.len() as u64 - 1)
                });
                if max_states < found.len() {
                    return None;
                }
                arcs.push((symbol, number));
            }
            first_arc.push(arcs.len());
            q += 1;
        }
        let accepting = found.iter().map(accepts).collect();
        let distance_to_accept = distances(accepting, &first_arc, &arcs);
        Some(Dfa { n_symbols, first_arc, arcs, distance_to_accept })
    }

    /// The strings with exactly `n` occurrences of `symbol`.
    pub fn exactly_n(n_symbols: usize, symbol: Symbol, n: usize) -> Dfa {
        let count = |&k: &usize, s| if s == symbol { (k < n).then_some(k + 1) } else { Some(k) };
        Dfa::explore(n_symbols, 0, count, |&k| k == n).trim()
    }

    /// The strings of exactly `n` symbols.
    pub fn length(n_symbols: usize, n: usize) -> Dfa {
        Dfa::explore(n_symbols, 0, |&k, _| (k < n).then_some(k + 1), |&k| k == n).trim()
    }

    /// `Q`, in order.
    pub fn states(&self) -> impl Iterator<Item = State> {
        (0..self.n_states() as u64).map(State::new)
    }

    /// The symbols allowed in `state`, in order, with the states they lead to.
    pub fn symbols(&self, state: State) -> impl Iterator<Item = (Symbol, State)> {
        self.arcs(state).iter().copied()
    }

    /// `|Q|`.
    pub fn n_states(&self) -> usize {
        self.distance_to_accept.len()
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.first_arc)
            + size_of_val(&*self.arcs)
            + size_of_val(&*self.distance_to_accept)
    }

    /// The same language without dead ends: whatever [`next`](Automaton::next) allows can be
    /// completed.
    ///
    /// If the language is empty, only the start state remains, without transitions.
    pub fn trim(&self) -> Dfa {
        let completable = |&to: &State| self.distance_to_accept(to).is_some();
        let next = |&q: &State, s| self.next(q, s).filter(completable);
        Dfa::explore(self.n_symbols, self.start(), next, |&q| self.accepts(q))
    }

    fn arcs(&self, state: State) -> &[(Symbol, State)] {
        &self.arcs[self.first_arc[state.index()]..self.first_arc[state.index() + 1]]
    }
}

impl Automaton for Dfa {
    fn n_symbols(&self) -> usize {
        self.n_symbols
    }

    fn start(&self) -> State {
        State::new(0)
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        let arcs = self.arcs(state);
        let at = arcs.binary_search_by_key(&symbol, |&(s, _)| s).ok()?;
        Some(arcs[at].1)
    }

    fn each_next(&self, state: State, found: &mut dyn FnMut(Symbol, State)) {
        self.arcs(state).iter().for_each(|&(symbol, to)| found(symbol, to));
    }

    fn accepts(&self, state: State) -> bool {
        self.distance_to_accept(state) == Some(0)
    }

    fn distance_to_accept(&self, state: State) -> Option<usize> {
        self.distance_to_accept[state.index()]
    }
}

/// `d(q)` of every state, by breadth-first search backwards from the accepting states.
fn distances(
    accepting: Vec<bool>,
    first_arc: &[usize],
    arcs: &[(Symbol, State)],
) -> Vec<Option<usize>> {
    let mut sources = vec![Vec::new(); accepting.len()];
    for q in 0..accepting.len() {
        for (_, to) in &arcs[first_arc[q]..first_arc[q + 1]] {
            // Thousands of symbols may connect the same two states: one is enough.
            if sources[to.index()].last() != Some(&q) {
                sources[to.index()].push(q);
            }
        }
    }
    distances_along(&sources, |q| accepting[q])
}

/// `d(q)` of every state, given the states that lead to each.
pub(super) fn distances_along(
    sources: &[Vec<usize>],
    accepts: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let mut distance = vec![None; sources.len()];
    let mut queue = VecDeque::new();
    for q in 0..sources.len() {
        if accepts(q) {
            distance[q] = Some(0);
            queue.push_back(q);
        }
    }
    while let Some(to) = queue.pop_front() {
        for &q in &sources[to] {
            if distance[q].is_none() {
                distance[q] = distance[to].map(|d| d + 1);
                queue.push_back(q);
            }
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraints::oracle::{strings, table};

    /// `d(q)` by trying ever longer strings from `q`.
    fn shortest_completion(dfa: &Dfa, state: State) -> Option<usize> {
        strings(dfa.n_symbols(), dfa.n_states()).find_map(|y| {
            let end = y.iter().try_fold(state, |q, &s| dfa.next(q, s))?;
            dfa.accepts(end).then_some(y.len())
        })
    }

    fn check_trimmed(dfa: &Dfa) {
        let dead = dfa.states().filter(|&q| dfa.distance_to_accept(q).is_none()).count();
        assert_eq!(dead, usize::from(dfa.is_empty()), "{dfa:?}");
        assert!(!dfa.is_empty() || dfa.n_states() == 1, "{dfa:?}");
    }

    #[test]
    fn exactly_n_counts() {
        for n in 0..4 {
            let dfa = Dfa::exactly_n(3, 1, n);
            for y in strings(3, 6) {
                let count = y.iter().filter(|&&s| s == 1).count();
                assert_eq!(dfa.contains(&y), count == n, "{y:?} has {count} of {n}");
            }
        }
    }

    #[test]
    fn length_accepts_strings_of_that_length() {
        for n in 0..4 {
            let dfa = Dfa::length(2, n);
            assert!(strings(2, 6).all(|y| dfa.contains(&y) == (y.len() == n)), "length {n}");
        }
    }

    #[test]
    fn exploring_stops_at_the_limit() {
        let count = |max_states, last: u64| {
            let next = |&k: &u64, _| (k < last).then_some(k + 1);
            Dfa::explore_within(max_states, 2, 0, next, |&k| k == last)
        };
        assert_eq!(count(8, 7), Some(Dfa::length(2, 7)));
        assert_eq!(count(7, 7), None);
        assert_eq!(count(1000, u64::MAX), None);
    }

    #[test]
    fn symbols_outside_the_alphabet_are_forbidden() {
        let dfa = Dfa::length(2, 1);
        assert!(dfa.contains(&[1]) && !dfa.contains(&[2]));
        assert!(Dfa::exactly_n(2, 7, 1).is_empty());
        assert!(Dfa::length(0, 1).is_empty() && !Dfa::length(0, 0).is_empty());
    }

    #[test]
    fn the_alphabet_of_an_intersection_is_the_smaller_one() {
        let both = Dfa::length(3, 2).intersect(&Dfa::exactly_n(2, 1, 1));
        assert_eq!(both.n_symbols(), 2);
        assert!(strings(3, 3).filter(|y| both.contains(y)).eq([vec![0, 1], vec![1, 0]]));
    }

    #[test]
    fn an_empty_intersection_keeps_its_start_only() {
        let none = Dfa::length(2, 1).intersect(&Dfa::length(2, 2));
        assert!(none.is_empty() && none.n_states() == 1);
        assert_eq!(none.symbols(none.start()).count(), 0);
    }

    proptest! {
        #[test]
        fn symbols_lists_next(dfa in table(2, 5)) {
            for q in dfa.states() {
                let asked = (0..2).filter_map(|s| Some((s, dfa.next(q, s)?)));
                prop_assert!(dfa.symbols(q).eq(asked));
            }
        }

        #[test]
        fn distances_are_shortest(dfa in table(2, 5)) {
            for q in dfa.states() {
                prop_assert_eq!(dfa.distance_to_accept(q), shortest_completion(&dfa, q));
            }
        }

        #[test]
        fn trimming_keeps_the_language(dfa in table(2, 5)) {
            let trimmed = dfa.trim();
            check_trimmed(&trimmed);
            prop_assert!(strings(2, 8).all(|y| trimmed.contains(&y) == dfa.contains(&y)));
        }

        #[test]
        fn intersections_are_conjunctions(a in table(2, 5), b in table(2, 5)) {
            let both = a.intersect(&b);
            check_trimmed(&both);
            for y in strings(2, 8) {
                prop_assert_eq!(both.contains(&y), a.contains(&y) && b.contains(&y), "{:?}", y);
            }
        }
    }
}
