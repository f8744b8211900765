//! A constituency tree, and its Penn bracketing.

use std::fmt;

/// A phrase with its parts, or a word with its part of speech.
///
/// Readers bound the depth of a tree ([`MOST_DEPTH`]), so that walking one may recurse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// A word under its part-of-speech tag, `(DT the)`.
    Leaf {
        /// The part of speech, which is no node of the tree.
        tag: String,
        /// The word, `-LRB-` and the like unescaped.
        word: String,
    },
    /// A phrase, `(NP …)`; it has at least one child.
    Node {
        /// The phrase type; may be empty at the root.
        label: String,
        /// Its parts, from left to right.
        children: Vec<Tree>,
    },
}

/// Trees deeper than this are refused when they are read or built.
pub const MOST_DEPTH: usize = 1000;

impl Tree {
    /// The words with their tags, from left to right.
    pub fn leaves(&self) -> Vec<(&str, &str)> {
        let mut leaves = Vec::new();
        self.each_leaf(&mut |tag, word| leaves.push((tag, word)));
        leaves
    }

    fn each_leaf<'t>(&'t self, take: &mut impl FnMut(&'t str, &'t str)) {
        match self {
            Tree::Leaf { tag, word } => take(tag, word),
            Tree::Node { children, .. } => children.iter().for_each(|c| c.each_leaf(take)),
        }
    }
}

/// On one line, as treebanks have it.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Leaf { tag, word } => write!(f, "({} {})", escape(tag), escape(word)),
            Tree::Node { label, children } => {
                write!(f, "({label}")?;
                for child in children {
                    write!(f, " {child}")?;
                }
                write!(f, ")")
            }
        }
    }
}

/// Brackets as the Penn Treebank writes them, since bare ones mean structure.
pub fn escape(word: &str) -> String {
    word.replace('(', "-LRB-").replace(')', "-RRB-")
}

/// The opposite of [`escape`], also within a word: web text has smileys, `:-RRB-`.
pub fn unescape(word: &str) -> String {
    word.replace("-LRB-", "(").replace("-RRB-", ")")
}
