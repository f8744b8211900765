//! Regular expressions over symbols, for writing down feasible sets.
//!
//! Nobody should have to number states by hand to say `(aaa|zb)*`. A [`Language`] is the usual
//! syntax tree; [`Language::automaton`] compiles it in two steps. Thompson's construction turns
//! every expression into a fragment of a nondeterministic automaton with ε-arcs between two given
//! states. Then the subset construction makes it deterministic: a state is the set of all
//! nondeterministic states that some string can reach,
//! ```text
//! q₀ = ε(start)      δ(Q, s) = ε({ p′ : p ─s→ p′, p ∈ Q })      Q accepts if it contains the end
//! ```
//!
//! where `ε(·)` is the closure under ε-arcs.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use super::Dfa;
use crate::model::Symbol;

/// A set of strings, as a regular expression.
///
/// ```
/// use cajole_core::constraints::{Automaton, Language};
///
/// let [a, b, z] = [0, 1, 2];
/// let source = Language::any_of([a, b]).then(z).star(); // (az|bz)*
/// assert!(source.automaton(3).contains(&[b, z, a, z]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Language {
    /// Only the empty string.
    EmptyWord,
    /// Only the string of this symbol.
    Symbol(Symbol),
    /// Every string of one symbol from the first to the last of these.
    Range(Symbol, Symbol),
    /// Every string of one symbol.
    Any,
    /// The concatenation of these languages.
    Seq(Vec<Language>),
    /// The union of these languages; without choices, the empty language.
    Alt(Vec<Language>),
    /// The concatenation of any number of strings of the inner language.
    Star(Box<Language>),
}

impl Language {
    /// Only the string `y`.
    pub fn word(y: &[Symbol]) -> Language {
        Language::Seq(y.iter().copied().map(Language::Symbol).collect())
    }

    /// The union of these choices, each a language or a symbol.
    pub fn any_of(choices: impl IntoIterator<Item = impl Into<Language>>) -> Language {
        Language::Alt(choices.into_iter().map(Into::into).collect())
    }

    /// A string of this language followed by one of `next`.
    pub fn then(self, next: impl Into<Language>) -> Language {
        Language::Seq(vec![self, next.into()])
    }

    /// Any number of strings of this language, including none.
    pub fn star(self) -> Language {
        Language::Star(Box::new(self))
    }

    /// A string of this language, or the empty string.
    pub fn optional(self) -> Language {
        Language::Alt(vec![self, Language::EmptyWord])
    }

    /// The trimmed automaton of this language over the symbols `0..n_symbols`.
    ///
    /// Strings with symbols outside this alphabet are excluded.
    pub fn automaton(&self, n_symbols: usize) -> Dfa {
        let (nfa, start, end) = self.fragment();
        let next = |states: &Vec<usize>, s| Some(nfa.next(states, s)).filter(|to| !to.is_empty());
        Dfa::explore(n_symbols, nfa.reach([start]), next, |states| states.contains(&end)).trim()
    }

    /// Like [`automaton`](Language::automaton), but `None` if it exceeds `max_states` or a memory
    /// limit.
    ///
    /// An expression of `n` symbols may have `2ⁿ` states, so untrusted ones need a limit.
    pub fn automaton_within(&self, n_symbols: usize, max_states: usize) -> Option<Dfa> {
        let (nfa, start, end) = self.fragment();
        let found = RefCell::new(HashSet::from([nfa.reach([start])]));
        let held = Cell::new(0);
        let is_within = || found.borrow().len() <= max_states && held.get() <= MOST_HELD;
        let next = |states: &Vec<usize>, s| {
            if !is_within() {
                return None;
            }
            let to = Some(nfa.next(states, s)).filter(|to| !to.is_empty())?;
            if found.borrow_mut().insert(to.clone()) {
                held.set(held.get() + to.len());
            }
            Some(to)
        };
        let dfa = Dfa::explore(n_symbols, nfa.reach([start]), next, |q| q.contains(&end));
        is_within().then(|| dfa.trim())
    }

    /// This language as a nondeterministic automaton between two states.
    fn fragment(&self) -> (Nfa, usize, usize) {
        let mut nfa = Nfa::default();
        let (start, end) = (nfa.state(), nfa.state());
        nfa.string(self, start, end);
        (nfa, start, end)
    }
}

impl From<Symbol> for Language {
    fn from(symbol: Symbol) -> Language {
        Language::Symbol(symbol)
    }
}

/// Limit on the total size of all subsets.
const MOST_HELD: usize = 1 << 22;

/// The label of an arc of the nondeterministic automaton.
#[derive(Clone, Copy)]
enum Label {
    Nothing,
    Range(Symbol, Symbol),
    Any,
}

/// A nondeterministic automaton: the arcs out of each state.
#[derive(Default)]
struct Nfa {
    arcs: Vec<Vec<(Label, usize)>>,
}

impl Nfa {
    fn state(&mut self) -> usize {
        self.arcs.push(Vec::new());
        self.arcs.len() - 1
    }

    /// Adds a fragment between two states, such that the paths between them spell `language`.
    ///
    /// No arc enters `from` or leaves `to`, so fragments can share their end points. A star is the
    /// exception, and adds its own state for the loop.
    fn string(&mut self, language: &Language, from: usize, to: usize) {
        match language {
            Language::EmptyWord => self.arcs[from].push((Label::Nothing, to)),
            Language::Symbol(symbol) => self.arcs[from].push((Label::Range(*symbol, *symbol), to)),
            Language::Range(first, last) => self.arcs[from].push((Label::Range(*first, *last), to)),
            Language::Any => self.arcs[from].push((Label::Any, to)),
            Language::Seq(parts) => {
                let mut at = from;
                for part in parts {
                    let after = self.state();
                    self.string(part, at, after);
                    at = after;
                }
                self.arcs[at].push((Label::Nothing, to));
            }
            Language::Alt(choices) => choices.iter().for_each(|c| self.string(c, from, to)),
            Language::Star(inner) => {
                let hub = self.state();
                self.arcs[from].push((Label::Nothing, hub));
                self.string(inner, hub, hub);
                self.arcs[hub].push((Label::Nothing, to));
            }
        }
    }

    /// `δ(Q, s)`.
    fn next(&self, states: &[usize], symbol: Symbol) -> Vec<usize> {
        let arcs = states.iter().flat_map(|&state| &self.arcs[state]);
        let read = arcs.filter(|(label, _)| match label {
            Label::Nothing => false,
            Label::Range(first, last) => (*first..=*last).contains(&symbol),
            Label::Any => true,
        });
        self.reach(read.map(|&(_, to)| to))
    }

    /// `ε(states)`, sorted, so that equal sets are equal vectors.
    fn reach(&self, states: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut reached = vec![false; self.arcs.len()];
        let mut open: Vec<usize> = states.into_iter().collect();
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut reached[state], true) {
                let silent = |(label, _): &&(Label, usize)| matches!(label, Label::Nothing);
                open.extend(self.arcs[state].iter().filter(silent).map(|&(_, to)| to));
            }
        }
        (0..reached.len()).filter(|&state| reached[state]).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraints::Automaton;
    use crate::constraints::oracle::{language, matches, strings};

    fn check(language: &Language, n_symbols: usize, max_len: usize) {
        let dfa = language.automaton(n_symbols);
        for y in strings(n_symbols, max_len) {
            assert_eq!(dfa.contains(&y), matches(language, &y), "{y:?} in {language:?}");
        }
        assert_eq!(dfa, dfa.trim(), "{language:?} is not trimmed");
    }

    #[test]
    fn the_target_language_of_the_paper() {
        let [a, b, z] = [0, 1, 2];
        let target = Language::any_of([Language::word(&[a, a, a]), Language::word(&[z, b])]).star();
        check(&target, 3, 8);
        // aaa, zb, their pairs, …: as many strings of n symbols as ways to write n with 3s and 2s.
        let dfa = target.automaton(3);
        let mut n_members = [0; 9];
        strings(3, 8).filter(|y| dfa.contains(y)).for_each(|y| n_members[y.len()] += 1);
        assert_eq!(n_members, [1, 0, 1, 1, 1, 2, 2, 3, 4]);
    }

    #[test]
    fn corner_cases() {
        check(&Language::EmptyWord, 2, 4);
        check(&Language::word(&[]), 2, 4);
        check(&Language::any_of([0; 0]), 2, 4);
        check(&Language::any_of([0; 0]).star(), 2, 4);
        check(&Language::EmptyWord.star().star(), 2, 4);
        check(&Language::word(&[0, 1]).optional().then(Language::Any), 2, 4);
        check(&Language::any_of([0, 1]).star().then(0).star(), 2, 6);
        check(&Language::Range(1, 2).star().then(0), 4, 5);
    }

    #[test]
    fn symbols_outside_the_alphabet_are_excluded() {
        let dfa = Language::any_of([1, 5]).automaton(2);
        assert!(dfa.contains(&[1]) && !dfa.contains(&[5]));
    }

    #[test]
    fn automata_with_too_many_states_are_rejected() {
        // Whether the symbol 20 before the end was a 1: 2²⁰ states.
        let tail = (0..20).fold(Language::Symbol(1), |all, _| all.then(Language::Any));
        assert!(Language::Any.star().then(tail).automaton_within(2, 1000).is_none());
        let three = Language::word(&[0, 1]); // three states
        assert!(three.automaton_within(2, 2).is_none());
        assert_eq!(three.automaton_within(2, 3), Some(three.automaton(2)));
    }

    #[test]
    fn automata_with_too_large_subsets_are_rejected() {
        // Each of the 2¹⁰ states contains all of the stars.
        let stars = |n: usize| Language::Seq(vec![Language::Any.star(); n]);
        let tail = Language::Symbol(0).then(Language::Seq(vec![Language::Any; 9]));
        assert!(stars(5000).then(tail.clone()).automaton_within(2, 1 << 12).is_none());
        assert!(stars(50).then(tail).automaton_within(2, 1 << 12).is_some());
    }

    proptest! {
        #[test]
        fn automata_agree_with_the_definition(language in language(2)) {
            check(&language, 2, 7);
        }
    }
}
