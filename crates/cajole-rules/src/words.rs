//! Rules over the words of a text.
//!
//! A rule over words names a few of them and does not distinguish the others. So its alphabet is
//! the words that it names, and one symbol for any other word. A text is split into words at white
//! space (of ASCII: blanks, tabs, line ends), and what the rule says about a word applies to its
//! bytes.
//!
//! An automaton over words becomes one over bytes: a state is the state after all complete words,
//! and how much has been read of the word that is being written.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cajole_core::constraints::{Automaton, Dfa, State};
use cajole_core::{Constraint, Fault, Part, Symbol, Violation};

use crate::subject::Subject;
use crate::vocabulary::Vocabulary;

/// Size limit of an automaton whose states are listed.
const MAX_STATES: usize = 1 << 12;

/// The words that a rule names, and a symbol for all others.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    vocabulary: Arc<Vocabulary>,
    /// For each node of a trie of these words, its children; the root is between words.
    children: Vec<HashMap<u8, usize>>,
    /// The word that ends at each node.
    ends: Vec<Option<Symbol>>,
    /// The symbols of the words that begin as each node does.
    below: Vec<Vec<Symbol>>,
}

/// Stands in messages for all words that the rule does not name.
const OTHER: &str = "another word";

/// Between words.
const BETWEEN: usize = 0;

impl Words {
    /// The words of these phrases.
    pub(crate) fn of<'t>(phrases: impl IntoIterator<Item = &'t str>) -> Words {
        let mut names: Vec<&str> =
            phrases.into_iter().flat_map(str::split_ascii_whitespace).collect();
        names.sort_unstable();
        names.dedup();
        // The last stands for all others; no word has a blank in it.
        let vocabulary = Arc::new(Vocabulary::of_words(names.iter().copied().chain([OTHER])));
        let other = names.len() as Symbol;
        let (children, ends, below) = (vec![HashMap::new()], vec![None], vec![Vec::new()]);
        let mut words = Words { vocabulary, children, ends, below };
        for (name, symbol) in names.iter().zip(0..) {
            let end = name.bytes().fold(BETWEEN, |node, byte| words.child(node, byte, symbol));
            words.ends[end] = Some(symbol);
        }
        words.below.iter_mut().for_each(|below| below.push(other));
        words
    }

    /// The memory that they take, roughly: a table of children and two lists for each node.
    pub(crate) fn bytes(&self) -> usize {
        const NODE_BYTES: usize = 256;
        NODE_BYTES * self.children.len()
    }

    /// Their names, to compile rules over words with.
    pub(crate) fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Stands for all other words.
    fn other(&self) -> Symbol {
        self.vocabulary.len() as Symbol - 1
    }

    fn child(&mut self, node: usize, byte: u8, symbol: Symbol) -> usize {
        let new = self.children.len();
        let child = *self.children[node].entry(byte).or_insert(new);
        if child == new {
            self.children.push(HashMap::new());
            self.ends.push(None);
            self.below.push(Vec::new());
        }
        self.below[child].push(symbol);
        child
    }

    /// The node of every word that the rule does not name.
    fn elsewhere(&self) -> usize {
        self.children.len()
    }

    /// Where a byte of a word leads.
    fn next(&self, node: usize, byte: u8) -> usize {
        let children = self.children.get(node);
        children.and_then(|children| children.get(&byte)).copied().unwrap_or(self.elsewhere())
    }

    /// The word that ends here.
    fn word(&self, node: usize) -> Symbol {
        self.ends.get(node).copied().flatten().unwrap_or(self.other())
    }

    /// The words that a partly read word may become.
    fn words_below(&self, node: usize) -> &[Symbol] {
        let others = || self.below[BETWEEN].last().map_or(&[][..], std::slice::from_ref);
        self.below.get(node).map_or_else(others, Vec::as_slice)
    }

    /// The words of a text, and their bytes.
    fn read(&self, text: &[Symbol]) -> (Vec<Symbol>, Vec<Range<usize>>) {
        let (mut symbols, mut places) = (Vec::new(), Vec::new());
        for at in ranges(text) {
            let bytes = text[at.clone()].iter();
            symbols.push(self.word(bytes.fold(BETWEEN, |node, &byte| self.next(node, byte as u8))));
            places.push(at);
        }
        (symbols, places)
    }
}

/// The ranges of the words of a text.
pub(crate) fn ranges(text: &[Symbol]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.iter().enumerate().filter(|(_, byte)| !is_white(**byte)) {
        match ranges.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => ranges.push(at..at + 1),
        }
    }
    ranges
}

/// Whether a byte is between words.
pub(crate) fn is_white(byte: Symbol) -> bool {
    u8::try_from(byte).is_ok_and(|byte| byte.is_ascii_whitespace())
}

/// A rule over words, as one over the bytes of a text.
pub(crate) struct OverWords<R> {
    words: Words,
    rule: R,
}

impl<R> OverWords<R> {
    /// `rule` is over the vocabulary of `words`.
    pub(crate) fn new(words: Words, rule: R) -> Self {
        OverWords { words, rule }
    }
}

/// The bytes of some words; the position after the last word is the end of the text.
fn bytes_of(at: &Range<usize>, places: &[Range<usize>], n_bytes: usize) -> Range<usize> {
    let start = match at.start {
        0 if places.len() < at.end => 0,
        start => places.get(start).map_or(n_bytes, |place| place.start),
    };
    let last = places.get(at.end.saturating_sub(1));
    start..last.map_or(n_bytes + 1, |place| place.end).max(start + 1)
}

impl<R: Constraint<Subject>> Constraint<Subject> for OverWords<R> {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        let (words, places) = self.words.read(y);
        match self.rule.check(x, &words) {
            Violation::Parts(parts) => {
                let part = |part: Part| Part { at: bytes_of(&part.at, &places, y.len()), ..part };
                Violation::Parts(parts.into_iter().map(part).collect())
            }
            whole => whole,
        }
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let (words, places) = self.words.read(y);
        let fault = |fault: Fault| {
            let at = bytes_of(&fault.at, &places, y.len());
            let word = Vocabulary::bytes().text(&y[at.start..at.end.min(y.len())]);
            let message = fault.message.replace(&format!("{OTHER:?}"), &format!("{word:?}"));
            Fault { at, message, ..fault }
        };
        self.rule.explain(x, &words).into_iter().map(fault).collect()
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        let over_words = Spaced { words: &self.words, inner: self.rule.automaton(x)? };
        if !over_words.inner.is_finite() {
            return Some(Box::new(over_words));
        }
        let next = |&q: &State, byte: Symbol| over_words.next(q, byte);
        let accepts = |&q: &State| over_words.accepts(q);
        let listed = Dfa::explore_within(MAX_STATES, BYTES, over_words.start(), next, accepts);
        match listed {
            Some(listed) => Some(Box::new(listed.trim())),
            None => Some(Box::new(over_words)),
        }
    }
}

/// How many bytes there are.
const BYTES: usize = 256;

/// An automaton over words, as one over bytes.
struct Spaced<'a> {
    words: &'a Words,
    inner: Box<dyn Automaton + 'a>,
}

impl Spaced<'_> {
    fn n_nodes(&self) -> u64 {
        self.words.elsewhere() as u64 + 1
    }

    /// The state after all complete words, and the node of the word that is being written.
    fn parts(&self, state: State) -> (State, usize) {
        (State::new(state.bits() / self.n_nodes()), (state.bits() % self.n_nodes()) as usize)
    }

    fn state(&self, inner: State, node: usize) -> State {
        State::new(inner.bits() * self.n_nodes() + node as u64)
    }

    /// The state after the word that is being written, if there is one.
    fn completed(&self, state: State) -> Option<State> {
        match self.parts(state) {
            (inner, BETWEEN) => Some(inner),
            (inner, node) => self.inner.next(inner, self.words.word(node)),
        }
    }
}

impl Automaton for Spaced<'_> {
    fn n_symbols(&self) -> usize {
        BYTES
    }

    fn start(&self) -> State {
        self.state(self.inner.start(), BETWEEN)
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        let byte = u8::try_from(symbol).ok()?;
        if byte.is_ascii_whitespace() {
            return Some(self.state(self.completed(state)?, BETWEEN));
        }
        let (inner, node) = self.parts(state);
        let node = self.words.next(node, byte);
        let mut below = self.words.words_below(node).iter();
        below.any(|&word| self.inner.next(inner, word).is_some()).then(|| self.state(inner, node))
    }

    fn accepts(&self, state: State) -> bool {
        self.completed(state).is_some_and(|inner| self.inner.accepts(inner))
    }

    /// A lower bound: each word still needed takes a letter, and a blank before the next.
    fn distance_to_accept(&self, state: State) -> Option<usize> {
        match self.parts(state) {
            (inner, BETWEEN) => Some((2 * self.inner.distance_to_accept(inner)?).saturating_sub(1)),
            _ => Some(usize::from(!self.accepts(state))),
        }
    }

    fn is_finite(&self) -> bool {
        self.inner.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Lexical;
    use crate::named::{NamedGrammar, NamedRegular};
    use crate::oracle::{letters, strings};

    /// Compares a rule over words with the same rule over the words of a split text.
    fn check(
        phrases: &[&str],
        rule: impl Constraint<Subject>,
        is_member: impl Fn(&[&str]) -> bool,
    ) {
        let over_words = OverWords::new(Words::of(phrases.iter().copied()), rule);
        let x = letters("");
        let automaton = over_words.automaton(&x).unwrap();
        const LETTERS: [u8; 3] = *b"ab ";
        for y in strings(3, 6) {
            let text: Vec<u8> = y.iter().map(|&s| LETTERS[s as usize]).collect();
            let bytes: Vec<Symbol> = text.iter().map(|&b| b.into()).collect();
            let text = String::from_utf8(text).unwrap();
            let words: Vec<&str> = text.split_whitespace().collect();
            let expected = is_member(&words);
            assert_eq!(over_words.check(&x, &bytes).is_satisfied(), expected, "{text:?}");
            assert_eq!(automaton.contains(&bytes), expected, "{text:?}");
            let told: f32 = over_words.explain(&x, &bytes).iter().map(|fault| fault.cost).sum();
            assert_eq!(told, over_words.check(&x, &bytes).total(), "{text:?}");
            for fault in over_words.explain(&x, &bytes) {
                assert!(
                    fault.at.start < fault.at.end && fault.at.end <= bytes.len() + 1,
                    "{fault:?}"
                );
            }
        }
    }

    #[test]
    fn phrases_are_whole_words() {
        let phrases = ["a b", "ab"];
        let words = Words::of(phrases);
        let rule = Lexical::new(&phrases[..1], &phrases[1..], words.vocabulary()).unwrap();
        check(&phrases, rule, |words| {
            words.windows(2).any(|pair| pair == ["a", "b"]) && !words.contains(&"ab")
        });
    }

    #[test]
    fn expressions_and_grammars_are_over_words() {
        let words = Words::of(["a", "ab"]);
        let rule = NamedRegular::read(r#"("a" "ab")* . "a""#, words.vocabulary()).unwrap();
        check(&["a", "ab"], rule, |words| {
            let Some((pairs, [_, last])) = words.split_last_chunk::<2>() else { return false };
            *last == "a" && pairs.chunks(2).all(|pair| pair == ["a", "ab"])
        });
        let rule = NamedGrammar::read(r#"s = "a" s "ab" | . "#, None, words.vocabulary()).unwrap();
        check(&["a", "ab"], rule, |words| {
            let n = words.len() / 2;
            words.len() % 2 == 1
                && words[..n].iter().all(|w| *w == "a")
                && words[n + 1..].iter().all(|w| *w == "ab")
        });
    }

    #[test]
    fn faults_name_words() {
        let words = Words::of(["the", "cat"]);
        let rule = NamedRegular::read(r#""the" "cat""#, words.vocabulary()).unwrap();
        let rule = OverWords::new(words, rule);
        let told = |text: &str| -> Vec<(Range<usize>, String)> {
            let y: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
            let faults = rule.explain(&letters(""), &y).into_iter();
            faults.map(|fault| (fault.at, fault.message)).collect()
        };
        assert_eq!(told("the dog"), [(4..7, "word 1: \"dog\" does not fit here".into())]);
        assert_eq!(told("the "), [(4..5, "something is missing at the end".into())]);
        assert_eq!(told(" cat"), [(1..4, "something is missing before word 0".into())]);
    }
}
