//! What the readers return: sentences, and what had to be left out.

use std::fmt;
use std::path::{Path, PathBuf};

use super::tree::Tree;

/// What a reader found, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// The line it begins on, from 1.
    pub line: usize,
    /// The tree, the sentence or the line.
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

/// What a file holds: sentences with trees, or of another kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus<S = Sentence> {
    /// The sentences that could be read, in the order of the file; at least one.
    pub sentences: Vec<S>,
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

impl Problem {
    pub(crate) fn new(file: &Path, line: usize, fault: &impl fmt::Display) -> Self {
        Problem { file: file.to_owned(), line, message: fault.to_string() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { file, line, message } = self;
        write!(f, "{}:{line}: {message}", file.display())
    }
}
