//! The nodes of a tree as word spans, which arguments should coincide with.

use serde::{Deserialize, Serialize};

use crate::Tree;

/// Which constituents count as nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// Phrases only. This reading reproduces the paper's rate of gold propositions that agree with
    /// their trees.
    #[default]
    Phrasal,
    /// Phrases and single words.
    All,
}

impl Reading {
    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Reading::Phrasal => "phrasal",
            Reading::All => "all",
        }
    }
}

/// The spans of a tree's nodes: half-open, sorted and distinct.
///
/// ```
/// use cajole_treebank::roles::{Reading, nodes};
/// use cajole_treebank::penn::parse_tree;
///
/// let tree = parse_tree("(S (NP (PRP They)) (VP (VBP run)  (ADVP (RB very) (RB fast))))").unwrap();
/// assert_eq!(nodes(&tree, Reading::Phrasal), [(0, 1), (0, 4), (1, 4), (2, 4)]);
/// assert_eq!(nodes(&tree, Reading::All).len(), 7);
/// ```
pub fn nodes(tree: &Tree, reading: Reading) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    add(tree, 0, reading, &mut spans);
    spans.sort_unstable();
    spans.dedup();
    spans
}

/// Adds the spans of a tree that begins at word `start`; returns its end.
fn add(tree: &Tree, start: usize, reading: Reading, spans: &mut Vec<(usize, usize)>) -> usize {
    let (end, is_node) = match tree {
        Tree::Leaf { .. } => (start + 1, reading == Reading::All),
        Tree::Node { children, .. } => {
            (children.iter().fold(start, |at, child| add(child, at, reading, spans)), true)
        }
    };
    if is_node {
        spans.push((start, end));
    }
    end
}
