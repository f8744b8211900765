//! Reduces a tree to what evalb compares: its words and brackets, after deletions.

use super::params::Params;
use crate::Tree;

/// A constituent that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket<'t> {
    /// Its label without function tags.
    pub label: &'t str,
    /// Its first word.
    pub start: usize,
    /// One past its last word.
    pub end: usize,
}

/// The words and brackets of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brackets<'t> {
    /// The sentence length, which may count deleted words.
    pub length: usize,
    /// The words that remain, as (tag, word).
    pub words: Vec<(&'t str, &'t str)>,
    /// The brackets, children before parents.
    pub brackets: Vec<Bracket<'t>>,
    /// Words that may be quotation marks with a wrong tag.
    quotes: Vec<Quote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quote {
    /// The index of the leaf, counting deleted ones.
    leaf: usize,
    is_deleted: bool,
}

/// A label without its function tags: `NP` for `NP-SBJ-1` and for `NP=2`.
pub fn bare(label: &str) -> &str {
    label.split(['-', '=']).next().unwrap_or_default()
}

impl<'t> Brackets<'t> {
    /// The words and brackets of one sentence, which is usually a single tree.
    ///
    /// Words with deleted tags are dropped, and so is every phrase left without words. Phrases with
    /// deleted labels are not brackets, but their children stay.
    pub fn of(trees: &'t [Tree], params: &Params) -> Self {
        Brackets::with(trees, params, &[])
    }

    /// The gold and test sides of one sentence. If their word counts differ because a quotation
    /// mark was deleted on one side only, it is restored.
    pub fn of_pair(gold: &'t [Tree], test: &'t [Tree], params: &Params) -> (Self, Self) {
        let (g, t) = (Brackets::of(gold, params), Brackets::of(test, params));
        if g.words.len() == t.words.len() || g.quotes.len() != t.quotes.len() {
            return (g, t);
        }
        let deleted_in = |one: &Self, other: &Self| -> Vec<usize> {
            let pairs = one.quotes.iter().zip(&other.quotes);
            pairs.filter(|(a, b)| a.is_deleted && !b.is_deleted).map(|(a, _)| a.leaf).collect()
        };
        let (back_in_gold, back_in_test) = (deleted_in(&g, &t), deleted_in(&t, &g));
        (Brackets::with(gold, params, &back_in_gold), Brackets::with(test, params, &back_in_test))
    }

    /// Leaves in `kept` stay whatever their tag.
    fn with(trees: &'t [Tree], params: &Params, kept: &[usize]) -> Self {
        let mut found = Brackets::default();
        let mut n_leaves = 0;
        trees.iter().for_each(|tree| found.visit(tree, params, kept, &mut n_leaves));
        found
    }

    fn visit(&mut self, tree: &'t Tree, params: &Params, kept: &[usize], n_leaves: &mut usize) {
        match tree {
            Tree::Leaf { tag, word } => {
                let is_deleted = params.deletes(tag);
                let leaf = *n_leaves;
                *n_leaves += 1;
                self.length += usize::from(params.counts(tag));
                if params.may_be_quote(tag, word) {
                    self.quotes.push(Quote { leaf, is_deleted });
                }
                if !is_deleted || kept.contains(&leaf) {
                    self.words.push((tag, word));
                }
            }
            Tree::Node { label, children } => {
                let start = self.words.len();
                children.iter().for_each(|child| self.visit(child, params, kept, n_leaves));
                let (label, end) = (bare(label), self.words.len());
                if start < end && !params.deletes(label) {
                    self.brackets.push(Bracket { label, start, end });
                }
            }
        }
    }
}

impl Bracket<'_> {
    /// Whether two brackets overlap without one containing the other.
    pub fn crosses(&self, other: &Bracket<'_>) -> bool {
        let enters = |a: &Bracket<'_>, b: &Bracket<'_>| {
            a.start < b.start && b.start < a.end && a.end < b.end
        };
        enters(self, other) || enters(other, self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::read_line;
    use super::*;

    fn check(line: &str, words: &str, brackets: &str) {
        let trees = read_line(line).unwrap();
        let found = Brackets::of(&trees, &Params::collins());
        let text: Vec<&str> = found.words.iter().map(|(_, word)| *word).collect();
        assert_eq!(text.join(" "), words, "{line}");
        let text: Vec<String> =
            found.brackets.iter().map(|b| format!("{}[{},{}]", b.label, b.start, b.end)).collect();
        assert_eq!(text.join(" "), brackets, "{line}");
    }

    #[test]
    fn words_and_phrases_are_deleted() {
        check(
            "(TOP (S (NP-SBJ (NN a)) (, ,) (VP=2 (VB b)) (. .)))",
            "a b",
            "NP[0,1] VP[1,2] S[0,2]",
        );
        // An emptied phrase is dropped, and so is a parent that held nothing else.
        check("(VP (V a) (SBAR (-NONE- 0) (S (-NONE- *T*-1))))", "a", "VP[0,1]");
        // Tags are not cut at a hyphen.
        check("(NP (-LRB- -LRB-) (NN a))", "-LRB- a", "NP[0,2]");
        check("( (S (NN a)))", "a", "S[0,1] [0,1]");
        check("(NN a) (. .) (NN b)", "a b", "");
        check("", "", "");
    }

    #[test]
    fn the_length_counts_punctuation_but_no_traces() {
        let trees = read_line("(S (NN a) (-NONE- *) (. .))").unwrap();
        assert_eq!(Brackets::of(&trees, &Params::collins()).length, 2);
    }

    #[test]
    fn a_quotation_mark_deleted_on_one_side_is_restored() {
        let read = |line| read_line(line).unwrap();
        let params =
            Params { quote_labels: vec!["''".to_owned(), "NN".to_owned()], ..Params::collins() };
        let gold = read("(S (NP (NN a) ('' ')) (VP ('' ') (V b)))");
        let test = read("(S (NP (NN a) (NN ')) (VP ('' ') (V b)))");
        let (g, t) = Brackets::of_pair(&gold, &test, &params);
        assert_eq!(g.words, [("NN", "a"), ("''", "'"), ("V", "b")]);
        assert_eq!(g.brackets, t.brackets);
        // Without a counterpart, nothing is restored.
        let test = read("(S (NP (NN a) (NN ')) (VP (V b)))");
        let (g, t) = Brackets::of_pair(&gold, &test, &params);
        assert_eq!((g.words.len(), t.words.len()), (2, 3));
    }

    #[test]
    fn brackets_cross_only_if_neither_contains_the_other() {
        let bracket = |start, end| Bracket { label: "", start, end };
        for (a, b, want) in [
            ((0, 2), (1, 3), true),
            ((0, 2), (2, 3), false),
            ((0, 3), (1, 3), false),
            ((0, 3), (1, 2), false),
            ((1, 2), (1, 2), false),
        ] {
            let (a, b) = (bracket(a.0, a.1), bracket(b.0, b.1));
            assert_eq!((a.crosses(&b), b.crosses(&a)), (want, want));
        }
    }
}
