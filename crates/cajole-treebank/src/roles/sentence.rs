//! Sentences with their parses and the arguments of their predicates.

use super::bio::{self, Argument, BioFault};
use super::error::RoleFault;
use crate::Tree;

/// A sentence, whatever its file format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Identifies the sentence within its corpus.
    pub id: String,
    /// The genre of the text.
    pub genre: String,
    /// The words, brackets unescaped.
    pub tokens: Vec<String>,
    /// The POS tag of each word.
    pub pos: Vec<String>,
    /// The parse, if there is one.
    pub tree: Option<Tree>,
    /// One per predicate, in corpus order.
    pub propositions: Vec<Proposition>,
    /// Whether its document is in the test set of CoNLL-2012, if the file marks that.
    pub is_conll2012: bool,
}

impl Sentence {
    /// The (tag, word) pairs, left to right.
    pub fn leaves(&self) -> Vec<(&str, &str)> {
        let tags = self.pos.iter().map(String::as_str);
        tags.zip(self.tokens.iter().map(String::as_str)).collect()
    }

    /// Whether the predicate is a verb, judging by its POS tag.
    pub fn is_verbal(&self, proposition: &Proposition) -> bool {
        let tag = self.pos.get(proposition.predicate);
        tag.is_some_and(|tag| tag.starts_with('V') || tag.starts_with("MD"))
    }
}

/// A predicate with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposition {
    /// The index of the predicate, from 0.
    pub predicate: usize,
    /// Its lemma.
    pub lemma: String,
    /// Its sense, such as `say.01`; may be empty.
    pub roleset: String,
    /// A BIO tag for every word: `B-ARG0`, `I-ARG0`, `O`, and `B-V` at the predicate.
    pub tags: Vec<String>,
}

impl Proposition {
    /// Its arguments, including the predicate as `V`.
    ///
    /// # Errors
    /// If the tags are not valid BIO; the readers return only valid ones.
    pub fn arguments(&self) -> Result<Vec<Argument>, BioFault> {
        bio::arguments(&self.tags)
    }

    /// Checks that the proposition fits a sentence of `words` words, and returns its arguments.
    ///
    /// # Errors
    /// If the predicate or the number of tags does not fit, or the tags are not valid BIO.
    pub fn arguments_over(&self, words: usize) -> Result<Vec<Argument>, RoleFault> {
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
