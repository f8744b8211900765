//! Reads propositions for scoring, sentence by sentence, accepting what `srl-eval.pl` accepts.

use std::path::{Path, PathBuf};

use cajole_files::limits::MOST_CORPUS_BYTES;
use cajole_files::{Lines, Located, excerpt};

use super::evaluation::EvaluationError;
use super::phrases::Phrases;
use crate::limits::{MOST_SENTENCES, MOST_WORDS};
use crate::roles::error::{RoleError, RoleFault};
use crate::roles::props::{predicates, without_mark};
use crate::{Problem, ReadError};

/// The sentences of a file that is being read.
pub(super) struct Rows {
    path: PathBuf,
    lines: Lines,
    n_sentences: usize,
}

/// A sentence.
pub(super) struct Table {
    /// How many words it has.
    pub(super) words: usize,
    /// In the order of their predicates.
    pub(super) columns: Vec<Column>,
}

/// A predicate with its arguments.
pub(super) struct Column {
    /// The index of its word, from 0.
    pub(super) predicate: usize,
    pub(super) lemma: String,
    pub(super) phrases: Phrases,
}

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let lines = Lines::open(path, MOST_CORPUS_BYTES)?;
        Ok(Rows { path: path.to_owned(), lines, n_sentences: 0 })
    }

    /// The next sentence, with the line it begins on.
    pub(super) fn sentence(&mut self) -> Result<Option<Located<Table>>, EvaluationError> {
        let Some(Located { line, item: rows }) = self.rows()? else { return Ok(None) };
        match Table::read(&rows) {
            Ok(item) => Ok(Some(Located { line, item })),
            Err(RoleError { line: row, fault }) => {
                let problem = Problem::new(&self.path, line + row - 1, &fault);
                Err(EvaluationError::Malformed(problem))
            }
        }
    }

    /// How many sentences follow.
    pub(super) fn rest(&mut self) -> Result<usize, EvaluationError> {
        let mut n_sentences = 0;
        while self.rows()?.is_some() {
            n_sentences += 1;
        }
        Ok(n_sentences)
    }

    /// The rows up to the next blank line.
    fn rows(&mut self) -> Result<Option<Located<Vec<String>>>, ReadError> {
        let (mut rows, mut first) = (Vec::new(), 0);
        while let Some(Located { line, item: row }) = self.lines.next()? {
            let row = if line == 1 { without_mark(row) } else { row };
            match row.trim_ascii() {
                "" if rows.is_empty() => {}
                "" => break,
                row => rows.push(row.to_owned()),
            }
            first = line + 1 - rows.len();
            if MOST_WORDS < rows.len() {
                return Err(ReadError::LongSentence { path: self.path.clone(), line });
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        if self.n_sentences == MOST_SENTENCES {
            return Err(ReadError::TooMany { path: self.path.clone() });
        }
        self.n_sentences += 1;
        Ok(Some(Located { line: first, item: rows }))
    }
}

impl Table {
    /// An error's line is the row, from 1.
    fn read(rows: &[String]) -> Result<Self, RoleError> {
        let cells: Vec<Vec<&str>> =
            rows.iter().map(|row| row.split_ascii_whitespace().collect()).collect();
        let predicates = predicates(&cells);
        let least = 1 + predicates.len();
        if let Some(at) = cells.iter().position(|cells| cells.len() < least) {
            let (found, row) = (cells[at].len(), excerpt(&rows[at]));
            return Err(RoleFault::FewColumns { found, least, row }.on(at + 1));
        }
        let columns = (1..).zip(predicates).map(|(column, (predicate, lemma))| {
            let phrases = Phrases::read(cells.iter().map(|cells| cells[column]))?;
            Ok(Column { predicate, lemma: lemma.to_owned(), phrases })
        });
        Ok(Table { words: rows.len(), columns: columns.collect::<Result<_, RoleError>>()? })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Vec<Located<Table>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.props");
        fs::write(&path, text).unwrap();
        let mut rows = Rows::open(&path).unwrap();
        let sentences = std::iter::from_fn(|| rows.sentence().transpose());
        let name = path.to_str().unwrap();
        sentences
            .collect::<Result<_, _>>()
            .map_err(|e: EvaluationError| e.to_string().replace(name, ""))
    }

    #[test]
    fn surplus_columns_are_ignored() {
        let found = read("\u{feff}\n\ngo (V*) * x\n- (A* ?\n- *)\n\n\n- *\n").unwrap();
        let shapes = found.iter().map(|found| {
            let Table { words, columns } = &found.item;
            (found.line, *words, columns.iter().map(|column| column.predicate).collect::<Vec<_>>())
        });
        assert_eq!(shapes.collect::<Vec<_>>(), [(3, 3, vec![0]), (8, 1, vec![])]);
    }

    #[test]
    fn faults_report_their_line() {
        for (text, expected) in [
            ("\ngo (V*) *\n-\n", ":3: 1 columns of at least 2, in \"-\""),
            ("- *\n\n\ngo (V*)\n- (A*\n", ":5: the argument \"A\" that begins here is not closed"),
            (&"-\n".repeat(MOST_WORDS + 1), ":100001: a sentence of more than 100000 words"),
        ] {
            assert_eq!(read(text).err().as_deref(), Some(expected));
        }
    }
}
