//! A sentence with everything evalb has not deleted yet, so that quotation marks can be restored.
//!
//! Taggers confuse quotation marks with possessives: `'` is `''` on one side and `POS` on the other.
//! The first is deleted, the second is not, and the numbers of words differ. evalb then restores the
//! deleted mark. It pairs marks by their position among the remaining words, and it moves positions
//! while it goes; [`restore_quotes`] does so in the same order.

use super::brackets::{Bracket, Brackets, bare};
use super::params::Params;
use crate::Tree;

/// The words that remain, and all phrases.
#[derive(Default)]
pub(super) struct Outline<'t> {
    length: usize,
    /// As (tag, word).
    pub(super) words: Vec<(&'t str, &'t str)>,
    /// In the order they open, with whole labels.
    phrases: Vec<Bracket<'t>>,
    quotes: Vec<Quote<'t>>,
}

/// A word that may be a quotation mark with a wrong tag.
struct Quote<'t> {
    /// Its index among the remaining words, or where it would be.
    index: usize,
    tag: &'t str,
    word: &'t str,
    /// How many phrases open before it.
    n_before: usize,
    /// The phrases it lies in.
    around: Vec<usize>,
}

impl<'t> Outline<'t> {
    pub(super) fn of(trees: &'t [Tree], params: &Params) -> Self {
        let mut outline = Outline::default();
        let mut open = Vec::new();
        trees.iter().for_each(|tree| outline.visit(tree, params, &mut open));
        outline
    }

    fn visit(&mut self, tree: &'t Tree, params: &Params, open: &mut Vec<usize>) {
        match tree {
            Tree::Leaf { tag, word } => {
                self.length += usize::from(params.counts(tag));
                if params.may_be_quote(tag, word) {
                    let (index, n_before) = (self.words.len(), self.phrases.len());
                    self.quotes.push(Quote { index, tag, word, n_before, around: open.clone() });
                }
                if !params.deletes_tag(tag) {
                    self.words.push((tag, word));
                }
            }
            Tree::Node { label, children } => {
                let phrase = self.phrases.len();
                let start = self.words.len();
                self.phrases.push(Bracket { label, start, end: start });
                open.push(phrase);
                children.iter().for_each(|child| self.visit(child, params, open));
                open.pop();
                self.phrases[phrase].end = self.words.len();
            }
        }
    }

    /// Puts a quotation mark back among the words, and moves what follows it.
    fn restore(&mut self, at: usize) {
        let Quote { index, tag, word, n_before, ref around } = self.quotes[at];
        self.words.insert(index, (tag, word));
        for phrase in &mut self.phrases[n_before..] {
            phrase.start += 1;
            phrase.end += 1;
        }
        around.iter().for_each(|&phrase| self.phrases[phrase].end += 1);
        // evalb moves the mark itself too, and may then restore it once more.
        self.quotes[at..].iter_mut().for_each(|quote| quote.index += 1);
    }

    /// What evalb compares: no empty phrases, no deleted ones, no function tags.
    pub(super) fn brackets(self, params: &Params) -> Brackets<'t> {
        let Outline { length, words, phrases, .. } = self;
        let phrases = phrases.into_iter().map(|phrase| {
            let label = bare(phrase.label);
            Bracket { label, ..phrase }
        });
        let counts = |b: &Bracket<'_>| b.start < b.end && !params.deletes_label(b.label);
        Brackets { length, words, brackets: phrases.filter(counts).collect() }
    }
}

/// Restores quotation marks that only one side has deleted.
pub(super) fn restore_quotes(gold: &mut Outline<'_>, test: &mut Outline<'_>, params: &Params) {
    for t in 0..test.quotes.len() {
        let index = test.quotes[t].index;
        for g in 0..gold.quotes.len() {
            if gold.quotes[g].index != index {
                continue;
            }
            let sides = [gold.quotes[g].tag, test.quotes[t].tag];
            match sides.map(|tag| params.deletes_tag(tag)) {
                [true, false] => gold.restore(g),
                [false, true] => test.restore(t),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::read_line;
    use super::*;

    /// Collins's parameters with the quotation marks of `new.prm`.
    fn params() -> Params {
        let quote_labels = ["''", "``", "POS", "NN"].map(str::to_owned).to_vec();
        Params { quote_labels, ..Params::collins() }
    }

    /// Checks the words that remain, and the brackets of gold.
    #[track_caller]
    fn check(gold: &str, test: &str, words: [&str; 2], brackets: &str) {
        let (gold, test) = (read_line(gold).unwrap(), read_line(test).unwrap());
        let (g, t) = Brackets::of_pair(&gold, &test, &params());
        let text = |side: &Brackets<'_>| {
            let words: Vec<_> =
                side.words.iter().map(|(tag, word)| format!("{word}/{tag}")).collect();
            words.join(" ")
        };
        assert_eq!([text(&g), text(&t)], words);
        let found = g.brackets.iter().map(|b| format!("{}[{},{}]", b.label, b.start, b.end));
        assert_eq!(found.collect::<Vec<_>>().join(" "), brackets);
    }

    // evalb's own counts for these pairs agree with what is expected here.

    #[test]
    fn a_mark_deleted_on_one_side_is_restored() {
        check(
            "(S (NP (NN a) ('' ')) (VP ('' ') (V b)))",
            "(S (NP (NN a) (NN ')) (VP ('' ') (V b)))",
            ["a/NN '/'' b/V", "a/NN '/NN b/V"],
            "S[0,3] NP[0,2] VP[2,3]",
        );
    }

    #[test]
    fn marks_pair_by_position_not_by_order() {
        // Gold has one mark more, which pairs with nothing.
        check(
            "(S ('' ') (NP (NN a) ('' ')) (V b))",
            "(S (NP (NN a) (POS ')) (V b))",
            ["a/NN '/'' b/V", "a/NN '/POS b/V"],
            "S[0,3] NP[0,2]",
        );
        // At another position, nothing pairs.
        check(
            "(S (NP ('' ') (NN a)) (V b))",
            "(S (NP (NN a) (POS ')) (V b))",
            ["a/NN b/V", "a/NN '/POS b/V"],
            "S[0,2] NP[0,1]",
        );
    }

    #[test]
    fn two_marks_in_a_row_are_both_restored() {
        check(
            "(S (NP (NN a) ('' ')) ('' '))",
            "(S (NP (NN a) (POS ')) (POS '))",
            ["a/NN '/'' '/''", "a/NN '/POS '/POS"],
            // evalb restores the first mark twice, both times within NP.
            "S[0,3] NP[0,3]",
        );
    }

    #[test]
    fn the_marks_are_quotes_and_a_slash() {
        for mark in ["'", "\"", "/"] {
            let (gold, test) =
                (format!("(S (A a) ('' {mark}))"), format!("(S (A a) (POS {mark}))"));
            check(&gold, &test, [&format!("a/A {mark}/''"), &format!("a/A {mark}/POS")], "S[0,2]");
        }
        for word in ["``", "''", "`"] {
            let (gold, test) =
                (format!("(S (A a) ('' {word}))"), format!("(S (A a) (POS {word}))"));
            check(&gold, &test, ["a/A", &format!("a/A {word}/POS")], "S[0,1]");
        }
    }

    #[test]
    fn nothing_is_restored_for_a_sentence_without_a_parse() {
        check("(S (POS '))", "(S ('' '))", ["'/POS", ""], "S[0,1]");
    }
}
