//! A feasible set that can be followed symbol by symbol.
//!
//! A closure can say whether a finished output is feasible, but not which symbols may come next. An
//! automaton can, and automata compose: the outputs that satisfy two constraints are the product of
//! two automata. That makes them the common interface of constraints and masked decoders.
//!
//! A [`Dfa`] lists its states. A language that only counts can compute them instead, so that
//! nothing is built up front, however many states there are.

use super::Dfa;
use crate::model::Symbol;

/// A state of one automaton, meaningless to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(u64);

impl State {
    /// The state encoded by `bits`: an index, or several packed counts.
    pub fn new(bits: u64) -> State {
        State(bits)
    }

    /// The encoding.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The state's index, below [`Dfa::n_states`] for a [`Dfa`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A language over the symbols `0..n_symbols`, as `(q₀, δ, F)`.
pub trait Automaton {
    /// `|Σ|`; every symbol is below it.
    fn n_symbols(&self) -> usize;

    /// `q₀`, the initial state.
    fn start(&self) -> State;

    /// `δ(q, s)`: where `symbol` leads from `state`, or `None` if it is forbidden there.
    fn next(&self, state: State, symbol: Symbol) -> Option<State>;

    /// Calls `found` once for every symbol that is allowed in `state`, with where it leads.
    ///
    /// Automata over many symbols override this, so as not to try them all.
    fn each_next(&self, state: State, found: &mut dyn FnMut(Symbol, State)) {
        for symbol in 0..self.n_symbols() as Symbol {
            if let Some(to) = self.next(state, symbol) {
                found(symbol, to);
            }
        }
    }

    /// `q ∈ F`: whether a string may end in `state`.
    fn accepts(&self, state: State) -> bool;

    /// The fewest symbols that lead from `state` to acceptance; `None` if nothing does.
    ///
    /// It tells a decoder with a length limit when it must start to finish.
    fn distance_to_accept(&self, state: State) -> Option<usize>;

    /// Whether the string `y` is in the language.
    fn contains(&self, y: &[Symbol]) -> bool {
        let end = y.iter().try_fold(self.start(), |state, &symbol| self.next(state, symbol));
        end.is_some_and(|state| self.accepts(state))
    }

    /// Whether the language is empty.
    fn is_empty(&self) -> bool {
        self.distance_to_accept(self.start()).is_none()
    }

    /// Whether finitely many states are reachable, so that they can be enumerated.
    ///
    /// Context-free languages are not finite: their states are created on demand.
    fn is_finite(&self) -> bool {
        true
    }

    /// The intersection over the smaller of both alphabets, as a trimmed DFA.
    ///
    /// Both must be [finite](Automaton::is_finite), or this may not terminate.
    fn intersect(&self, other: &dyn Automaton) -> Dfa {
        self.intersect_within(usize::MAX, other).expect("usize::MAX states are never exceeded")
    }

    /// Like [`intersect`](Automaton::intersect), but `None` if it exceeds `max_states`.
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

    fn each_next(&self, state: State, found: &mut dyn FnMut(Symbol, State)) {
        (**self).each_next(state, found);
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
