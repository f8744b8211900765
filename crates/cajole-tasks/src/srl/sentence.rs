//! Sentences with their parse and the arguments of their predicates.

use crate::treebank::Tree;

/// A sentence, whatever format it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Where it stands in its corpus.
    pub id: String,
    /// The kind of text it is from.
    pub genre: String,
    /// The words, brackets unescaped.
    pub tokens: Vec<String>,
    /// The part of speech of each word.
    pub pos: Vec<String>,
    /// The parse, if there is one.
    pub tree: Option<Tree>,
    /// One per predicate, in the order of the corpus.
    pub propositions: Vec<Proposition>,
}

/// A predicate with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposition {
    /// Which word is the predicate, from 0.
    pub predicate: usize,
    /// Its lemma.
    pub lemma: String,
    /// Its sense, as the corpus writes it; may be empty.
    pub roleset: String,
    /// A BIO tag for every word: `B-ARG0`, `I-ARG0`, `O`, and `B-V` at the predicate.
    pub tags: Vec<String>,
}
