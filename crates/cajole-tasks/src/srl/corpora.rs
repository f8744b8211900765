//! The sentences of an experiment: read from files or generated, by split.

use std::path::Path;

use cajole_nn::random::Random;

use super::config::{CorpusConfig, Source};
use super::generated;
use super::read::read;
use super::sentence::Sentence;
use crate::experiment::{CorpusError, Files, Selection};
use crate::treebank::Problem;
use crate::treebank::generated::Genre;
use crate::words::Vectors;

/// A corpus with its splits.
#[derive(Clone, Debug, Default)]
pub struct Splits {
    /// To train on, in random order, so that the first few are of all kinds.
    pub train: Vec<Sentence>,
    /// To choose settings on.
    pub dev: Vec<Sentence>,
    /// To report on.
    pub test: Vec<Sentence>,
    /// Other kinds of text, by name.
    pub domains: Vec<(String, Vec<Sentence>)>,
    /// Word vectors; none if the corpus does without.
    pub vectors: Vectors,
    /// What was malformed and left out.
    pub problems: Vec<Problem>,
}

impl Splits {
    /// Reads or generates a corpus; files are looked for in the folder `data`.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn load(
        config: &CorpusConfig,
        data: Option<&Path>,
        seed: u64,
    ) -> Result<Self, CorpusError> {
        let (mut splits, mut files) = (Splits::default(), Files::of(data));
        match &config.source {
            Source::Generated { train, dev, test } => {
                let [home, others @ ..] = Genre::ALL;
                let mut all = generated::sentences(home, train + dev + test, seed);
                splits.test = all.split_off(train + dev);
                splits.dev = all.split_off(*train);
                splits.train = all;
                let other = |genre: Genre| {
                    (genre.name().to_owned(), generated::sentences(genre, *test, seed))
                };
                splits.domains = others.map(other).to_vec();
            }
            Source::Files { train, dev, test, domains } => {
                let mut sentences = |of: &[Selection]| files.read(of, read, |s| &s.id);
                splits.train = sentences(train)?;
                splits.dev = sentences(dev)?;
                splits.test = sentences(test)?;
                for sentence in sentences(domains)? {
                    match splits.domains.iter_mut().find(|(genre, _)| *genre == sentence.genre) {
                        Some((_, others)) => others.push(sentence),
                        None => splits.domains.push((sentence.genre.clone(), vec![sentence])),
                    }
                }
            }
        }
        Random::derive(seed, &[4]).shuffle(&mut splits.train);
        splits.vectors = files.vectors(config.vectors.as_deref())?;
        splits.problems = files.problems;
        Ok(splits)
    }

    /// The first `share` per cent of the training sentences.
    pub fn train_share(&self, share: usize) -> &[Sentence] {
        &self.train[..(self.train.len() * share.min(100)).div_ceil(100)]
    }
}
