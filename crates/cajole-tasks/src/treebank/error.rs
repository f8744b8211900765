//! What can be wrong with one tree of a treebank, in any of the formats.

use super::tree::MOST_DEPTH;

/// A malformed tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct TreeError {
    /// The line of the fault, from 1.
    pub line: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a tree; quoted text comes from the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    // === Brackets ===
    /// The text ends within a tree.
    #[error("the tree that begins here is never closed: {open} of its brackets are still open")]
    Unfinished {
        /// How many.
        open: usize,
    },
    /// A closing bracket too many.
    #[error("unbalanced: a closing bracket has no opening one, at {text:?}")]
    Unopened {
        /// What stands there.
        text: String,
    },
    /// Brackets with nothing in them.
    #[error("empty brackets, \"()\"")]
    EmptyBrackets,
    /// A phrase within a tree that has no label.
    #[error("a phrase within the tree has no label, only parts")]
    NoLabel,
    /// A label with neither a word nor children.
    #[error("({label}) has neither a word nor children")]
    NoContent {
        /// The label.
        label: String,
    },
    /// A word that stands among phrases.
    #[error("the word {word:?} has no tag")]
    NoTag {
        /// The word.
        word: String,
    },
    /// A tag over more than one word.
    #[error("several words under the tag {tag:?}: {first:?} and {second:?}")]
    SeveralWords {
        /// The tag.
        tag: String,
        /// The word it has.
        first: String,
        /// The one that is too many.
        second: String,
    },
    /// Text between trees.
    #[error("text outside brackets: {text:?}")]
    Outside {
        /// The text.
        text: String,
    },
    /// A text of one tree goes on after it.
    #[error("one tree was expected, but {text:?} follows it")]
    AfterTree {
        /// What follows.
        text: String,
    },
    /// A text of one tree is blank.
    #[error("no tree, only blanks")]
    Blank,
    /// The tree is too deep to be one.
    #[error("more than {MOST_DEPTH} brackets within one another")]
    TooDeep,
    /// All leaves are traces.
    #[error("nothing is left of the tree without its traces")]
    OnlyTraces,

    // === CoNLL-2012 ===
    /// A row that is too short.
    #[error("{found} columns of at least 6 (the parse bit is the sixth), in {row:?}")]
    MissingColumns {
        /// How many there are.
        found: usize,
        /// The row.
        row: String,
    },
    /// A parse bit without the place of its word.
    #[error("the parse bit {bit:?} has no \"*\"")]
    NoStar {
        /// The bit.
        bit: String,
    },
    /// A parse bit that is none.
    #[error("the parse bit {bit:?} is not of the form \"(A(B*))\"")]
    OddBit {
        /// The bit.
        bit: String,
    },
    /// A word before the first bracket or after the last one.
    #[error("the word {word:?} is outside the tree, by its parse bit {bit:?}")]
    OutsideTree {
        /// The word.
        word: String,
        /// The bit.
        bit: String,
    },
    /// A sentence that ends within its tree.
    #[error("the sentence ends with {open} brackets still open; its last parse bit is {bit:?}")]
    Unclosed {
        /// How many.
        open: usize,
        /// The last bit.
        bit: String,
    },

    // === JSON lines ===
    /// Not a sentence in JSON.
    #[error("not a sentence in JSON: {message}, at column {column}")]
    Json {
        /// What is wrong.
        message: String,
        /// Where, from 1.
        column: usize,
    },
    /// A list is not as long as the tree.
    #[error("{id:?} has {found} {list}, but a tree over {leaves}")]
    Lengths {
        /// The sentence.
        id: String,
        /// `tokens` or `pos`.
        list: &'static str,
        /// Its length.
        found: usize,
        /// The leaves of the tree.
        leaves: usize,
    },
    /// A list disagrees with the tree.
    #[error("{id:?} has {found:?} among its {list} where its tree has {leaf:?} (number {at})")]
    Disagreement {
        /// The sentence.
        id: String,
        /// `tokens` or `pos`.
        list: &'static str,
        /// What the list says.
        found: String,
        /// What the tree says.
        leaf: String,
        /// Which word, from 1.
        at: usize,
    },
}

impl Fault {
    /// The fault on a line.
    pub(crate) fn on(self, line: usize) -> TreeError {
        TreeError { line, fault: self }
    }
}

/// Enough of a text to be found again, for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
