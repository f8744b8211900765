//! The trees of an experiment: read from files or generated, by split.

use std::path::Path;

use super::config::{Source, TreebankConfig};
use crate::experiment::{CorpusError, Files, Selection};
use crate::treebank::generated::{Genre, generate};
use crate::treebank::{Problem, Sentence, read};
use crate::words::Vectors;

/// A treebank with its splits.
#[derive(Clone, Debug, Default)]
pub struct Splits {
    /// To train on.
    pub train: Vec<Sentence>,
    /// To choose settings on.
    pub dev: Vec<Sentence>,
    /// To report on.
    pub test: Vec<Sentence>,
    /// Other kinds of text, by name.
    pub domains: Vec<(String, Vec<Sentence>)>,
    /// Word vectors; none if the treebank does without.
    pub vectors: Vectors,
    /// What was malformed and left out.
    pub problems: Vec<Problem>,
}

impl Splits {
    /// Reads or generates a treebank; files are looked for in the folder `data`.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn load(
        config: &TreebankConfig,
        data: Option<&Path>,
        seed: u64,
    ) -> Result<Self, CorpusError> {
        let (mut splits, mut files) = (Splits::default(), Files::of(data));
        match &config.source {
            Source::Generated { train, dev, test } => {
                let [home, others @ ..] = Genre::ALL;
                let mut all = generate(home, train + dev + test, seed);
                splits.test = all.split_off(train + dev);
                splits.dev = all.split_off(*train);
                splits.train = all;
                let other = |genre: Genre| (genre.name().to_owned(), generate(genre, *test, seed));
                splits.domains = others.map(other).to_vec();
            }
            Source::Files { train, dev, test, domains } => {
                let mut trees = |of: &[Selection]| files.read(of, read, |s| &s.id);
                splits.train = trees(train)?;
                splits.dev = trees(dev)?;
                splits.test = trees(test)?;
                for sentence in trees(domains)? {
                    let corpus = sentence.id.split(['/', '_']).next().unwrap_or_default();
                    let corpus = corpus.to_lowercase();
                    // By genre, and all genres of a corpus together: many have few failures.
                    splits.add(format!("{corpus} {}", sentence.genre), sentence.clone());
                    splits.add(format!("{corpus}, all"), sentence);
                }
            }
        }
        splits.vectors = files.vectors(config.vectors.as_deref())?;
        splits.problems = files.problems;
        Ok(splits)
    }

    fn add(&mut self, domain: String, sentence: Sentence) {
        match self.domains.iter_mut().find(|(other, _)| *other == domain) {
            Some((_, sentences)) => sentences.push(sentence),
            None => self.domains.push((domain, vec![sentence])),
        }
    }

    /// The first `share` per cent of the training sentences.
    pub fn train_share(&self, share: usize) -> &[Sentence] {
        &self.train[..(self.train.len() * share.min(100)).div_ceil(100)]
    }
}
