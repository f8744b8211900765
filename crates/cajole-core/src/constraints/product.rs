//! The intersection of two automata, for those whose states cannot be enumerated.
//!
//! A state is a pair of states, numbered when first reached. Two automata that can each be
//! completed need not share a completion, and for two context-free languages that is undecidable.
//! So `next` may lead to a dead end, and the distance to acceptance is only the larger of both, a
//! lower bound.

use std::cell::RefCell;
use std::collections::HashMap;

use super::{Automaton, State};
use crate::model::Symbol;

/// If the left allows fewer than one in this many symbols, each of them is looked up on the right.
const FEW: usize = 16;

/// Two automata run in parallel.
pub struct Product<'a> {
    left: Box<dyn Automaton + 'a>,
    right: Box<dyn Automaton + 'a>,
    pairs: RefCell<Pairs>,
}

#[derive(Default)]
struct Pairs {
    list: Vec<(State, State)>,
    numbers: HashMap<(State, State), State>,
}

impl<'a> Product<'a> {
    /// The intersection of both languages.
    pub fn new(left: Box<dyn Automaton + 'a>, right: Box<dyn Automaton + 'a>) -> Self {
        Product { left, right, pairs: RefCell::default() }
    }

    fn pair(&self, state: State) -> (State, State) {
        self.pairs.borrow().list[state.index()]
    }
}

impl Pairs {
    fn number(&mut self, pair: (State, State)) -> State {
        *self.numbers.entry(pair).or_insert_with(|| {
            self.list.push(pair);
            State::new(self.list.len() as u64 - 1)
        })
    }
}

impl Automaton for Product<'_> {
    fn n_symbols(&self) -> usize {
        self.left.n_symbols().min(self.right.n_symbols())
    }

    fn start(&self) -> State {
        self.pairs.borrow_mut().number((self.left.start(), self.right.start()))
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        let (p, q) = self.pair(state);
        let next = (self.left.next(p, symbol)?, self.right.next(q, symbol)?);
        Some(self.pairs.borrow_mut().number(next))
    }

    fn each_next(&self, state: State, found: &mut dyn FnMut(Symbol, State)) {
        let (p, q) = self.pair(state);
        let mut left = Vec::new();
        self.left.each_next(p, &mut |symbol, to| left.push((symbol, to)));
        let mut tell = |symbol, pair| {
            let to = self.pairs.borrow_mut().number(pair);
            found(symbol, to);
        };
        if left.len() < self.n_symbols() / FEW {
            let both = left.into_iter().filter_map(|(s, to)| Some((s, to, self.right.next(q, s)?)));
            return both.for_each(|(symbol, to, other)| tell(symbol, (to, other)));
        }
        let mut right = vec![None; self.right.n_symbols()];
        self.right.each_next(q, &mut |symbol, to| right[symbol as usize] = Some(to));
        for (symbol, to) in left {
            if let Some(&Some(other)) = right.get(symbol as usize) {
                tell(symbol, (to, other));
            }
        }
    }

    fn accepts(&self, state: State) -> bool {
        let (p, q) = self.pair(state);
        self.left.accepts(p) && self.right.accepts(q)
    }

    /// A lower bound: the larger of both distances.
    fn distance_to_accept(&self, state: State) -> Option<usize> {
        let (p, q) = self.pair(state);
        Some(self.left.distance_to_accept(p)?.max(self.right.distance_to_accept(q)?))
    }

    fn is_finite(&self) -> bool {
        self.left.is_finite() && self.right.is_finite()
    }
}
