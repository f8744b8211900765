//! What the readers return: sentences, and what had to be left out.

use std::fmt;
use std::path::PathBuf;

use super::tree::Tree;

/// What a reader found, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// The line it begins on, from 1.
    pub line: usize,
    /// The tree or the sentence.
    pub item: T,
}

/// A sentence with its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Names the sentence within its corpus.
    pub id: String,
    /// The kind of text, such as `news`.
    pub genre: String,
    /// The words are its leaves.
    pub tree: Tree,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corpus {
    /// The sentences that could be read, in the order of the file; at least one.
    pub sentences: Vec<Sentence>,
    /// The malformed ones, which were skipped.
    pub problems: Vec<Problem>,
}

/// A tree or a line that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { file, line, message } = self;
        write!(f, "{}:{line}: {message}", file.display())
    }
}
