//! A sentence of a treebank.

use super::Tree;

/// A tree with where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// What tells it from the others of its treebank.
    pub id: String,
    /// The kind of text it is from, such as `news`.
    pub genre: String,
    /// Its constituency tree.
    pub tree: Tree,
}
