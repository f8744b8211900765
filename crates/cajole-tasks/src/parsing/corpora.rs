//! The trees of an experiment: read from files or generated, by split.

use std::path::{Path, PathBuf};

use super::config::{Selection, Source, TreebankConfig};
use crate::treebank::generated::{Genre, generate};
use crate::treebank::{Problem, ReadError, Sentence, read};
use crate::words::{Vectors, VectorsError};

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

/// Why a treebank cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file of trees.
    #[error(transparent)]
    Trees(#[from] ReadError),
    /// A file of vectors.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    /// Nothing is left of a file.
    #[error("no sentence of {path} has an id that begins with {ids:?}", path = path.display())]
    NoneSelected {
        /// The file.
        path: PathBuf,
        /// The beginning asked for.
        ids: String,
    },
    /// A file is named, but no folder to look for it in.
    #[error(
        "no data folder is given: name the one that holds {file} with --data or CAJOLE_DATA, or \
         run with --quick, which needs none"
    )]
    NoFolder {
        /// The first file needed.
        file: String,
    },
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
        let mut splits = Splits::default();
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
                let mut reader = Reader { data, problems: Vec::new() };
                splits.train = reader.all(train)?;
                splits.dev = reader.all(dev)?;
                splits.test = reader.all(test)?;
                for sentence in reader.all(domains)? {
                    let corpus = sentence.id.split(['/', '_']).next().unwrap_or_default();
                    let corpus = corpus.to_lowercase();
                    // By genre, and all genres of a corpus together: many have few failures.
                    splits.add(format!("{corpus} {}", sentence.genre), sentence.clone());
                    splits.add(format!("{corpus}, all"), sentence);
                }
                splits.problems = reader.problems;
            }
        }
        if let Some(file) = &config.vectors {
            splits.vectors = Vectors::read(&folder(data, file)?.join(file))?;
        }
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

struct Reader<'a> {
    data: Option<&'a Path>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn all(&mut self, selections: &[Selection]) -> Result<Vec<Sentence>, CorpusError> {
        let mut all = Vec::new();
        for Selection { file, ids } in selections {
            let path = folder(self.data, file)?.join(file);
            let corpus = read(&path)?;
            self.problems.extend(corpus.problems);
            let before = all.len();
            all.extend(corpus.sentences.into_iter().filter(|s| s.id.starts_with(ids.as_str())));
            if all.len() == before {
                return Err(CorpusError::NoneSelected { path, ids: ids.clone() });
            }
        }
        Ok(all)
    }
}

fn folder<'a>(data: Option<&'a Path>, file: &str) -> Result<&'a Path, CorpusError> {
    data.ok_or_else(|| CorpusError::NoFolder { file: file.to_owned() })
}
