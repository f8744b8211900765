//! What the readers return: sentences, and the problems that made them skip some.

use std::fmt;
use std::path::{Path, PathBuf};

use super::tree::Tree;

/// A sentence with its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Identifies the sentence within its corpus.
    pub id: String,
    /// The genre, such as `news`.
    pub genre: String,
    /// The parse tree; its leaves are the words.
    pub tree: Tree,
}

/// The contents of a file: sentences with trees, or sentences of another kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus<S = Sentence> {
    /// The sentences that could be read, in file order; never empty.
    pub sentences: Vec<S>,
    /// The malformed ones that were skipped.
    pub problems: Vec<Problem>,
}

/// A tree or a line that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, counting from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Problem {
    /// Records a fault on a line of a file.
    pub fn new(file: &Path, line: usize, fault: &impl fmt::Display) -> Self {
        Problem { file: file.to_owned(), line, message: fault.to_string() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { file, line, message } = self;
        write!(f, "{}:{line}: {message}", file.display())
    }
}
