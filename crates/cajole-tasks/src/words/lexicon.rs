//! Maps words to tokens: known words, unknown-word classes, word vectors.
//!
//! A word that is frequent enough in the training set has its own entry, matched by exact or else
//! lower-case spelling. Other words get a class based on their spelling, such as `UNK-init-s` for
//! *Hoboes*, trained on the rare words of the training set. In addition, a token may have a fixed
//! pretrained vector, looked up by its lower-case spelling.

use std::collections::{BTreeMap, HashMap};

use cajole_nn::models::Token;
use serde::{Deserialize, Serialize};

/// What the network reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// Words.
    Words,
    /// POS tags, for treebanks without words.
    Tags,
}

/// How a word is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lookup {
    /// By exact spelling, else in lower case, else by its class.
    #[default]
    Classes,
    /// By exact spelling, else `@@UNKNOWN@@`: AllenNLP's way.
    AsSpelled,
    /// In lower case, else `@@UNKNOWN@@`: AllenNLP's way with `lowercase_tokens`.
    LowerCase,
}

/// AllenNLP's entry for unknown words.
pub const OUT_OF_VOCABULARY: &str = "@@UNKNOWN@@";

/// The input vocabulary of a network.
#[derive(Clone, Debug)]
pub struct Lexicon {
    /// Whether it looks up words or tags.
    pub reads: Reads,
    /// How it looks them up.
    pub lookup: Lookup,
    words: Vec<String>,
    vectors: Vec<String>,
    word_numbers: HashMap<String, u32>,
    vector_numbers: HashMap<String, u32>,
}

/// The class of words that fit no other class.
const UNKNOWN: &str = "UNK";

/// Suffixes that hint at a word's part of speech, longest first.
const ENDINGS: [&str; 16] = [
    "ness", "ment", "able", "ing", "ion", "ity", "est", "ous", "ive", "ed", "ly", "er", "al", "s",
    "y", "e",
];

impl Lexicon {
    /// The words that occur at least `often` times in these sentences, the classes of the rarer
    /// ones, and the words that have a vector.
    pub fn of<'a>(
        reads: Reads,
        sentences: impl IntoIterator<Item = &'a [(&'a str, &'a str)]>,
        often: usize,
        vectors: Vec<String>,
    ) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for leaf in sentences.into_iter().flatten() {
            *counts.entry(reads.of(leaf)).or_default() += 1;
        }
        // A vocabulary file has one entry per line.
        counts.retain(|word, _| is_entry(word));
        let rare = counts.iter().filter(|(_, n)| **n < often).map(|(word, _)| class(word));
        let mut classes: Vec<String> = rare.chain([UNKNOWN.to_owned()]).collect();
        classes.sort();
        classes.dedup();
        // A word may be spelled like a class.
        let is_known =
            |(word, n): &(&str, usize)| often <= *n && !classes.iter().any(|class| class == word);
        let mut known: Vec<(&str, usize)> =
            counts.iter().map(|(word, n)| (*word, *n)).filter(is_known).collect();
        known.sort_by_key(|&(word, n)| (std::cmp::Reverse(n), word));
        let words = classes.into_iter().chain(known.into_iter().map(|(word, _)| word.to_owned()));
        Lexicon::new(reads, words.collect(), vectors)
    }

    /// A lexicon with these entries; unknown words are looked up by class.
    pub fn new(reads: Reads, words: Vec<String>, vectors: Vec<String>) -> Self {
        let number = |list: &[String], from: u32| {
            list.iter().cloned().zip(from..).collect::<HashMap<String, u32>>()
        };
        // Row 0 of the vectors is for words without one.
        let (word_numbers, vector_numbers) = (number(&words, 0), number(&vectors, 1));
        let lookup = Lookup::default();
        Lexicon { reads, lookup, words, vectors, word_numbers, vector_numbers }
    }

    /// Changes how words are looked up.
    #[must_use]
    pub fn with_lookup(self, lookup: Lookup) -> Self {
        Lexicon { lookup, ..self }
    }

    /// The words and classes, by index.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words that have a vector, from row 1 on.
    pub fn vectors(&self) -> &[String] {
        &self.vectors
    }

    /// The number of rows in a vector table for this lexicon; 0 without vectors.
    pub(crate) fn n_vectors(&self) -> usize {
        if self.vectors.is_empty() { 0 } else { self.vectors.len() + 1 }
    }

    /// Converts a sentence of `(tag, word)` pairs to tokens.
    pub fn tokens(&self, leaves: &[(&str, &str)]) -> Vec<Token> {
        leaves.iter().map(|leaf| self.token(self.reads.of(leaf))).collect()
    }

    fn token(&self, word: &str) -> Token {
        let lower = word.to_lowercase();
        let number = |name: &str| self.word_numbers.get(name).copied();
        let found = match self.lookup {
            Lookup::Classes => number(word)
                .or_else(|| number(&lower))
                .or_else(|| number(&class(word)))
                .or_else(|| number(UNKNOWN)),
            Lookup::AsSpelled => number(word).or_else(|| number(OUT_OF_VOCABULARY)),
            Lookup::LowerCase => number(&lower).or_else(|| number(OUT_OF_VOCABULARY)),
        };
        let vector = self.vector_numbers.get(&lower).copied().unwrap_or(0);
        Token { word: found.unwrap_or(0), vector }
    }
}

impl Reads {
    fn of<'a>(self, (tag, word): &(&'a str, &'a str)) -> &'a str {
        match self {
            Reads::Words => word,
            Reads::Tags => tag,
        }
    }
}

/// Whether a vocabulary file, which has one entry per line, can represent a word.
pub(crate) fn is_entry(word: &str) -> bool {
    !word.is_empty() && !word.contains(['\n', '\r'])
}

/// The class of an unknown word: its digits, hyphen, capitals and suffix.
fn class(word: &str) -> String {
    let mut class = UNKNOWN.to_owned();
    if word.contains(|c: char| c.is_ascii_digit()) {
        class += "-num";
    }
    if word.contains('-') {
        class += "-dash";
    }
    let lower = word.to_lowercase();
    if word.chars().next().is_some_and(char::is_uppercase) {
        class += if word == word.to_uppercase() { "-caps" } else { "-init" };
    } else if word == lower && word.contains(char::is_alphabetic) {
        class += "-low";
    }
    let long = |ending: &&&str| lower.chars().count() > ending.len() + 1;
    if let Some(ending) = ENDINGS.iter().filter(long).find(|ending| lower.ends_with(**ending)) {
        class += "-";
        class += ending;
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexicon() -> Lexicon {
        let words = ["The", "dog", "saw", "the", "dog", "Hoboes", "the", "zygotes"];
        let leaves: Vec<(&str, &str)> = words.iter().map(|word| ("X", *word)).collect();
        let vectors = ["dog", "the"].map(str::to_owned).to_vec();
        Lexicon::of(Reads::Words, [leaves.as_slice()], 2, vectors)
    }

    #[test]
    fn lookup_tries_exact_then_lower_case_then_class() {
        let lexicon = lexicon();
        let of = |word: &str| {
            let token = lexicon.tokens(&[("X", word)])[0];
            (lexicon.words()[token.word as usize].as_str(), token.vector)
        };
        assert_eq!(of("dog"), ("dog", 1));
        assert_eq!(of("DOG"), ("dog", 1));
        assert_eq!(of("The"), ("the", 2), "rare with a capital, known without");
        assert_eq!(of("Gizmos"), ("UNK-init-s", 0));
        assert_eq!(of("frobnications"), ("UNK-low-s", 0));
        assert_eq!(of("42"), ("UNK", 0), "a class that training never saw");
        assert_eq!(of(""), ("UNK", 0));
    }

    #[test]
    fn imported_vocabularies_have_no_classes() {
        let words = ["@@PADDING@@", OUT_OF_VOCABULARY, "the", "The", "UNK-low-s"];
        let lexicon = Lexicon::new(Reads::Words, words.map(str::to_owned).to_vec(), vec![]);
        let of = |lookup: Lookup, text: &str| {
            let lexicon = lexicon.clone().with_lookup(lookup);
            let leaves: Vec<_> = text.split(' ').map(|word| ("X", word)).collect();
            lexicon.tokens(&leaves).iter().map(|token| token.word).collect::<Vec<_>>()
        };
        let text = "the The THE frobnications";
        assert_eq!(of(Lookup::AsSpelled, text), [2, 3, 1, 1]);
        assert_eq!(of(Lookup::LowerCase, text), [2, 2, 2, 1]);
        assert_eq!(of(Lookup::Classes, text), [2, 3, 2, 4]);
    }

    #[test]
    fn entries_are_distinct_and_on_one_line() {
        let words = ["UNK", "UNK", "", "", "a\nb", "a\nb", "dog", "dog"];
        let leaves: Vec<(&str, &str)> = words.iter().map(|word| ("X", *word)).collect();
        let lexicon = Lexicon::of(Reads::Words, [leaves.as_slice()], 2, Vec::new());
        assert_eq!(lexicon.words(), ["UNK", "dog"]);
    }

    #[test]
    fn tags_are_read_in_place_of_words() {
        let lexicon =
            Lexicon::of(Reads::Tags, [[("DT", "the"), ("NN", "x")].as_slice()], 1, vec![]);
        assert_eq!(lexicon.words(), ["UNK", "DT", "NN"]);
        assert_eq!(lexicon.tokens(&[("NN", "whatever")])[0].word, 2);
        assert_eq!(lexicon.n_vectors(), 0);
    }
}
