//! Scores whole files, sentence by sentence.

use std::path::{Path, PathBuf};

use cajole_files::limits::{MOST_CORPUS_BYTES, MOST_SETTINGS_BYTES};
use cajole_files::{Lines, TextError, text_of};

use super::brackets::Brackets;
use super::params::{Params, ParamsError};
use super::read::read_line;
use super::score::{Score, SentenceScore, Status, score, score_forests};
use crate::limits::MOST_SENTENCES;
use crate::{ReadError, Tree};

/// The scores of many sentences. Displays as evalb's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// One entry per sentence.
    pub sentences: Vec<SentenceScore>,
    /// The total over all sentences.
    pub all: Score,
    /// The total over sentences of up to [`Evaluation::cutoff_length`] words.
    pub short: Score,
    /// The maximum length of a short sentence.
    pub cutoff_length: usize,
    /// Whether scoring stopped early because there were too many errors.
    pub is_cut_off: bool,
}

/// Why two files cannot be compared, or a file of parameters cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A parameter file has an invalid line.
    #[error("{path}: {source}", path = path.display())]
    Params {
        /// The file.
        path: PathBuf,
        /// The line, and what is wrong with it.
        source: ParamsError,
    },
    /// The files have different numbers of lines.
    #[error(
        "numbers of lines differ: {gold_lines} in {gold}, {test_lines} in {test}; \
         each sentence needs a line, even if blank",
        gold = gold.display(), test = test.display()
    )]
    Lines {
        /// The gold file.
        gold: PathBuf,
        /// How many lines it has.
        gold_lines: usize,
        /// The test file.
        test: PathBuf,
        /// How many lines it has.
        test_lines: usize,
    },
}

impl From<TextError> for EvaluationError {
    fn from(error: TextError) -> Self {
        ReadError::from(error).into()
    }
}

impl Evaluation {
    /// Scores (gold, test) pairs of trees in memory.
    pub fn of<'t>(pairs: impl IntoIterator<Item = (&'t Tree, &'t Tree)>, params: &Params) -> Self {
        let mut evaluation = Evaluation::new(params);
        pairs.into_iter().for_each(|(gold, test)| evaluation.add(score(gold, test, params)));
        evaluation
    }

    /// Scores a test file against a gold file, line by line; either may be gzipped. A blank line is
    /// a sentence without a parse; a line that cannot be read counts as an error in its sentence.
    ///
    /// # Errors
    /// If a file cannot be read, or the numbers of lines differ.
    pub fn of_files(gold: &Path, test: &Path, params: &Params) -> Result<Self, EvaluationError> {
        let open = |path| Lines::open(path, MOST_CORPUS_BYTES);
        let (mut gold_lines, mut test_lines) = (open(gold)?, open(test)?);
        let mut evaluation = Evaluation::new(params);
        loop {
            let (g, t) = match (gold_lines.next()?, test_lines.next()?) {
                (Some(g), Some(t)) => (g.item, t.item),
                (None, None) => return Ok(evaluation),
                (g, t) => {
                    let found = [g.is_some(), t.is_some()].map(usize::from);
                    let shared = evaluation.sentences.len();
                    let gold_lines = shared + found[0] + rest(&mut gold_lines)?;
                    let test_lines = shared + found[1] + rest(&mut test_lines)?;
                    let (gold, test) = (gold.to_owned(), test.to_owned());
                    return Err(EvaluationError::Lines { gold, gold_lines, test, test_lines });
                }
            };
            let number = evaluation.sentences.len() + 1;
            if MOST_SENTENCES < number {
                return Err(ReadError::TooMany { path: gold.to_owned() }.into());
            }
            let read = |path: &Path, line: &str| {
                let reason = |e| format!("{}:{number}: {e}", path.display());
                read_line(line).map_err(|e| Status::Malformed { reason: reason(e) })
            };
            evaluation.add(score_read(read(gold, g), read(test, t), params));
            // As evalb does, which compares before it counts.
            if params.most_errors.saturating_add(1) < evaluation.all.errors {
                evaluation.is_cut_off = true;
                return Ok(evaluation);
            }
        }
    }

    fn new(params: &Params) -> Self {
        Evaluation {
            sentences: Vec::new(),
            all: Score::default(),
            short: Score::default(),
            cutoff_length: params.cutoff_length,
            is_cut_off: false,
        }
    }

    fn add(&mut self, sentence: SentenceScore) {
        self.all += sentence.score;
        if sentence.length <= self.cutoff_length {
            self.short += sentence.score;
        }
        self.sentences.push(sentence);
    }

    /// evalb's message for each error, such as `18 : Length unmatch (7|6)`.
    pub fn messages(&self) -> impl Iterator<Item = String> {
        let numbered = (1..).zip(&self.sentences);
        let errors = numbered.filter(|(_, sentence)| sentence.status.code() == 1);
        errors.map(|(id, sentence)| format!("{id} : {}", sentence.status))
    }
}

impl Params {
    /// Reads a parameter file; see [`Params::parse`].
    ///
    /// # Errors
    /// If it cannot be read, a parameter is unknown, or its value is invalid.
    pub fn read(path: &Path) -> Result<Self, EvaluationError> {
        let named = |source| EvaluationError::Params { path: path.to_owned(), source };
        Params::parse(&text_of(path, MOST_SETTINGS_BYTES)?).map_err(named)
    }
}

/// Scores a sentence either side of which may be malformed.
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

/// How many lines follow.
fn rest(lines: &mut Lines) -> Result<usize, TextError> {
    let mut n_lines = 0;
    while lines.next()?.is_some() {
        n_lines += 1;
    }
    Ok(n_lines)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> Result<Vec<Tree>, Status> {
        read_line(line).map_err(|e| Status::Malformed { reason: e.to_string() })
    }

    #[test]
    fn a_sentence_in_error_counts_only_as_an_error() {
        let lines = ["(S (NP (N a)) (VP (V b)))", "(S (N a) (VP (V b)))", "(S (N a))"];
        let [gold, near, other] = lines.map(|line| read_line(line).unwrap().remove(0));
        // Far more errors than `MAX_ERROR`, which applies only to files.
        let pairs = [(&gold, &near), (&gold, &gold)].into_iter();
        let pairs = pairs.chain(std::iter::repeat_n((&gold, &other), 20));
        let params = Params { cutoff_length: 1, ..Params::collins() };
        let evaluation = Evaluation::of(pairs, &params);
        let all = evaluation.all;
        assert_eq!((all.sentences, all.errors, all.valid()), (22, 20, 2));
        // 2 of 3, and 3 of 3.
        assert_eq!((all.matched, all.gold, all.test), (5, 6, 5));
        assert_eq!(evaluation.short, Score::default());
        assert_eq!(evaluation.messages().next().unwrap(), "3 : Length unmatch (2|1)");
        assert!(!evaluation.is_cut_off);
    }

    /// Lines that are often trees, often over the same words.
    fn line() -> impl Strategy<Value = String> {
        let leaf = prop_oneof!["\\((N|V|,|-NONE-|'') [ab]\\)", "[()ab =-]{0,4}"];
        leaf.prop_recursive(4, 16, 3, |part| {
            ("(NP|NP-X|TOP|S|)", proptest::collection::vec(part, 1..3))
                .prop_map(|(label, parts)| format!("({label} {})", parts.join(" ")))
        })
    }

    proptest! {
        #[test]
        fn nothing_panics_and_swapping_sides_swaps_the_score(a in line(), b in line()) {
            let quote_labels = vec!["N".to_owned(), "''".to_owned()];
            let quote_terms = vec!["a".to_owned()];
            let params = Params { quote_labels, quote_terms, ..Params::collins() };
            let there = score_read(read(&a), read(&b), &params);
            let back = score_read(read(&b), read(&a), &params);
            if there.status == Status::Valid && back.status == Status::Valid {
                let (there, back) = (there.score, back.score);
                prop_assert_eq!(there.matched, back.matched);
                prop_assert_eq!((there.gold, there.test), (back.test, back.gold));
                prop_assert!(there.matched <= there.gold.min(there.test));
            }
            let same = score_read(read(&a), read(&a), &params);
            if same.status == Status::Valid {
                prop_assert_eq!((same.score.complete, same.score.crossing), (1, 0));
                prop_assert_eq!(same.score.correct_tags, same.score.words);
            }
        }
    }
}
