//! A feasible set that can be followed symbol by symbol.
//!
//! A closure can say whether a finished output is feasible; it cannot say which symbols may come
//! next. An automaton can, and automata compose: the outputs that satisfy two constraints are the
//! product of two automata. That makes it the common tongue of constraints and masked decoders.
//!
//! A [`Dfa`] lists its states. A language that only counts can compute them instead, and then
//! nothing is built before the first symbol, however many states there are.

use super::Dfa;
use crate::model::Symbol;

/// A state of one automaton; it means nothing to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(u64);

impl State {
    /// The state that its automaton knows by `bits`: a number, or several counts packed.
    pub fn new(bits: u64) -> State {
        State(bits)
    }

    /// What it was made of.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The state's number, below [`Dfa::n_states`] for one of a [`Dfa`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A language over the symbols `0..n_symbols`, as `(q₀, δ, F)`.
pub trait Automaton {
    /// `|Σ|`; every symbol is below it.
    fn n_symbols(&self) -> usize;

    /// `q₀`, where every string begins.
    fn start(&self) -> State;

    /// `δ(q, s)`: where `symbol` leads from `state`, unless it is forbidden there.
    fn next(&self, state: State, symbol: Symbol) -> Option<State>;

    /// `q ∈ F`: whether a string may end in `state`.
    fn accepts(&self, state: State) -> bool;

    /// The fewest symbols that lead from `state` to acceptance, if any do.
    ///
    /// With it, a decoder that may not exceed a length knows when it must begin to finish.
    fn distance_to_accept(&self, state: State) -> Option<usize>;

    /// Whether the string `y` is in the language.
    fn contains(&self, y: &[Symbol]) -> bool {
        let end = y.iter().try_fold(self.start(), |state, &symbol| self.next(state, symbol));
        end.is_some_and(|state| self.accepts(state))
    }

    /// Whether no string at all is in the language.
    fn is_empty(&self) -> bool {
        self.distance_to_accept(self.start()).is_none()
    }

    /// Whether finitely many states are within reach of the start, so that they can be listed.
    ///
    /// What nests has no such list: its states are made as they are asked for.
    fn is_finite(&self) -> bool {
        true
    }

    /// The strings in both languages, over the smaller of both alphabets; listed and trimmed.
    ///
    /// Both must be [finite](Automaton::is_finite), or the list may have no end.
    fn intersect(&self, other: &dyn Automaton) -> Dfa {
        self.intersect_within(usize::MAX, other).expect("there is no limit to go beyond")
    }

    /// The same, unless there are more than `max_states` to list.
    fn intersect_within(&self, max_states: usize, other: &dyn Automaton) -> Option<Dfa> {
        let both = |&(p, q): &(State, State), s| Some((self.next(p, s)?, other.next(q, s)?));
        let n_symbols = self.n_symbols().min(other.n_symbols());
        let start = (self.start(), other.start());
        let accepts = |&(p, q): &(State, State)| self.accepts(p) && other.accepts(q);
        Some(Dfa::explore_within(max_states, n_symbols, start, both, accepts)?.trim())
    }
}

impl<A: Automaton + ?Sized> Automaton for &A {
    fn n_symbols(&self) -> usize {
        (**self).n_symbols()
    }

    fn start(&self) -> State {
        (**self).start()
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        (**self).next(state, symbol)
    }

    fn accepts(&self, state: State) -> bool {
        (**self).accepts(state)
    }

    fn distance_to_accept(&self, state: State) -> Option<usize> {
        (**self).distance_to_accept(state)
    }

    fn is_finite(&self) -> bool {
        (**self).is_finite()
    }
}
