//! What a formula counts in a text: characters, words, or occurrences of some.
//!
//! A text is read byte by byte. Each feature has a state of its own, and says how much each byte adds
//! to its count; a word at the very end is only counted there.

use cajole_core::Symbol;

use crate::vocabulary::is_first_of_character;
use crate::words::is_white;

/// Something to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    /// Characters.
    Characters,
    /// Words, which white space separates.
    Words,
    /// Occurrences of a phrase, which may overlap.
    Phrase(Phrase),
    /// Occurrences of a word.
    Word(Vec<u8>),
}

/// A text to search for (Knuth, Morris and Pratt).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrase {
    bytes: Vec<u8>,
    /// For each prefix, the length of the longest shorter prefix that it ends with.
    fallback: Vec<usize>,
}

impl Phrase {
    pub(super) fn new(text: &str) -> Phrase {
        let bytes = text.as_bytes().to_vec();
        let mut phrase = Phrase { fallback: vec![0; bytes.len() + 1], bytes };
        for n in 2..=phrase.bytes.len() {
            phrase.fallback[n] = phrase.next(phrase.fallback[n - 1], phrase.bytes[n - 1]);
        }
        phrase
    }

    /// The length of the prefix that the text ends with after one more byte.
    fn next(&self, mut n: usize, byte: u8) -> usize {
        loop {
            match self.bytes.get(n) {
                Some(&own) if own == byte => return n + 1,
                _ if n == 0 => return 0,
                _ => n = self.fallback[n],
            }
        }
    }
}

impl Feature {
    /// Its count in a text.
    pub(super) fn count(&self, text: &[Symbol]) -> usize {
        let (mut state, mut count) = (0, 0);
        for &byte in text {
            let (next, more) = self.next(state, byte);
            (state, count) = (next, count + usize::from(more));
        }
        count + usize::from(self.at_end(state))
    }

    /// The state after a byte, and whether the count grows. The first state is 0.
    pub(super) fn next(&self, state: usize, byte: Symbol) -> (usize, bool) {
        match self {
            Feature::Characters => (0, is_first_of_character(byte)),
            Feature::Words => {
                let is_inside = !is_white(byte);
                (usize::from(is_inside), is_inside && state == 0)
            }
            Feature::Phrase(phrase) => {
                let state = phrase.next(state, byte as u8);
                (state, state == phrase.bytes.len())
            }
            // The state is how much of the word was read, and one more than all of it otherwise.
            Feature::Word(word) if is_white(byte) => (0, state == word.len()),
            Feature::Word(word) => match word.get(state) {
                Some(&own) if Symbol::from(own) == byte => (state + 1, false),
                _ => (word.len() + 1, false),
            },
        }
    }

    /// Whether the count grows where the text ends.
    pub(super) fn at_end(&self, state: usize) -> bool {
        matches!(self, Feature::Word(word) if word.len() == state)
    }

    /// The bytes that it distinguishes from others.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Feature::Characters | Feature::Words => &[],
            Feature::Phrase(phrase) => &phrase.bytes,
            Feature::Word(word) => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_follow_their_definitions(text in "[ab \\té]{0,12}", phrase in "[abé]{1,3}") {
            let bytes: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
            let starts = (0..text.len()).filter(|&at| text.as_bytes()[at..].starts_with(phrase.as_bytes()));
            prop_assert_eq!(Feature::Phrase(Phrase::new(&phrase)).count(&bytes), starts.count());
            prop_assert_eq!(Feature::Characters.count(&bytes), text.chars().count());
            prop_assert_eq!(Feature::Words.count(&bytes), text.split_whitespace().count());
            let same = text.split_whitespace().filter(|word| *word == phrase).count();
            prop_assert_eq!(Feature::Word(phrase.into_bytes()).count(&bytes), same);
        }
    }
}
