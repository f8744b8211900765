//! What can be wrong with one sentence of a file with roles, in any of the formats.

use super::bio::BioFault;
use crate::treebank::{Fault, TreeError};

/// A malformed sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RoleError {
    /// The line of the fault, from 1.
    pub line: usize,
    /// What is wrong.
    pub fault: RoleFault,
}

/// What is wrong with a sentence; quoted text comes from the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleFault {
    /// Its tree, its words, or the whole line.
    #[error(transparent)]
    Tree(#[from] Fault),

    // === JSON lines ===
    /// Words or their tags are neither given nor to be had from a tree.
    #[error("{id:?} has neither a tree nor {list}")]
    NoWords {
        /// The sentence.
        id: String,
        /// `tokens` or `pos`.
        list: &'static str,
    },
    /// There are words without tags, or tags without words.
    #[error("{id:?} has {pos} pos for {tokens} tokens")]
    PosCount {
        /// The sentence.
        id: String,
        /// How many tags.
        pos: usize,
        /// How many words.
        tokens: usize,
    },
    /// A predicate that is no word.
    #[error("the predicate {lemma:?} is word {predicate}, counted from 0, of only {words}")]
    NoPredicate {
        /// The lemma.
        lemma: String,
        /// Where it is said to be.
        predicate: usize,
        /// How many words there are.
        words: usize,
    },
    /// A predicate with more or fewer tags than there are words.
    #[error("the predicate {lemma:?} has {tags} tags for {words} words")]
    TagCount {
        /// Its lemma.
        lemma: String,
        /// How many tags.
        tags: usize,
        /// How many words.
        words: usize,
    },
    /// A predicate whose tags are no arguments.
    #[error("the predicate {lemma:?}: {fault}")]
    Tags {
        /// Its lemma.
        lemma: String,
        /// What is wrong with them.
        fault: BioFault,
    },

    // === Columns ===
    /// A row that is too short.
    #[error("{found} columns of at least {least}, in {row:?}")]
    FewColumns {
        /// How many there are.
        found: usize,
        /// How many there should be.
        least: usize,
        /// The row.
        row: String,
    },
    /// A row that is longer or shorter than others.
    #[error("{found} columns, where the first row of the sentence has {first}, in {row:?}")]
    UnevenColumns {
        /// How many there are.
        found: usize,
        /// How many the first row has.
        first: usize,
        /// The row.
        row: String,
    },
    /// There should be a column of arguments for each predicate.
    #[error("{columns} columns of arguments for {predicates} predicates")]
    ColumnCount {
        /// The columns.
        columns: usize,
        /// The predicates.
        predicates: usize,
    },
    /// A bit of an argument that is none.
    #[error("the argument bit {bit:?} is none of \"*\", \"(ROLE*\", \"*)\" and \"(ROLE*)\"")]
    OddBit {
        /// The bit.
        bit: String,
    },
    /// An argument within another.
    #[error(
        "the argument that begins at {bit:?} is within another, {open:?}, begun {ago} rows before"
    )]
    Nested {
        /// Where it begins.
        bit: String,
        /// The role of the other one.
        open: String,
        /// Where that one begins.
        ago: usize,
    },
    /// An argument ends that did not begin.
    #[error("the argument bit {bit:?} closes an argument that was not opened")]
    Unopened {
        /// The bit.
        bit: String,
    },
    /// An argument that begins and never ends.
    #[error("the argument {role:?} that begins here is not closed")]
    Unclosed {
        /// Its role.
        role: String,
    },

    // === Writing ===
    /// There is a column for each word that is a predicate, not more.
    #[error("the word {predicate}, counted from 0, is the predicate of several propositions")]
    SamePredicate {
        /// The word.
        predicate: usize,
    },
    /// A role or a phrase type that a bit of a column cannot hold.
    #[error("{label:?} cannot be written in a column: it has brackets or a star in it")]
    Unbracketable {
        /// The role or the type.
        label: String,
    },
    /// A value that a column cannot hold.
    #[error("{value:?} cannot be written in a column: it is empty, a hyphen, or has blanks in it")]
    Unwritable {
        /// The value.
        value: String,
    },
}

impl RoleFault {
    /// The fault on a line.
    pub(super) fn on(self, line: usize) -> RoleError {
        RoleError { line, fault: self }
    }
}

impl From<TreeError> for RoleError {
    fn from(TreeError { line, fault }: TreeError) -> Self {
        RoleError { line, fault: fault.into() }
    }
}
