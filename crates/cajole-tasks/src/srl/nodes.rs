//! The nodes of a tree as spans of words: what arguments should be.

use serde::{Deserialize, Serialize};

use crate::treebank::Tree;

/// What counts as a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// Phrases only. By this reading as many gold propositions agree with their trees as the paper
    /// says.
    #[default]
    Phrasal,
    /// Phrases, and every word by itself.
    All,
}

impl Reading {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Reading::Phrasal => "phrasal",
            Reading::All => "all",
        }
    }
}

/// The spans of a tree's nodes, half-open and in order, each once.
///
/// ```
/// use cajole_tasks::srl::{Reading, nodes};
/// use cajole_tasks::treebank::penn::parse_tree;
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

/// Adds the spans of a tree that begins at a word; returns where it ends.
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
