//! Scores whole files, sentence by sentence.

use std::fs;
use std::path::{Path, PathBuf};

use super::brackets::Brackets;
use super::params::Params;
use super::read::read_line;
use super::score::{Score, SentenceScore, Status, score, score_forests};
use crate::Tree;

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
        /// The first invalid line, counting from 1.
        line: usize,
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

impl Evaluation {
    /// Scores (gold, test) pairs of trees in memory.
    pub fn of<'t>(pairs: impl IntoIterator<Item = (&'t Tree, &'t Tree)>, params: &Params) -> Self {
        let scores = pairs.into_iter().map(|(gold, test)| score(gold, test, params));
        Evaluation::sum(scores, params, usize::MAX)
    }

    /// Scores a test file against a gold file, line by line. A blank line is a sentence without a
    /// parse; a line that cannot be read counts as an error in its sentence.
    ///
    /// # Errors
    /// If a file cannot be read, or the numbers of lines differ.
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

    /// evalb's message for each error, such as `18 : Length unmatch (7|6)`.
    pub fn messages(&self) -> impl Iterator<Item = String> {
        let numbered = (1..).zip(&self.sentences);
        let errors = numbered.filter(|(_, sentence)| sentence.status.code() == 1);
        errors.map(|(id, sentence)| format!("{id} : {}", sentence.status))
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

fn read_text(path: &Path) -> Result<String, EvaluationError> {
    let bytes =
        fs::read(path).map_err(|source| EvaluationError::Io { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&byte| byte == b'\n').count() + 1;
        EvaluationError::Encoding { path: path.to_owned(), line }
    })
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
