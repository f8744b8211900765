//! Sentences with their parse and the arguments of their predicates.

use super::bio::{self, Argument, BioFault};
use super::error::RoleFault;
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

impl Sentence {
    /// The words with their tags, from left to right.
    pub fn leaves(&self) -> Vec<(&str, &str)> {
        let tags = self.pos.iter().map(String::as_str);
        tags.zip(self.tokens.iter().map(String::as_str)).collect()
    }

    /// Whether a proposition is that of a verb, by the tag of its predicate.
    pub fn is_verbal(&self, proposition: &Proposition) -> bool {
        let tag = self.pos.get(proposition.predicate);
        tag.is_some_and(|tag| tag.starts_with('V') || tag.starts_with("MD"))
    }
}

/// A predicate with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposition {
    /// Which word is the predicate, from 0.
    pub predicate: usize,
    /// Its lemma.
    pub lemma: String,
    /// Its sense, such as `say.01`; may be empty.
    pub roleset: String,
    /// A BIO tag for every word: `B-ARG0`, `I-ARG0`, `O`, and `B-V` at the predicate.
    pub tags: Vec<String>,
}

impl Proposition {
    /// The arguments, and the predicate as one of them, `V`.
    ///
    /// # Errors
    /// If the tags mark none, which those of the readers do.
    pub fn arguments(&self) -> Result<Vec<Argument>, BioFault> {
        bio::arguments(&self.tags)
    }

    /// Whether this is a proposition about a sentence of that many words; then its arguments.
    pub(super) fn arguments_over(&self, words: usize) -> Result<Vec<Argument>, RoleFault> {
        let lemma = || self.lemma.clone();
        let predicate = self.predicate;
        if words <= predicate {
            return Err(RoleFault::NoPredicate { lemma: lemma(), predicate, words });
        }
        if self.tags.len() != words {
            return Err(RoleFault::TagCount { lemma: lemma(), tags: self.tags.len(), words });
        }
        self.arguments().map_err(|fault| RoleFault::Tags { lemma: lemma(), fault })
    }
}
