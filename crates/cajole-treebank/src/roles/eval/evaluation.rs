//! Compares two files of propositions, sentence by sentence.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::score::Score;
use crate::read::text_of;
use crate::roles::bio::BioFault;
use crate::roles::error::RoleError;
use crate::roles::props::{self, Props};
use crate::roles::sentence::Proposition;
use crate::{Located, Problem, ReadError};

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
    /// Scores a [`props`] file against gold, sentence by sentence; either may be gzipped.
    ///
    /// # Errors
    /// If a file cannot be read, or the files do not contain the same sentences.
    pub fn of_files(gold: &Path, test: &Path) -> Result<Self, EvaluationError> {
        let (gold_props, test_props) = (read(gold)?, read(test)?);
        let (gold_sentences, test_sentences) = (gold_props.len(), test_props.len());
        if gold_sentences != test_sentences {
            let (gold, test) = (gold.to_owned(), test.to_owned());
            return Err(EvaluationError::Sentences { gold, gold_sentences, test, test_sentences });
        }
        let mut evaluation = Evaluation::default();
        for (g, t) in gold_props.iter().zip(&test_props) {
            if g.item.words != t.item.words {
                let sentence = evaluation.sentences + 1;
                let extent = |file: &Path, found: &Located<Props>| {
                    let (line, words) = (found.line, found.item.words);
                    Extent { file: file.to_owned(), line, words }
                };
                let (gold, test) = (extent(gold, g), extent(test, t));
                return Err(EvaluationError::Words { sentence, gold, test });
            }
            evaluation
                .add(&g.item.propositions, &t.item.propositions)
                .map_err(|fault| EvaluationError::Malformed(Problem::new(test, t.line, &fault)))?;
        }
        Ok(evaluation)
    }

    /// Adds one sentence with its gold and test propositions.
    ///
    /// # Errors
    /// If the tags of a proposition are not valid BIO; then nothing is added.
    pub fn add(&mut self, gold: &[Proposition], test: &[Proposition]) -> Result<(), BioFault> {
        let sentence = self.sentences + 1;
        let mut pairs = BTreeMap::<usize, [Option<&Proposition>; 2]>::new();
        for (side, propositions) in [gold, test].into_iter().enumerate() {
            for proposition in propositions {
                pairs.entry(proposition.predicate).or_default()[side] = Some(proposition);
            }
        }
        let (mut score, mut mismatches) = (Score::default(), Vec::new());
        for (predicate, [gold, test]) in pairs {
            let lemma = |side: Option<&Proposition>| side.map(|found| found.lemma.clone());
            let same = lemma(gold) == lemma(test);
            if !same {
                let (gold, test) = (lemma(gold), lemma(test));
                mismatches.push(Mismatch { sentence, word: predicate, gold, test });
            }
            let Some(gold) = gold else { continue };
            let test = test.filter(|_| same).map(Proposition::arguments).transpose()?;
            score += Score::of(&gold.arguments()?, &test.unwrap_or_default());
        }
        self.sentences = sentence;
        self.score += score;
        self.mismatches.extend(mismatches);
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<Located<Props>>, EvaluationError> {
    let malformed =
        |RoleError { line, fault }| EvaluationError::Malformed(Problem::new(path, line, &fault));
    props::sentences(&text_of(path)?).map(|found| found.map_err(malformed)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Counts;
    use super::*;

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
