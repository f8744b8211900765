//! Errors in a single tree, shared by all treebank formats.

use super::limits::{MOST_DEPTH, MOST_WORDS};

/// A malformed tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct TreeError {
    /// The line of the fault, counting from 1.
    pub line: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a tree. Quoted text comes from the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    // === Brackets ===
    /// The text ends inside a tree.
    #[error("the tree that begins here is never closed: {open} of its brackets are still open")]
    Unfinished {
        /// How many brackets are open.
        open: usize,
    },
    /// An unmatched closing bracket.
    #[error("unbalanced: a closing bracket has no opening one, at {text:?}")]
    Unopened {
        /// The text at that point.
        text: String,
    },
    /// Brackets with nothing in them.
    #[error("empty brackets, \"()\"")]
    EmptyBrackets,
    /// An inner phrase without a label.
    #[error("a phrase within the tree has no label, only parts")]
    NoLabel,
    /// A label with neither a word nor children.
    #[error("({label}) has neither a word nor children")]
    NoContent {
        /// The label.
        label: String,
    },
    /// A word directly among phrases.
    #[error("the word {word:?} has no tag")]
    NoTag {
        /// The word.
        word: String,
    },
    /// A POS tag over more than one word.
    #[error("several words under the tag {tag:?}: {first:?} and {second:?}")]
    SeveralWords {
        /// The tag.
        tag: String,
        /// The first word.
        first: String,
        /// The extra word.
        second: String,
    },
    /// Text between trees.
    #[error("text outside brackets: {text:?}")]
    Outside {
        /// The text.
        text: String,
    },
    /// Text after what should be the only tree.
    #[error("one tree was expected, but {text:?} follows it")]
    AfterTree {
        /// The text.
        text: String,
    },
    /// Blank text where one tree was expected.
    #[error("no tree, only blanks")]
    Blank,
    /// The brackets are nested too deeply.
    #[error("more than {MOST_DEPTH} brackets within one another")]
    TooDeep,
    /// The sentence has too many rows.
    #[error("a sentence of more than {MOST_WORDS} words")]
    TooLong,
    /// All leaves are traces.
    #[error("nothing is left of the tree without its traces")]
    OnlyTraces,

    // === CoNLL-2012 ===
    /// A row with too few columns.
    #[error("{found} columns of at least 6 (the parse bit is the sixth), in {row:?}")]
    MissingColumns {
        /// How many columns there are.
        found: usize,
        /// The row.
        row: String,
    },
    /// A parse bit without the `*` that marks its word.
    #[error("the parse bit {bit:?} has no \"*\"")]
    NoStar {
        /// The bit.
        bit: String,
    },
    /// A malformed parse bit.
    #[error("the parse bit {bit:?} is not of the form \"(A(B*))\"")]
    OddBit {
        /// The bit.
        bit: String,
    },
    /// A word before the first bracket or after the last.
    #[error("the word {word:?} is outside the tree, by its parse bit {bit:?}")]
    OutsideTree {
        /// The word.
        word: String,
        /// The bit.
        bit: String,
    },
    /// A sentence that ends with open brackets.
    #[error("the sentence ends with {open} brackets still open; its last parse bit is {bit:?}")]
    Unclosed {
        /// How many brackets are open.
        open: usize,
        /// The last parse bit.
        bit: String,
    },

    // === JSON lines ===
    /// A line that is not a sentence in JSON.
    #[error("not a sentence in JSON: {message}, at column {column}")]
    Json {
        /// What is wrong.
        message: String,
        /// The column, counting from 1.
        column: usize,
    },
    /// A list whose length differs from the number of leaves.
    #[error("{id:?} has {found} {list}, but a tree over {leaves}")]
    Lengths {
        /// The sentence.
        id: String,
        /// `tokens` or `pos`.
        list: &'static str,
        /// Its length.
        found: usize,
        /// How many leaves the tree has.
        leaves: usize,
    },
    /// A list that disagrees with the tree.
    #[error("{id:?} has {found:?} among its {list} where its tree has {leaf:?} (word {at})")]
    Disagreement {
        /// The sentence.
        id: String,
        /// `tokens` or `pos`.
        list: &'static str,
        /// What the list says.
        found: String,
        /// What the tree says.
        leaf: String,
        /// The index of the word, from 0.
        at: usize,
    },
}

impl Fault {
    /// Attaches a line number.
    pub(crate) fn on(self, line: usize) -> TreeError {
        TreeError { line, fault: self }
    }
}
