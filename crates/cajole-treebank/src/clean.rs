//! Strips treebank trees to what parsers learn: no traces, function tags or bare root.

use super::tree::Tree;

/// The tag of traces and other empty categories.
pub(super) const TRACE: &str = "-NONE-";

/// Root labels that carry no information.
const ROOTS: [&str; 5] = ["", "TOP", "ROOT", "S1", "VROOT"];

/// Removes traces, the phrases they leave empty, function tags and indices: `NP-SBJ-1` and `NP=2`
/// become `NP`. POS tags stay as they are.
///
/// A bare root is dropped if it has a single child; with several it becomes `TOP`. Returns `None`
/// if nothing is left.
///
/// ```
/// use cajole_treebank::{clean, penn};
///
/// let tree = "( (S (NP-SBJ-1 (PRP We)) (VP (VBP hope) (S (NP (-NONE- *-1)) (VP (TO to))))))";
/// let tree = clean(penn::parse_tree(tree).unwrap()).unwrap();
/// assert_eq!(tree.to_string(), "(S (NP (PRP We)) (VP (VBP hope) (S (VP (TO to)))))");
/// ```
pub fn clean(tree: Tree) -> Option<Tree> {
    let mut tree = without_traces(tree)?;
    while let Tree::Node { label, children } = &mut tree
        && ROOTS.contains(&label.as_str())
    {
        if 1 < children.len() {
            "TOP".clone_into(label);
            break;
        }
        tree = children.pop()?;
    }
    Some(tree)
}

fn without_traces(tree: Tree) -> Option<Tree> {
    match tree {
        Tree::Leaf { tag, .. } if tag == TRACE => None,
        Tree::Leaf { .. } => Some(tree),
        Tree::Node { mut label, children } => {
            label.truncate(phrase_type(&label).len());
            let children: Vec<_> = children.into_iter().filter_map(without_traces).collect();
            (!children.is_empty()).then_some(Tree::Node { label, children })
        }
    }
}

/// A label up to its first `-` or `=`. A leading one is part of the name, as in `-LRB-`.
fn phrase_type(label: &str) -> &str {
    if label.starts_with('-') {
        return label;
    }
    let end = label.char_indices().skip(1).find(|&(_, c)| c == '-' || c == '=');
    end.map_or(label, |(end, _)| &label[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::penn::parse_tree;

    #[track_caller]
    fn check(tree: &str, expected: &str) {
        let cleaned = clean(parse_tree(tree).unwrap());
        assert_eq!(cleaned.as_ref().map(Tree::to_string).unwrap_or_default(), expected, "{tree}");
        let again = cleaned.clone().and_then(clean);
        assert_eq!(again, cleaned, "cleaning is idempotent");
    }

    #[test]
    fn labels_lose_function_tags_and_indices() {
        check("(NP-SBJ-1 (NN a))", "(NP (NN a))");
        check("(S (NP=2 (NN a)) (PP-LOC=3 (IN b)))", "(S (NP (NN a)) (PP (IN b)))");
        check("(-LRB- (-LRB- -LRB-))", "(-LRB- (-LRB- -LRB-))");
        check("(X (-LRB- -LRB-) (NN-X a-b))", "(X (-LRB- -LRB-) (NN-X a-b))");
        check("(=1 (É-X (NN a)))", "(=1 (É (NN a)))");
    }

    #[test]
    fn traces_and_the_phrases_they_empty_are_removed() {
        check("(S (NP (-NONE- *)) (VP (VB go)))", "(S (VP (VB go)))");
        check("(S (SBAR (WHNP-1 (-NONE- 0)) (S (-NONE- *T*))) (VP (VB go)))", "(S (VP (VB go)))");
        check("( (S (NP (-NONE- *))))", "");
        check("(-NONE- *)", "");
        // `-NONE-` as a word rather than a tag.
        check("(NN -NONE-)", "(NN -NONE-)");
    }

    #[test]
    fn bare_roots_are_dropped_unless_they_have_several_children() {
        check("( (S (NN a)))", "(S (NN a))");
        check("(ROOT (S1 (TOP (S (NN a)))))", "(S (NN a))");
        check("( (NP (NN a)) (. .))", "(TOP (NP (NN a)) (. .))");
        check("(ROOT (NN a) (NN b))", "(TOP (NN a) (NN b))");
        check("(TOP (S (NN a)) (NP (-NONE- *)))", "(S (NN a))");
        check("(VROOT (UH Yes))", "(UH Yes)");
        check("(S (TOP (NN a)))", "(S (TOP (NN a)))");
    }
}
