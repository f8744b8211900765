//! CoNLL-2012 files (`*_gold_conll`) with all their columns: one word per row, at least twelve
//! blank-separated columns, a blank line after each sentence, and lines that begin with `#` around
//! documents.
//!
//! [`sentences`] reads what semantic role labeling needs. A [`Document`] keeps everything, down to
//! the blanks between columns, and round-trips byte for byte.
//!
//! The format cannot represent nested arguments, two propositions for one word, a proposition
//! without a sense (having a sense is what marks a predicate), a roleset whose name differs from
//! the lemma (only its number is written), or a literal bracket in a word (it is written `-LRB-` or
//! `-RRB-`, so a word spelled that way reads back as a bracket).

mod row;
mod table;

use std::fmt;

use cajole_files::Located;
pub use row::{Layout, Row};
pub use table::Table;

use super::error::{RoleError, RoleFault};
use super::sentence::Sentence;
use crate::conll2012::{Numbering, bounded, is_row};

/// Iterates over the sentences of a file. The genre is the first component of the document's name;
/// the id is the document, the part and an index from 0. A malformed sentence yields an error and
/// does not end the iteration.
///
/// ```
/// use cajole_treebank::roles::conll2012;
///
/// let text = "bn/a 0 0 We PRP (TOP(S(NP*) - - - - * (ARG0*) -
/// bn/a 0 1 go VBP (VP*))) go 01 1 - * (V*) -
/// ";
/// let sentence = conll2012::sentences(text).next().unwrap().unwrap().item;
/// assert_eq!(sentence.id, "bn/a/0/0");
/// assert_eq!(sentence.tree.unwrap().to_string(), "(S (NP (PRP We)) (VP (VBP go)))");
/// assert_eq!(sentence.propositions[0].roleset, "go.01");
/// assert_eq!(sentence.propositions[0].tags, ["B-ARG0", "B-V"]);
/// ```
pub fn sentences(text: &str) -> impl Iterator<Item = Result<Located<Sentence>, RoleError>> {
    blocks(text).filter_map(|found| match found {
        Err(error) => Some(Err(error)),
        Ok(Located { item: Block::Between(_), .. }) => None,
        Ok(Located { line, item: Block::Table(table) }) => match table.sentence() {
            Ok(item) => Some(Ok(Located { line, item })),
            Err(RoleError { line: row, fault }) => Some(Err(fault.on(line + row - 1))),
        },
    })
}

/// A whole file. Displays exactly as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its contents in order.
    pub blocks: Vec<Block>,
}

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A sentence.
    Table(Table),
    /// A line between sentences, with its line ending: blank, or beginning with `#`.
    Between(String),
}

impl Document {
    /// Reads a file. Sentences with a row that is too short are dropped and returned as errors.
    /// Brackets are not checked until [`Table::sentence`].
    pub fn read(text: &str) -> (Self, Vec<RoleError>) {
        let (mut document, mut errors) = (Document::default(), Vec::new());
        for found in blocks(text) {
            match found {
                Ok(found) => document.blocks.push(found.item),
                Err(error) => errors.push(error),
            }
        }
        (document, errors)
    }

    /// The sentences.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            Block::Between(_) => None,
        })
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.blocks.iter().try_for_each(|block| match block {
            Block::Table(table) => table.fmt(f),
            Block::Between(line) => f.write_str(line),
        })
    }
}

/// The blocks of a file, each with its first line.
fn blocks(text: &str) -> impl Iterator<Item = Result<Located<Block>, RoleError>> {
    const MARK: &str = "\u{feff}";
    // Some editors write a byte order mark.
    let marked = text.strip_prefix(MARK);
    let mark = marked.map(|_| Located { line: 1, item: Block::Between(MARK.to_owned()) });
    let text = marked.unwrap_or(text);
    let mut lines = (1..).zip(text.split_inclusive('\n')).peekable();
    let mut numbering = Numbering::default();
    let rest = std::iter::from_fn(move || {
        let (line, first) = lines.next()?;
        if !is_row(first) {
            return Some(Ok(Located { line, item: Block::Between(first.to_owned()) }));
        }
        let next = || lines.next_if(|(_, row)| is_row(row)).map(|(_, row)| row);
        let rows = bounded(std::iter::once(first).chain(std::iter::from_fn(next)));
        let (id, genre) = numbering.name(first);
        let rows = match rows {
            Ok(rows) => rows,
            Err(fault) => return Some(Err(RoleFault::from(fault).on(line))),
        };
        let row = |(line, row)| Row::read(row).map_err(|fault| fault.on(line));
        let rows: Result<_, _> = (line..).zip(rows).map(row).collect();
        Some(rows.map(|rows| Located { line, item: Block::Table(Table { id, genre, rows }) }))
    });
    mark.map(Ok).into_iter().chain(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn endless_sentences_are_refused_and_the_next_is_read() {
        let row = "a/b 0 0 x NN (TOP*) - - - - * *\n";
        let text = format!("{}\n{row}", row.repeat(100_001));
        let expected = "line 1: a sentence of more than 100000 words";
        let found: Vec<_> = sentences(&text).map(|s| s.map_err(|e| e.to_string())).collect();
        assert_eq!(found[0].as_ref().unwrap_err(), expected);
        assert_eq!((found.len(), found[1].as_ref().unwrap().line), (2, 100_003));
        let trees: Vec<_> = crate::conll2012::sentences(&text).collect();
        assert_eq!(trees[0].as_ref().unwrap_err().to_string(), expected);
        assert!(trees[1].is_ok());
    }

    #[test]
    fn lines_between_sentences_round_trip() {
        let row = "a/b 0\t0  x\u{a0}y  NN (TOP*) - - - -  (GPE) (1)";
        for text in [
            "".to_owned(),
            format!("\u{feff}#begin document (a/b); part 000\r\n{row} \r\n \t\r\n#end document"),
            format!("\n\n{row}\n\n\n{row}"),
        ] {
            let (document, errors) = Document::read(&text);
            assert_eq!(document.to_string(), text);
            assert_eq!(errors, []);
            for table in document.tables() {
                assert_eq!(table.sentence().unwrap().tokens, ["x\u{a0}y"]);
            }
        }
    }

    /// Puts a malformed sentence between good ones, which must survive. `cells` are the parse bit,
    /// lemma, sense and arguments of each of its words.
    #[track_caller]
    fn check(malformed: &[&str], line: usize, expected: &str) {
        let good = "a/b 0 0 go VB (TOP(VP*)) go 01 - - * (V*) -\n\n";
        let row = |cells: &&str| {
            let [bit, lemma, sense, arguments @ ..] = &cells.split(' ').collect::<Vec<_>>()[..]
            else {
                return format!("{cells}\n");
            };
            format!("a/b 0 7 w NN {bit} {lemma} {sense} 1 - * {} -\n", arguments.join(" "))
        };
        let text = format!("{good}{}\n{good}", malformed.iter().map(row).collect::<String>());
        let found: Vec<_> = sentences(&text).collect();
        assert_eq!(found.len(), 3);
        let [before, after] = [0, 2].map(|i| &found[i].as_ref().unwrap().item);
        assert_eq!(before.propositions, after.propositions);
        assert!(after.id.ends_with("/2"), "malformed sentences are counted");
        let error = found[1].as_ref().unwrap_err().to_string();
        assert_eq!(error, format!("line {line}: {expected}"));
    }

    #[test]
    fn faults_report_their_line() {
        check(
            &["(TOP(S* - -", "* - -"],
            4,
            "the sentence ends with 2 brackets still open; its last parse bit is \"*\"",
        );
        check(&["(TOP* - -", "- - -"], 4, "the parse bit \"-\" has no \"*\"");
        check(&["(TOP* - - *", "*) - - *"], 3, "1 columns of arguments for 0 predicates");
        check(&["(TOP* be 01", "*) be 02"], 3, "0 columns of arguments for 2 predicates");
        check(
            &["(TOP* be 01 (V*)", "*) - -"],
            4,
            "12 columns, where the first row of the sentence has 13, in \"a/b 0 7 w NN *) - - 1 \
             - *  -\"",
        );
        check(&["a/b 0"], 3, "2 columns of at least 12, in \"a/b 0\"");
        check(
            &["(TOP* be 01 (ARG0*", "* - - (ARG1*)", "*) - - *)"],
            4,
            "the argument that begins at \"(ARG1*)\" is within another, \"ARG0\", begun 1 rows \
             before",
        );
        check(
            &["(TOP* be 01 (V*)", "*) - - *)"],
            4,
            "the argument bit \"*)\" closes an argument that was not opened",
        );
        check(
            &["(TOP* be 01 (V*)", "*) - - (ARG0*"],
            4,
            "the argument \"ARG0\" that begins here is not closed",
        );
    }

    proptest! {
        #[test]
        fn garbage_is_rejected_without_panic(
            text in "([-(*)A#]{0,3}[ \n]){0,40}",
            bits in prop::collection::vec("[(*)A]{1,4}", 0..4),
            any in ".{0,60}",
        ) {
            let rows = bits.iter().map(|bit| format!("a 0 0 w T {bit} be 01 - - * {bit} -\n"));
            for text in [text, rows.collect(), any] {
                prop_assert!(sentences(&text).count() <= text.len());
                let (document, errors) = Document::read(&text);
                prop_assert!(!errors.is_empty() || document.to_string() == text);
            }
        }
    }
}
