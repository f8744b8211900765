//! Compares two files of propositions, sentence by sentence.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use cajole_files::Located;

use super::phrases::Phrases;
use super::rows::{Column, Rows, Table};
use super::score::Score;
use crate::roles::bio::BioFault;
use crate::roles::sentence::Proposition;
use crate::{Problem, ReadError};

/// The score of many sentences. Displays as the table of `srl-eval.pl`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// The number of sentences.
    pub sentences: usize,
    /// The total over all propositions.
    pub score: Score,
    /// Predicates that differ between gold and test.
    pub mismatches: Vec<Mismatch>,
}

/// A predicate that differs between gold and test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The sentence, from 1.
    pub sentence: usize,
    /// The index of the word, from 0.
    pub word: usize,
    /// The lemma in gold, if the word is a predicate there.
    pub gold: Option<String>,
    /// The lemma in test, if the word is a predicate there.
    pub test: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { sentence, word, gold, test } = self;
        write!(f, "sentence {sentence}, word {word}: ")?;
        match (gold, test) {
            (Some(gold), Some(test)) => {
                write!(f, "the predicate is {gold:?}, not {test:?}: all its arguments are missed")
            }
            (Some(gold), None) => {
                write!(f, "the predicate {gold:?} is not in test: all its arguments are missed")
            }
            (None, test) => {
                let test = test.as_deref().unwrap_or_default();
                write!(f, "the predicate {test:?} is not in gold: left out")
            }
        }
    }
}

/// Why two files cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A sentence is malformed.
    #[error("{0}")]
    Malformed(Problem),
    /// The files have different numbers of sentences.
    #[error(
        "numbers of sentences differ: {gold_sentences} in {gold}, {test_sentences} in {test}",
        gold = gold.display(), test = test.display()
    )]
    Sentences {
        /// The gold file.
        gold: PathBuf,
        /// How many sentences it has.
        gold_sentences: usize,
        /// The test file.
        test: PathBuf,
        /// How many sentences it has.
        test_sentences: usize,
    },
    /// A sentence has different lengths in the two files.
    #[error("lengths of sentence {sentence} differ: {gold}, {test}")]
    Words {
        /// The sentence, from 1.
        sentence: usize,
        /// Its length in gold.
        gold: Extent,
        /// Its length in test.
        test: Extent,
    },
}

/// The location and length of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The file.
    pub file: PathBuf,
    /// The line on which the sentence begins, from 1.
    pub line: usize,
    /// How many words it has.
    pub words: usize,
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Extent { file, line, words } = self;
        write!(f, "{words} rows from {}:{line} on", file.display())
    }
}

impl Evaluation {
    /// Scores a [`props`](crate::roles::props) file against gold, sentence by sentence; either may
    /// be gzipped. Unlike elsewhere, arguments may lie within others, and surplus columns are
    /// ignored.
    ///
    /// # Errors
    /// If a file cannot be read, or the files do not contain the same sentences.
    pub fn of_files(gold: &Path, test: &Path) -> Result<Self, EvaluationError> {
        let (mut gold_rows, mut test_rows) = (Rows::open(gold)?, Rows::open(test)?);
        let mut evaluation = Evaluation::default();
        loop {
            let (g, t) = match (gold_rows.sentence()?, test_rows.sentence()?) {
                (Some(g), Some(t)) => (g, t),
                (None, None) => return Ok(evaluation),
                (g, t) => {
                    let found = [g.is_some(), t.is_some()].map(usize::from);
                    let gold_sentences = evaluation.sentences + found[0] + gold_rows.rest()?;
                    let test_sentences = evaluation.sentences + found[1] + test_rows.rest()?;
                    let (gold, test) = (gold.to_owned(), test.to_owned());
                    return Err(EvaluationError::Sentences {
                        gold,
                        gold_sentences,
                        test,
                        test_sentences,
                    });
                }
            };
            if g.item.words != t.item.words {
                let sentence = evaluation.sentences + 1;
                let extent = |file: &Path, found: &Located<Table>| {
                    let (line, words) = (found.line, found.item.words);
                    Extent { file: file.to_owned(), line, words }
                };
                let (gold, test) = (extent(gold, &g), extent(test, &t));
                return Err(EvaluationError::Words { sentence, gold, test });
            }
            evaluation.add_columns(&g.item.columns, &t.item.columns);
        }
    }

    /// Adds one sentence with its gold and test propositions.
    ///
    /// # Errors
    /// If the tags of a proposition are not valid BIO; then nothing is added.
    pub fn add(&mut self, gold: &[Proposition], test: &[Proposition]) -> Result<(), BioFault> {
        let column = |proposition: &Proposition| {
            let phrases = Phrases::flat(&proposition.arguments()?);
            let (predicate, lemma) = (proposition.predicate, proposition.lemma.clone());
            Ok(Column { predicate, lemma, phrases })
        };
        let columns = |side: &[Proposition]| side.iter().map(column).collect::<Result<Vec<_>, _>>();
        self.add_columns(&columns(gold)?, &columns(test)?);
        Ok(())
    }

    fn add_columns(&mut self, gold: &[Column], test: &[Column]) {
        self.sentences += 1;
        let sentence = self.sentences;
        let mut pairs = BTreeMap::<usize, [Option<&Column>; 2]>::new();
        for (side, columns) in [gold, test].into_iter().enumerate() {
            for column in columns {
                pairs.entry(column.predicate).or_default()[side] = Some(column);
            }
        }
        let nothing = Phrases::default();
        for (word, [gold, test]) in pairs {
            let lemma = |side: Option<&Column>| side.map(|found| found.lemma.clone());
            let same = lemma(gold) == lemma(test);
            if !same {
                let (gold, test) = (lemma(gold), lemma(test));
                self.mismatches.push(Mismatch { sentence, word, gold, test });
            }
            let Some(gold) = gold else { continue };
            let predicted = test.filter(|_| same).map_or(&nothing, |test| &test.phrases);
            self.score += Score::compare(&gold.phrases, predicted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Counts;
    use super::*;
    use crate::roles::props;

    fn sentence(text: &str) -> Vec<Proposition> {
        let props = props::sentences(text).next().unwrap().unwrap().item;
        props.propositions
    }

    #[test]
    fn mismatched_predicates_are_reported() {
        let gold = sentence("be (V*) * \n- (A*) (B*)\ngo * (V*)\n- * *\n");
        let test = sentence("- * *\n- (B*) *\ncome (V*) *\nrun * (V*)\n");
        let mut evaluation = Evaluation::default();
        evaluation.add(&gold, &test).unwrap();
        let said: Vec<_> = evaluation.mismatches.iter().map(Mismatch::to_string).collect();
        assert_eq!(
            said,
            [
                "sentence 1, word 0: the predicate \"be\" is not in test: all its arguments are \
                 missed",
                "sentence 1, word 2: the predicate is \"go\", not \"come\": all its arguments are \
                 missed",
                "sentence 1, word 3: the predicate \"run\" is not in gold: left out",
            ]
        );
        assert_eq!((evaluation.sentences, evaluation.score.propositions), (1, 2));
        assert_eq!(evaluation.score.overall(), Counts { correct: 0, excess: 0, missed: 2 });
        assert_eq!(evaluation.score.roles["V"], Counts { correct: 0, excess: 0, missed: 2 });
    }

    #[test]
    fn an_empty_evaluation_still_prints_a_table() {
        let table = Evaluation::default().to_string();
        assert!(table.contains("   Overall        0       0       0     0.00    0.00    0.00\n"));
    }
}
