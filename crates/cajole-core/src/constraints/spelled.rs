//! A language of texts, as a language of the symbols that spell them.
//!
//! ```text
//! δ(q, s) = δ_bytes(q, b₁ … b_k)      for a symbol s that stands for the bytes b₁ … b_k
//! ```
//!
//! Symbols and bytes are followed together, along a [`Trie`]. Nothing is listed up front: states
//! times symbols would be billions. Some symbols stand for other bytes where the text begins (`▁the`
//! is "the" there, and " the" elsewhere), so a state also says whether anything was written yet.
//!
//! A state of the bytes is complete if *bytes* lead to acceptance; a network that has no symbol for
//! them cannot write them. So the distance to acceptance is searched for, in symbols, while that is
//! cheap. Beyond [`MOST_FOLLOWED`] it is a lower bound, and a state may be a dead end.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use super::dfa::distances_along;
use super::{Automaton, State, Trie};
use crate::model::Symbol;

/// What symbols stand for.
#[derive(Clone, Debug)]
pub struct Spelling {
    /// Within a text.
    pub later: Trie,
    /// Where the text begins, if that differs.
    pub first: Option<Trie>,
    /// Whether each symbol contributes nothing wherever it is, as padding does; the text begins
    /// after it.
    pub silent: Vec<bool>,
}

impl Spelling {
    /// The bytes of a symbol; `is_first` where the text begins.
    pub fn bytes(&self, symbol: Symbol, is_first: bool) -> &[u8] {
        self.trie(is_first).bytes(symbol)
    }

    /// Whether a symbol contributes nothing wherever it is.
    pub fn is_silent(&self, symbol: Symbol) -> bool {
        self.silent.get(symbol as usize).is_none_or(|silent| *silent)
    }

    /// How many symbols there are.
    pub fn n_symbols(&self) -> usize {
        self.later.n_symbols()
    }

    /// The symbols by their bytes; `is_first` where the text begins.
    pub fn trie(&self, is_first: bool) -> &Trie {
        self.first.as_ref().filter(|_| is_first).unwrap_or(&self.later)
    }
}

/// Limit on the bytes followed to find distances, over all states: less than half a second.
pub const MOST_FOLLOWED: usize = 1 << 24;

/// The outputs whose text is in a language of bytes.
///
/// ```
/// use cajole_core::constraints::{Automaton, Language, Spelled, Spelling, Trie};
///
/// let [a, b] = [b'a', b'b'].map(u32::from);
/// let text = Language::word(&[a, b, b]).star().automaton(256); // (abb)*
/// let later = Trie::new(["ab", "ba", "b", "abb"]);
/// let spelling = Spelling { later, first: None, silent: vec![false; 4] };
/// let pieces = Spelled::new(Box::new(text), &spelling);
/// assert!(pieces.contains(&[0, 2, 3]));
/// assert_eq!(pieces.next(pieces.start(), 1), None, "no text begins with \"ba\"");
/// ```
pub struct Spelled<'a> {
    text: Box<dyn Automaton + 'a>,
    spelling: &'a Spelling,
    rows: RefCell<Rows>,
    /// The distance of each state that was reached; `None` if there are too many.
    distances: OnceCell<Option<HashMap<State, Option<usize>>>>,
}

impl<'a> Spelled<'a> {
    /// The outputs whose text is in the language of `text`, which is over the symbols `0..256` and
    /// numbers its states below 2⁶³.
    pub fn new(text: Box<dyn Automaton + 'a>, spelling: &'a Spelling) -> Self {
        Spelled { text, spelling, rows: RefCell::default(), distances: OnceCell::new() }
    }

    /// The state of the text, and whether nothing was written yet.
    fn parts(&self, state: State) -> (State, bool) {
        (State::new(state.bits() >> 1), state.bits() & 1 == 1)
    }

    fn state(&self, text: State, is_first: bool) -> State {
        debug_assert!(text.bits() < 1 << 63, "{text:?} is too large");
        State::new(text.bits() << 1 | u64::from(is_first))
    }

    /// Calls `found` with the symbols allowed in `state` and where they lead; symbols with the same
    /// bytes come together. Returns the number of bytes that were followed.
    fn follow(&self, state: State, mut found: impl FnMut(&[Symbol], State)) -> usize {
        let (text, is_first) = self.parts(state);
        // `found` may query this automaton again; that query then runs without the cached rows.
        let mut rows = self.rows.take();
        let start = rows.begin(text);
        let rows = RefCell::new(rows);
        let next = |row, byte| rows.borrow_mut().next(&*self.text, row, byte);
        let n_followed = self.spelling.trie(is_first).walk(start, next, |symbols, row| {
            let to = rows.borrow().states[row as usize];
            if !is_first || symbols.iter().all(|&symbol| !self.spelling.is_silent(symbol)) {
                return found(symbols, self.state(to, false));
            }
            for symbol in symbols {
                found(&[*symbol], self.state(to, self.spelling.is_silent(*symbol)));
            }
        });
        self.rows.replace(rows.into_inner());
        n_followed
    }

    /// The distance of every reachable state, by breadth-first search backwards; `None` if it would
    /// take too long.
    fn search(&self) -> Option<HashMap<State, Option<usize>>> {
        if !self.text.is_finite() {
            return None;
        }
        let mut numbers = HashMap::from([(self.start(), 0)]);
        let (mut states, mut sources) = (vec![self.start()], vec![Vec::new()]);
        let (mut at, mut n_followed) = (0, 0);
        while at < states.len() {
            n_followed += self.follow(states[at], |_, to| {
                let number = *numbers.entry(to).or_insert_with(|| {
                    states.push(to);
                    sources.push(Vec::new());
                    states.len() - 1
                });
                if sources[number].last() != Some(&at) {
                    sources[number].push(at);
                }
            });
            if MOST_FOLLOWED < n_followed {
                return None;
            }
            at += 1;
        }
        let distance = distances_along(&sources, |q| self.accepts(states[q]));
        Some(states.into_iter().zip(distance).collect())
    }
}

/// A cache of where bytes lead: a walk looks up the same ones a hundred thousand times.
#[derive(Default)]
struct Rows {
    numbers: HashMap<State, u32>,
    states: Vec<State>,
    next: Vec<u32>, // (states, 256)
}

/// The most states that are remembered, with a kilobyte each.
const MOST_ROWS: usize = 1 << 13;

/// Not looked up yet, and forbidden.
const UNKNOWN: u32 = u32::MAX;
const NOWHERE: u32 = u32::MAX - 1;

impl Rows {
    /// The row of a state from which a walk begins.
    fn begin(&mut self, state: State) -> u32 {
        if MOST_ROWS < self.states.len() {
            *self = Rows::default();
        }
        self.row(state)
    }

    fn row(&mut self, state: State) -> u32 {
        *self.numbers.entry(state).or_insert_with(|| {
            self.states.push(state);
            self.next.resize(self.next.len() + 256, UNKNOWN);
            self.states.len() as u32 - 1
        })
    }

    fn next(&mut self, text: &dyn Automaton, row: u32, byte: u8) -> Option<u32> {
        let place = row as usize * 256 + usize::from(byte);
        if self.next[place] == UNKNOWN {
            let to = text.next(self.states[row as usize], Symbol::from(byte));
            self.next[place] = to.map_or(NOWHERE, |to| self.row(to));
        }
        Some(self.next[place]).filter(|&to| to != NOWHERE)
    }
}

impl Automaton for Spelled<'_> {
    fn n_symbols(&self) -> usize {
        self.spelling.n_symbols()
    }

    fn start(&self) -> State {
        self.state(self.text.start(), self.spelling.first.is_some())
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        if self.n_symbols() <= symbol as usize {
            return None;
        }
        let (text, is_first) = self.parts(state);
        let mut bytes = self.spelling.bytes(symbol, is_first).iter();
        let to = bytes.try_fold(text, |at, &byte| self.text.next(at, Symbol::from(byte)))?;
        Some(self.state(to, is_first && self.spelling.is_silent(symbol)))
    }

    fn each_next(&self, state: State, found: &mut dyn FnMut(Symbol, State)) {
        self.follow(state, |symbols, to| symbols.iter().for_each(|&symbol| found(symbol, to)));
    }

    fn accepts(&self, state: State) -> bool {
        self.text.accepts(self.parts(state).0)
    }

    /// In symbols. If there are too many states to search, or they cannot be listed, it is a lower
    /// bound: the distance in bytes, with the longest symbols throughout.
    fn distance_to_accept(&self, state: State) -> Option<usize> {
        match self.distances.get_or_init(|| self.search()) {
            Some(distances) => distances.get(&state).copied().flatten(),
            None => {
                let (text, is_first) = self.parts(state);
                let longest =
                    self.spelling.trie(is_first).longest().max(self.spelling.later.longest());
                Some(self.text.distance_to_accept(text)?.div_ceil(longest.max(1)))
            }
        }
    }

    /// It could be listed, but should not be.
    fn is_finite(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraints::oracle::{language, strings};
    use crate::constraints::{ContextFree, Element, Grammar, Language, Production};
    use crate::{Constraint, constraints::Dfa};

    /// Pieces over the letters 0 and 1; the last is silent.
    fn spelling(later: &[Vec<u8>], first: Option<&[Vec<u8>]>) -> Spelling {
        let with_silent = |all: &[Vec<u8>]| Trie::new(all.iter().cloned().chain([Vec::new()]));
        let silent = (0..=later.len()).map(|s| s == later.len()).collect();
        Spelling { later: with_silent(later), first: first.map(with_silent), silent }
    }

    fn text(spelling: &Spelling, y: &[Symbol]) -> Vec<Symbol> {
        let (mut text, mut is_first) = (Vec::new(), spelling.first.is_some());
        for &symbol in y {
            text.extend(spelling.bytes(symbol, is_first).iter().map(|&b| Symbol::from(b)));
            is_first &= spelling.is_silent(symbol);
        }
        text
    }

    /// Compares members, successors and distances with what enumeration finds.
    fn check(automaton: &dyn Automaton, is_member: impl Fn(&[Symbol]) -> bool, max_len: usize) {
        let n = automaton.n_symbols();
        for y in strings(n, max_len) {
            assert_eq!(automaton.contains(&y), is_member(&y), "{y:?}");
            let state = y.iter().try_fold(automaton.start(), |q, &s| automaton.next(q, s));
            let shortest = strings(n, max_len - y.len())
                .find(|rest| is_member(&[&y[..], rest].concat()))
                .map(|rest| rest.len());
            let Some(state) = state else {
                assert_eq!(shortest, None, "{y:?} was cut off");
                continue;
            };
            let distance = automaton.distance_to_accept(state);
            match shortest {
                Some(_) => assert_eq!(distance, shortest, "{y:?}"),
                None => assert!(distance.is_none_or(|d| max_len < y.len() + d), "{y:?}"),
            }
            let mut listed = vec![None; n];
            automaton.each_next(state, &mut |s, to| listed[s as usize] = Some(to));
            let nexts: Vec<_> = (0..n as Symbol).map(|s| automaton.next(state, s)).collect();
            assert_eq!(listed, nexts, "{y:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn members_masks_and_distances_agree_with_enumeration(
            language in language(2),
            later in prop::collection::vec(prop::collection::vec(0..2u8, 0..4), 1..3),
            differ in any::<bool>(),
        ) {
            let first: Vec<Vec<u8>> =
                later.iter().map(|bytes| bytes.iter().skip(1).copied().collect()).collect();
            let spelling = spelling(&later, differ.then_some(&first[..]));
            let dfa = language.automaton(256);
            let pieces = Spelled::new(Box::new(&dfa), &spelling);
            check(&pieces, |y| dfa.contains(&text(&spelling, y)), 4);
        }
    }

    #[test]
    fn states_of_grammars_are_made_on_demand() {
        let [open, close] = [0, 1].map(Element::Symbol);
        let list = Element::Variable(0);
        let nested = Production { head: 0, body: vec![open, list, close, list] };
        let empty = Production { head: 0, body: vec![] };
        let grammar = ContextFree::new(Grammar::new(256, 0, vec![nested, empty]).unwrap());
        let spelling = spelling(&[vec![0, 0], vec![1], vec![0, 1, 0]], None);
        let inner = grammar.automaton(&()).unwrap();
        let pieces = Spelled::new(grammar.automaton(&()).unwrap(), &spelling);
        for y in strings(4, 5) {
            assert_eq!(pieces.contains(&y), inner.contains(&text(&spelling, &y)), "{y:?}");
        }
        let deep = pieces.next(pieces.start(), 0).unwrap();
        assert_eq!(pieces.distance_to_accept(deep), Some(1), "a lower bound: two bytes of three");
    }

    #[test]
    fn whoever_is_told_of_symbols_may_ask_for_more() {
        let spelling = spelling(&[vec![0], vec![0, 1]], None);
        let dfa: Dfa = Language::any_of([0, 1]).star().automaton(256);
        let pieces = Spelled::new(Box::new(&dfa), &spelling);
        let mut told = Vec::new();
        pieces.each_next(pieces.start(), &mut |symbol, to| {
            let mut n_next = 0;
            pieces.each_next(to, &mut |_, _| n_next += 1);
            told.push((symbol, pieces.distance_to_accept(to), n_next));
        });
        assert_eq!(told, [(2, Some(0), 3), (0, Some(0), 3), (1, Some(0), 3)]);
    }

    #[test]
    fn what_no_symbol_can_write_is_a_dead_end() {
        let spelling = spelling(&[vec![0], vec![1, 1]], None);
        let dfa: Dfa = Language::word(&[0, 1]).automaton(256);
        let pieces = Spelled::new(Box::new(&dfa), &spelling);
        assert!(pieces.is_empty());
        assert_eq!(pieces.next(pieces.start(), 7), None);
    }
}
