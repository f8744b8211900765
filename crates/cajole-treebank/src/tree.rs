//! A constituency tree, and its Penn bracketing.

use std::fmt;

/// A phrase with its children, or a word with its POS tag.
///
/// Readers limit the depth of a tree to [`MOST_DEPTH`](crate::limits::MOST_DEPTH), so recursing over one is safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// A word and its POS tag, `(DT the)`.
    Leaf {
        /// The POS tag, which is not a node of the tree.
        tag: String,
        /// The word, with `-LRB-` and the like unescaped.
        word: String,
    },
    /// A phrase, `(NP …)`; it has at least one child.
    Node {
        /// The phrase label; may be empty at the root.
        label: String,
        /// Its children, left to right.
        children: Vec<Tree>,
    },
}

impl Tree {
    /// The (tag, word) pairs, left to right.
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

/// Formats the tree on one line, as treebanks do.
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

/// Escapes brackets as the Penn Treebank does, because bare ones mean structure.
pub fn escape(word: &str) -> String {
    word.replace('(', "-LRB-").replace(')', "-RRB-")
}

/// The inverse of [`escape`], also inside a word: web text has smileys, `:-RRB-`.
pub fn unescape(word: &str) -> String {
    word.replace("-LRB-", "(").replace("-RRB-", ")")
}
