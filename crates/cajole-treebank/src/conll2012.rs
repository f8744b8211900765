//! Reads trees from CoNLL-2012 files (`*_gold_conll`): one word per row, with its parse bit.
//!
//! Columns are separated by blanks: document, part, word index, word, POS tag, parse bit; the rest
//! are ignored. `(S(NP*` opens two phrases before its word, `*)` closes one after it. A blank line
//! ends a sentence; lines that begin with `#` mark document boundaries.

use cajole_files::{Located, excerpt};

use super::corpus::Sentence;
use super::error::{Fault, TreeError};
use super::limits::{MOST_DEPTH, MOST_WORDS};
use super::tree::{Tree, unescape};

/// Iterates over the sentences of a file. The genre is the first component of the document's name;
/// the id is the document, the part and an index from 0. A malformed sentence yields an error and
/// does not end the iteration.
///
/// ```
/// use cajole_treebank::conll2012;
///
/// let text = "bn/cnn/01/cnn_0115 0 0 We PRP (S(NP*) -\nbn/cnn/01/cnn_0115 0 1 go VBP (VP*)) -\n";
/// let sentence = conll2012::sentences(text).next().unwrap().unwrap().item;
/// assert_eq!(sentence.id, "bn/cnn/01/cnn_0115/0/0");
/// assert_eq!(sentence.genre, "bn");
/// assert_eq!(sentence.tree.to_string(), "(S (NP (PRP We)) (VP (VBP go)))");
/// ```
pub fn sentences(text: &str) -> Sentences<'_> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    Sentences { rows: lines.enumerate(), numbering: Numbering::default() }
}

/// The sentences of a file; see [`sentences`].
#[derive(Clone, Debug)]
pub struct Sentences<'t> {
    rows: std::iter::Enumerate<std::str::Lines<'t>>,
    numbering: Numbering,
}

impl Iterator for Sentences<'_> {
    type Item = Result<Located<Sentence>, TreeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.rows.find(|(_, row)| is_row(row))?;
        // The terminating row is blank or a comment, so consuming it loses nothing.
        let rest = self.rows.by_ref().take_while(|(_, row)| is_row(row));
        let rows = bounded(std::iter::once(first).chain(rest));
        let (id, genre) = self.numbering.name(first.1);
        let line = first.0 + 1;
        let rows = match rows {
            Ok(rows) => rows,
            Err(fault) => return Some(Err(fault.on(line))),
        };
        Some(tree(&rows).map(|tree| Located { line, item: Sentence { id, genre, tree } }))
    }
}

/// The rows of a sentence, unless it has too many. Consumes all of them in any case.
pub(crate) fn bounded<R>(mut rows: impl Iterator<Item = R>) -> Result<Vec<R>, Fault> {
    let kept = rows.by_ref().take(MOST_WORDS).collect();
    if rows.count() == 0 { Ok(kept) } else { Err(Fault::TooLong) }
}

/// Whether a line belongs to a sentence.
pub(crate) fn is_row(line: &str) -> bool {
    !line.trim_ascii().is_empty() && !line.starts_with('#')
}

/// Numbers the sentences within each part of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering {
    /// The part of the previous sentence, and the next index within it.
    part: String,
    number: usize,
}

impl Numbering {
    /// The id and genre of the next sentence, given its first row. Call it for malformed sentences
    /// too, so that the others keep their index.
    pub(crate) fn name(&mut self, row: &str) -> (String, String) {
        let mut columns = row.split_ascii_whitespace();
        let document = columns.next().unwrap_or_default();
        let part = format!("{document}/{}", columns.next().unwrap_or_default());
        if self.part != part {
            (self.part, self.number) = (part, 0);
        }
        let id = format!("{}/{}", self.part, self.number);
        self.number += 1;
        (id, document.split('/').next().unwrap_or_default().to_owned())
    }
}

/// The tree of a sentence, given its rows with 0-based line numbers.
fn tree(rows: &[(usize, &str)]) -> Result<Tree, TreeError> {
    let mut growing = Growing::default();
    let mut last_line = 0;
    for &(line, row) in rows {
        last_line = line + 1;
        let columns: Vec<_> = row.split_ascii_whitespace().collect();
        let &[_, _, _, word, tag, bit, ..] = columns.as_slice() else {
            let (found, row) = (columns.len(), excerpt(row));
            return Err(Fault::MissingColumns { found, row }.on(last_line));
        };
        growing.add(word, tag, bit).map_err(|fault| fault.on(last_line))?;
    }
    growing.finish().map_err(|fault| fault.on(last_line))
}

/// A partial tree, built word by word.
#[derive(Default)]
pub(crate) struct Growing<'t> {
    open: Vec<(&'t str, Vec<Tree>)>,
    root: Option<Tree>,
    last_bit: &'t str,
}

impl<'t> Growing<'t> {
    /// Applies one row: opens phrases, adds the word, closes phrases.
    pub(crate) fn add(&mut self, word: &str, tag: &str, bit: &'t str) -> Result<(), Fault> {
        self.last_bit = bit;
        let (before, after) =
            bit.split_once('*').ok_or_else(|| Fault::NoStar { bit: bit.to_owned() })?;
        let odd = || Fault::OddBit { bit: bit.to_owned() };
        let outside = || Fault::OutsideTree { word: unescape(word), bit: bit.to_owned() };
        if self.root.is_some() {
            return Err(outside());
        }
        let mut labels = before.split('(');
        if labels.next() != Some("") {
            return Err(odd());
        }
        for label in labels {
            // Count the word's own bracket too.
            if MOST_DEPTH <= self.open.len() + 1 {
                return Err(Fault::TooDeep);
            }
            if label.is_empty() || label.contains(')') {
                return Err(odd());
            }
            self.open.push((label, Vec::new()));
        }
        let (_, siblings) = self.open.last_mut().ok_or_else(outside)?;
        siblings.push(Tree::Leaf { tag: tag.to_owned(), word: unescape(word) });
        for bracket in after.chars() {
            if bracket != ')' {
                return Err(odd());
            }
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let unopened = || Fault::Unopened { text: self.last_bit.to_owned() };
        let (label, children) = self.open.pop().ok_or_else(unopened)?;
        let phrase = Tree::Node { label: label.to_owned(), children };
        match self.open.last_mut() {
            Some((_, siblings)) => siblings.push(phrase),
            None => self.root = Some(phrase),
        }
        Ok(())
    }

    /// Returns the tree after the last word.
    pub(crate) fn finish(self) -> Result<Tree, Fault> {
        let (open, bit) = (self.open.len(), self.last_bit);
        self.root.ok_or_else(|| Fault::Unclosed { open, bit: bit.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds document rows from the word, tag and parse bit of each; "" ends a sentence.
    fn rows(cells: &[&str]) -> String {
        let row = |cells: &&str| match *cells {
            "" => "\n".to_owned(),
            cells => format!("nw/wsj/00/wsj_0001   0  7  {cells}  -  -\n"),
        };
        "#begin document (nw/wsj/00/wsj_0001); part 000\n".to_owned()
            + &cells.iter().map(row).collect::<String>()
            + "#end document\n"
    }

    #[test]
    fn sentences_are_numbered_within_each_part() {
        let text = rows(&["Hi UH (TOP(INTJ*))", "", "", "-LRB- -LRB- (TOP(X*", "a NN *))"])
            + &rows(&["b NN (NP*)"]).replace("  0  7", "  1  7");
        let found: Vec<_> = sentences(&text).map(|s| s.unwrap().item).collect();
        let show = |s: &Sentence| format!("{} {} {}", s.id, s.genre, s.tree);
        assert_eq!(
            found.iter().map(show).collect::<Vec<_>>(),
            [
                "nw/wsj/00/wsj_0001/0/0 nw (TOP (INTJ (UH Hi)))",
                "nw/wsj/00/wsj_0001/0/1 nw (TOP (X (-LRB- -LRB-) (NN a)))",
                "nw/wsj/00/wsj_0001/1/0 nw (NP (NN b))",
            ]
        );
        assert_eq!(found[1].tree.leaves()[0], ("-LRB-", "("));
    }

    /// Puts a malformed sentence between two good ones, which must survive.
    #[track_caller]
    fn check(malformed: &[&str], line: usize, expected: &str) {
        let good = ["a NN (NP*)"];
        let text = rows(&[&good[..], &[""], malformed, &[""], &good[..]].concat());
        let found: Vec<_> = sentences(&text).collect();
        assert_eq!(found.len(), 3);
        let [before, after] = [0, 2].map(|i| &found[i].as_ref().unwrap().item);
        assert_eq!(before.tree, after.tree);
        assert!(after.id.ends_with("/2"), "malformed sentences are counted");
        let error = found[1].as_ref().unwrap_err().to_string();
        assert_eq!(error, format!("line {line}: {expected}"));
    }

    #[test]
    fn faults_report_their_line() {
        check(&["a NN *"], 4, "the word \"a\" is outside the tree, by its parse bit \"*\"");
        check(
            &["a NN (NP*)", "b NN *"],
            5,
            "the word \"b\" is outside the tree, by its parse bit \"*\"",
        );
        check(&["a NN (NP*", "b NN -"], 5, "the parse bit \"-\" has no \"*\"");
        for bit in ["(NP*x)", "NP(NP*)", "((NP*))", "(A)B*)", "(NP**)", "(NP*)(VP)"] {
            let expected = format!("the parse bit {bit:?} is not of the form \"(A(B*))\"");
            check(&[&format!("a NN {bit}")], 4, &expected);
        }
        check(
            &["a NN (NP*", "b NN *))"],
            5,
            "unbalanced: a closing bracket has no opening one, at \"*))\"",
        );
        check(
            &["a NN (S(NP*", "b NN *)"],
            5,
            "the sentence ends with 1 brackets still open; its last parse bit is \"*)\"",
        );
        let deep = format!("a NN {}*{}", "(X".repeat(100_000), ")".repeat(100_000));
        check(&[&deep], 4, "more than 1000 brackets within one another");
    }

    #[test]
    fn short_rows_are_reported() {
        let error = sentences("\nnw/a 0 1 word NN\n").next().unwrap().unwrap_err();
        let expected =
            "5 columns of at least 6 (the parse bit is the sixth), in \"nw/a 0 1 word NN\"";
        assert_eq!(error.to_string(), format!("line 2: {expected}"));
    }

    proptest! {
        #[test]
        fn garbage_is_rejected_without_panic(
            bits in prop::collection::vec("[()*A]{1,8}", 0..5),
            any in ".{0,60}",
        ) {
            let cells: Vec<_> = bits.iter().map(|bit| format!("w T {bit}")).collect();
            let text = rows(&cells.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert!(sentences(&text).count() <= 1);
            prop_assert!(sentences(&any).count() <= 60);
        }
    }
}
