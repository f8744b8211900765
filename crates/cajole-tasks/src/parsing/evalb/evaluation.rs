//! Whole files, sentence by sentence.

use std::fs;
use std::path::{Path, PathBuf};

use super::brackets::Brackets;
use super::params::Params;
use super::read::read_line;
use super::score::{Score, SentenceScore, Status, score, score_forests};
use crate::treebank::Tree;

/// The scores of many sentences. It displays as evalb's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Each sentence.
    pub sentences: Vec<SentenceScore>,
    /// All of them together.
    pub all: Score,
    /// Those of up to [`Evaluation::cutoff_length`] words.
    pub short: Score,
    /// How long a short sentence may be.
    pub cutoff_length: usize,
    /// Whether it ended at a sentence because there were too many errors.
    pub is_cut_off: bool,
}

/// Why two files cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// A file is missing or cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// A file is not in UTF-8.
    #[error("{path}:{line}: not UTF-8", path = path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// The first line that is not, from 1.
        line: usize,
    },
    /// Lines do not go together.
    #[error(
        "numbers of lines differ: {gold_lines} in {gold}, {test_lines} in {test}; \
         there has to be a line for each sentence, if a blank one",
        gold = gold.display(), test = test.display()
    )]
    Lines {
        /// The file with the right trees.
        gold: PathBuf,
        /// Its lines.
        gold_lines: usize,
        /// The file that is scored.
        test: PathBuf,
        /// Its lines.
        test_lines: usize,
    },
}

impl Evaluation {
    /// Scores trees in memory, each behind its gold.
    pub fn of<'t>(pairs: impl IntoIterator<Item = (&'t Tree, &'t Tree)>, params: &Params) -> Self {
        let scores = pairs.into_iter().map(|(gold, test)| score(gold, test, params));
        Evaluation::sum(scores, params, usize::MAX)
    }

    /// Scores a file against gold's, line by line. A blank line is a sentence without a parse, a
    /// line that cannot be read is an error of its sentence.
    ///
    /// # Errors
    /// If a file cannot be read, or one has more lines than the other.
    pub fn of_files(gold: &Path, test: &Path, params: &Params) -> Result<Self, EvaluationError> {
        let (gold_text, test_text) = (read_text(gold)?, read_text(test)?);
        let (gold_lines, test_lines) = (gold_text.lines().count(), test_text.lines().count());
        if gold_lines != test_lines {
            let (gold, test) = (gold.to_owned(), test.to_owned());
            return Err(EvaluationError::Lines { gold, gold_lines, test, test_lines });
        }
        let pairs = gold_text.lines().zip(test_text.lines()).enumerate();
        let scores = pairs.map(|(i, (g, t))| {
            let read = |path: &Path, line: &str| {
                let reason = |e| format!("{}:{}: {e}", path.display(), i + 1);
                read_line(line).map_err(|e| Status::Malformed { reason: reason(e) })
            };
            score_read(read(gold, g), read(test, t), params)
        });
        Ok(Evaluation::sum(scores, params, params.most_errors))
    }

    fn sum(
        scores: impl Iterator<Item = SentenceScore>,
        params: &Params,
        most_errors: usize,
    ) -> Self {
        let mut evaluation = Evaluation {
            sentences: Vec::new(),
            all: Score::default(),
            short: Score::default(),
            cutoff_length: params.cutoff_length,
            is_cut_off: false,
        };
        for sentence in scores {
            evaluation.all += sentence.score;
            if sentence.length <= params.cutoff_length {
                evaluation.short += sentence.score;
            }
            evaluation.sentences.push(sentence);
            if evaluation.all.errors > most_errors {
                evaluation.is_cut_off = true;
                break;
            }
        }
        evaluation
    }

    /// What evalb says of each error: `18 : Length unmatch (7|6)`.
    pub fn messages(&self) -> impl Iterator<Item = String> {
        let numbered = (1..).zip(&self.sentences);
        let errors = numbered.filter(|(_, sentence)| sentence.status.code() == 1);
        errors.map(|(id, sentence)| format!("{id} : {}", sentence.status))
    }
}

/// Scores a sentence of which either side may be malformed.
fn score_read(
    gold: Result<Vec<Tree>, Status>,
    test: Result<Vec<Tree>, Status>,
    params: &Params,
) -> SentenceScore {
    match (gold, test) {
        (Ok(gold), Ok(test)) => score_forests(&gold, &test, params),
        (Ok(gold), Err(status)) => {
            SentenceScore::left_out(Brackets::of(&gold, params).length, status)
        }
        (Err(status), _) => SentenceScore::left_out(0, status),
    }
}

fn read_text(path: &Path) -> Result<String, EvaluationError> {
    let bytes =
        fs::read(path).map_err(|source| EvaluationError::Io { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&byte| byte == b'\n').count() + 1;
        EvaluationError::Encoding { path: path.to_owned(), line }
    })
}
