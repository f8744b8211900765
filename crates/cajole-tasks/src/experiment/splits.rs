//! The sentences of an experiment, by split: read from files or generated.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CorpusError, Files, Selection};
use crate::treebank::generated::Genre;
use crate::treebank::{Corpus, Problem, ReadError};
use crate::words::Vectors;

/// Where sentences come from. Files are named relative to the data folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Source {
    /// From files.
    Files {
        /// To train on.
        train: Vec<Selection>,
        /// To choose settings on.
        dev: Vec<Selection>,
        /// To report on.
        test: Vec<Selection>,
        /// Other kinds of text, to report on by genre.
        #[serde(default)]
        domains: Vec<Selection>,
    },
    /// From the generator that is built in; its first genre is trained on.
    Generated {
        /// To train on.
        train: usize,
        /// To choose settings on.
        dev: usize,
        /// To report on, and as many of every other genre.
        test: usize,
    },
}

/// A corpus with its splits.
#[derive(Clone, Debug)]
pub struct Splits<S> {
    /// To train on.
    pub train: Vec<S>,
    /// To choose settings on.
    pub dev: Vec<S>,
    /// To report on.
    pub test: Vec<S>,
    /// Other kinds of text, by name.
    pub domains: Vec<(String, Vec<S>)>,
    /// Word vectors; none if the corpus does without.
    pub vectors: Vectors,
    /// What was malformed and left out.
    pub problems: Vec<Problem>,
}

/// What a task knows of its sentences.
pub(crate) struct Kind<S> {
    /// Makes so many of a genre, from a seed.
    pub(crate) generate: fn(Genre, usize, u64) -> Vec<S>,
    /// Reads a file.
    pub(crate) read: fn(&Path) -> Result<Corpus<S>, ReadError>,
    /// What a sentence is selected by.
    pub(crate) id: fn(&S) -> &str,
    /// The domains that a sentence of another kind of text belongs to.
    pub(crate) domains: fn(&S) -> Vec<String>,
}

impl<S: Clone> Splits<S> {
    /// Reads or generates a corpus; files are looked for in the folder `data`.
    pub(crate) fn of(
        kind: &Kind<S>,
        source: &Source,
        vectors: Option<&str>,
        data: Option<&Path>,
        seed: u64,
    ) -> Result<Self, CorpusError> {
        let mut files = Files::of(data);
        let (train, dev, test, domains);
        match source {
            Source::Generated { train: n_train, dev: n_dev, test: n_test } => {
                let [home, others @ ..] = Genre::ALL;
                let mut all = (kind.generate)(home, n_train + n_dev + n_test, seed);
                test = all.split_off(n_train + n_dev);
                dev = all.split_off(*n_train);
                train = all;
                let other =
                    |genre: Genre| (genre.name().to_owned(), (kind.generate)(genre, *n_test, seed));
                domains = others.map(other).to_vec();
            }
            Source::Files { train: of_train, dev: of_dev, test: of_test, domains: others } => {
                let mut sentences = |of: &[Selection]| files.read(of, kind.read, kind.id);
                train = sentences(of_train)?;
                dev = sentences(of_dev)?;
                test = sentences(of_test)?;
                domains = by_domain(kind, sentences(others)?);
            }
        }
        let vectors = files.vectors(vectors)?;
        Ok(Splits { train, dev, test, domains, vectors, problems: files.problems })
    }

    /// The first `share` per cent of the training sentences.
    pub fn train_share(&self, share: usize) -> &[S] {
        &self.train[..(self.train.len() * share.min(100)).div_ceil(100)]
    }
}

/// Sentences by the domains they belong to, in the order of their first sentences.
fn by_domain<S: Clone>(kind: &Kind<S>, sentences: Vec<S>) -> Vec<(String, Vec<S>)> {
    let mut domains: Vec<(String, Vec<S>)> = Vec::new();
    for sentence in sentences {
        for domain in (kind.domains)(&sentence) {
            match domains.iter_mut().find(|(other, _)| *other == domain) {
                Some((_, known)) => known.push(sentence.clone()),
                None => domains.push((domain, vec![sentence.clone()])),
            }
        }
    }
    domains
}
