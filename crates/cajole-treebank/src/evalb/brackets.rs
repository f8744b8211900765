//! Reduces a tree to what evalb compares: its words and brackets, after deletions.

use super::outline::{Outline, restore_quotes};
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
    /// The brackets in the order they open. Where `EQ_LABEL`s make a bracket equal to several, the
    /// first one takes it.
    pub brackets: Vec<Bracket<'t>>,
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
        Outline::of(trees, params).brackets(params)
    }

    /// The gold and test sides of one sentence. If their word counts differ because a quotation
    /// mark was deleted on one side only, it is restored.
    pub(super) fn of_pair(gold: &'t [Tree], test: &'t [Tree], params: &Params) -> (Self, Self) {
        let (mut gold, mut test) = (Outline::of(gold, params), Outline::of(test, params));
        if !test.words.is_empty() && gold.words.len() != test.words.len() {
            restore_quotes(&mut gold, &mut test, params);
        }
        (gold.brackets(params), test.brackets(params))
    }
}

impl Bracket<'_> {
    /// Whether two brackets overlap without one containing the other.
    pub(super) fn crosses(&self, other: &Bracket<'_>) -> bool {
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
            "S[0,2] NP[0,1] VP[1,2]",
        );
        // An emptied phrase is dropped, and so is a parent that held nothing else.
        check("(VP (V a) (SBAR (-NONE- 0) (S (-NONE- *T*-1))))", "a", "VP[0,1]");
        // Tags are not cut at a hyphen.
        check("(NP (-LRB- -LRB-) (NN a))", "-LRB- a", "NP[0,2]");
        check("( (S (NN a)))", "a", "[0,1] S[0,1]");
        check("(NN a) (. .) (NN b)", "a b", "");
        check("", "", "");
    }

    #[test]
    fn the_length_counts_punctuation_but_no_traces() {
        let trees = read_line("(S (NN a) (-NONE- *) (. .))").unwrap();
        assert_eq!(Brackets::of(&trees, &Params::collins()).length, 2);
    }

    #[test]
    fn labels_equal_to_deleted_ones_delete_phrases_but_no_words() {
        let params = Params::parse("DELETE_LABEL X\nEQ_LABEL X Y\nEQ_LABEL Y Z").unwrap();
        let trees = read_line("(Z (Y-1 (X a) (Y b)) (X (Z c)))").unwrap();
        let found = Brackets::of(&trees, &params);
        assert_eq!(found.words, [("Y", "b"), ("Z", "c")]);
        assert_eq!(found.brackets, [Bracket { label: "Z", start: 0, end: 2 }]);
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
