//! The sentences of an experiment by split, read from files or generated.

use std::path::Path;

use cajole_nn::random::Random;
use cajole_treebank::generated::Genre;
use cajole_treebank::{Corpus, Problem, ReadError};
use serde::{Deserialize, Serialize};

use super::{Contents, CorpusError, Files, Selection};
use crate::words::Vectors;

/// Where sentences come from. Files are relative to the data folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Source {
    /// From files.
    Files {
        /// The training set.
        train: Vec<Selection>,
        /// The dev set.
        dev: Vec<Selection>,
        /// The test set.
        test: Vec<Selection>,
        /// Other genres to test on.
        #[serde(default)]
        domains: Vec<Selection>,
    },
    /// From the built-in generator; training uses its first genre.
    Generated {
        /// The size of the training set.
        train: usize,
        /// The size of the dev set.
        dev: usize,
        /// The size of the test set, for each genre.
        test: usize,
    },
}

/// A corpus with its splits.
#[derive(Clone, Debug)]
pub struct Splits<S> {
    /// The training set.
    pub train: Vec<S>,
    /// The dev set.
    pub dev: Vec<S>,
    /// The test set.
    pub test: Vec<S>,
    /// Test sentences of other genres, by domain.
    pub domains: Vec<(String, Vec<S>)>,
    /// Word vectors; empty if the corpus uses none.
    pub vectors: Vectors,
    /// Malformed sentences that were skipped.
    pub problems: Vec<Problem>,
    /// What was in the files.
    pub contents: Contents,
}

/// The task-specific operations on sentences.
pub(crate) struct Kind<S> {
    /// Generates `n` sentences of a genre from a seed.
    pub(crate) generate: fn(Genre, usize, u64) -> Vec<S>,
    /// Reads a file.
    pub(crate) read: fn(&Path) -> Result<Corpus<S>, ReadError>,
    /// Whether a sentence is selected.
    pub(crate) is_selected: fn(&S, &Selection) -> bool,
    /// The domains a sentence belongs to.
    pub(crate) domains: fn(&S) -> Vec<String>,
}

impl<S: Clone> Splits<S> {
    /// Reads or generates a corpus; files are relative to the folder `data`.
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
                let mut sentences = |of: &[Selection]| files.read(of, kind.read, kind.is_selected);
                train = sentences(of_train)?;
                dev = sentences(of_dev)?;
                test = sentences(of_test)?;
                domains = by_domain(kind, others, |of| sentences(std::slice::from_ref(of)))?;
            }
        }
        let vectors = files.vectors(vectors)?;
        let Files { problems, contents, .. } = files;
        Ok(Splits { train, dev, test, domains, vectors, problems, contents })
    }

    /// The first `share` per cent of a training set that was shuffled.
    pub fn train_share(&self, share: usize) -> &[S] {
        &self.train[..self.n_of(share)]
    }

    fn n_of(&self, share: usize) -> usize {
        (self.train.len() * share.min(100)).div_ceil(100)
    }

    /// A random sample of `share` per cent of the training set, in its order. Files are
    /// often sorted by genre, so their first lines are no sample. A larger share of the same seed
    /// contains a smaller one.
    pub fn sample(&self, share: usize, seed: u64) -> Vec<&S> {
        let mut order: Vec<usize> = (0..self.train.len()).collect();
        Random::derive(seed, &[4]).shuffle(&mut order);
        order.truncate(self.n_of(share));
        order.sort_unstable();
        order.into_iter().map(|i| &self.train[i]).collect()
    }
}

/// Groups the selected sentences by domain, in order of first occurrence.
fn by_domain<S: Clone>(
    kind: &Kind<S>,
    selections: &[Selection],
    mut read: impl FnMut(&Selection) -> Result<Vec<S>, CorpusError>,
) -> Result<Vec<(String, Vec<S>)>, CorpusError> {
    let mut domains: Vec<(String, Vec<S>)> = Vec::new();
    for selection in selections {
        for sentence in read(selection)? {
            let own = selection.domain.as_ref().map(|domain| vec![domain.clone()]);
            for domain in own.unwrap_or_else(|| (kind.domains)(&sentence)) {
                match domains.iter_mut().find(|(other, _)| *other == domain) {
                    Some((_, known)) => known.push(sentence.clone()),
                    None => domains.push((domain, vec![sentence.clone()])),
                }
            }
        }
    }
    Ok(domains)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_random_sample() {
        let none = || (Vec::new(), Vec::new());
        let ((dev, test), (problems, domains)) = (none(), (Vec::new(), Vec::new()));
        let (vectors, contents) = (Vectors::default(), Contents::new());
        let train: Vec<usize> = (0..1000).collect();
        let splits = Splits { train, dev, test, domains, vectors, problems, contents };
        let quarter = splits.sample(25, 1);
        assert!(quarter.len() == 250 && quarter.is_sorted());

        // Every part of the file is in it, about as often.
        for part in 0..4 {
            let of_part = quarter.iter().filter(|&&&i| i / 250 == part).count();
            assert!((40..85).contains(&of_part), "{of_part} of part {part}");
        }
        let half = splits.sample(50, 1);
        assert!(quarter.iter().all(|i| half.contains(i)), "a larger share contains a smaller one");
        assert_ne!(splits.sample(25, 2), quarter);
        assert_eq!(splits.sample(100, 3), splits.train.iter().collect::<Vec<_>>());
        assert_eq!(splits.sample(0, 3).len(), 0);
    }
}
