//! Errors in a single sentence with roles, shared by all formats.

use super::bio::BioFault;
use crate::{Fault, TreeError};

/// A malformed sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RoleError {
    /// The line of the fault, from 1.
    pub line: usize,
    /// What is wrong.
    pub fault: RoleFault,
}

/// What is wrong with a sentence. Quoted text comes from the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoleFault {
    /// A fault in its tree, its words, or the whole line.
    #[error(transparent)]
    Tree(#[from] Fault),

    // === JSON lines ===
    /// Words or POS tags are missing, and there is no tree to take them from.
    #[error("{id:?} has neither a tree nor {list}")]
    NoWords {
        /// The sentence.
        id: String,
        /// `tokens` or `pos`.
        list: &'static str,
    },
    /// The numbers of words and POS tags differ.
    #[error("{id:?} has {pos} pos for {tokens} tokens")]
    PosCount {
        /// The sentence.
        id: String,
        /// How many POS tags.
        pos: usize,
        /// How many words.
        tokens: usize,
    },
    /// A predicate index beyond the sentence.
    #[error("the predicate {lemma:?} is word {predicate}, counted from 0, of only {words}")]
    NoPredicate {
        /// The lemma.
        lemma: String,
        /// The index of the predicate.
        predicate: usize,
        /// How many words there are.
        words: usize,
    },
    /// A predicate whose tag count differs from the word count.
    #[error("the predicate {lemma:?} has {tags} tags for {words} words")]
    TagCount {
        /// Its lemma.
        lemma: String,
        /// How many tags.
        tags: usize,
        /// How many words.
        words: usize,
    },
    /// A predicate whose tags are not valid BIO.
    #[error("the predicate {lemma:?}: {fault}")]
    Tags {
        /// Its lemma.
        lemma: String,
        /// The BIO error.
        fault: BioFault,
    },

    // === Columns ===
    /// A row with too few columns.
    #[error("{found} columns of at least {least}, in {row:?}")]
    FewColumns {
        /// How many columns there are.
        found: usize,
        /// The minimum.
        least: usize,
        /// The row.
        row: String,
    },
    /// A row whose length differs from the first row's.
    #[error("{found} columns, where the first row of the sentence has {first}, in {row:?}")]
    UnevenColumns {
        /// How many columns there are.
        found: usize,
        /// How many the first row has.
        first: usize,
        /// The row.
        row: String,
    },
    /// The numbers of argument columns and predicates differ.
    #[error("{columns} columns of arguments for {predicates} predicates")]
    ColumnCount {
        /// How many argument columns.
        columns: usize,
        /// How many predicates.
        predicates: usize,
    },
    /// A malformed argument bit.
    #[error("the argument bit {bit:?} is none of \"*\", \"(ROLE*\", \"*)\" and \"(ROLE*)\"")]
    OddBit {
        /// The bit.
        bit: String,
    },
    /// An argument inside another.
    #[error(
        "the argument that begins at {bit:?} is within another, {open:?}, begun {ago} rows before"
    )]
    Nested {
        /// The bit that begins it.
        bit: String,
        /// The role of the enclosing argument.
        open: String,
        /// How many rows earlier that one begins.
        ago: usize,
    },
    /// A closing bracket without an open argument.
    #[error("the argument bit {bit:?} closes an argument that was not opened")]
    Unopened {
        /// The bit.
        bit: String,
    },
    /// An argument that is never closed.
    #[error("the argument {role:?} that begins here is not closed")]
    Unclosed {
        /// Its role.
        role: String,
    },

    // === Writing ===
    /// Two propositions for one word; a word has only one column.
    #[error("the word {predicate}, counted from 0, is the predicate of several propositions")]
    SamePredicate {
        /// The index of the word.
        predicate: usize,
    },
    /// A role or phrase label that a column cannot represent.
    #[error("{label:?} cannot be written in a column: it has brackets or a star in it")]
    Unbracketable {
        /// The role or label.
        label: String,
    },
    /// A value that a column cannot represent.
    #[error("{value:?} cannot be written in a column: it is empty, a hyphen, or has blanks in it")]
    Unwritable {
        /// The value.
        value: String,
    },
}

impl RoleFault {
    /// Attaches a line number.
    pub(super) fn on(self, line: usize) -> RoleError {
        RoleError { line, fault: self }
    }
}

impl From<TreeError> for RoleError {
    fn from(TreeError { line, fault }: TreeError) -> Self {
        RoleError { line, fault: fault.into() }
    }
}
