//! Automata over symbol classes.
//!
//! A rule that names three words distinguishes four kinds of symbols, however large the vocabulary.
//! Its automaton is built over the kinds, and symbols are mapped to their kind.

use std::collections::HashMap;
use std::hash::Hash;

use cajole_core::Symbol;
use cajole_core::constraints::{Automaton, Dfa, State};

/// A language that does not distinguish symbols of the same class.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    /// The automaton over classes.
    dfa: Dfa,
    /// The class of each symbol.
    class: Vec<Symbol>,
}

impl Classes {
    /// Like [`Dfa::explore`], but merges symbols of equal `kind` and trims the result. `None` if
    /// more than `max_states` are reachable.
    pub(crate) fn explore<K: Clone + Eq + Hash, S: Clone + Eq + Hash>(
        max_states: usize,
        kinds: impl IntoIterator<Item = K>,
        start: S,
        next: impl Fn(&S, &K) -> Option<S>,
        accepts: impl Fn(&S) -> bool,
    ) -> Option<Classes> {
        let (mut distinct, mut numbers) = (Vec::new(), HashMap::new());
        let number = |kind: K| {
            *numbers.entry(kind).or_insert_with_key(|kind| {
                distinct.push(kind.clone());
                distinct.len() as Symbol - 1
            })
        };
        let class: Vec<Symbol> = kinds.into_iter().map(number).collect();
        let next = |state: &S, class: Symbol| next(state, &distinct[class as usize]);
        let dfa = Dfa::explore_within(max_states, distinct.len(), start, next, accepts)?;
        Some(Classes { dfa: dfa.trim(), class })
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.dfa.bytes() + size_of_val(&*self.class)
    }
}

impl Automaton for Classes {
    fn n_symbols(&self) -> usize {
        self.class.len()
    }

    fn start(&self) -> State {
        self.dfa.start()
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        self.dfa.next(state, *self.class.get(symbol as usize)?)
    }

    fn accepts(&self, state: State) -> bool {
        self.dfa.accepts(state)
    }

    fn distance_to_accept(&self, state: State) -> Option<usize> {
        self.dfa.distance_to_accept(state)
    }
}
