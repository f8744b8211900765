//! The sentences of an experiment by split.

use std::path::Path;

use cajole_nn::random::Random;
use cajole_treebank::roles::generated;
use cajole_treebank::roles::read::read;
use cajole_treebank::roles::sentence::Sentence;

use super::config::CorpusConfig;
use crate::corpora::{self, CorpusError, Kind};

/// A corpus with its splits.
pub type Splits = corpora::Splits<Sentence>;

impl Splits {
    /// Reads or generates a corpus; files are relative to the folder `data`. The training set is
    /// shuffled, so that a prefix of it is representative.
    ///
    /// # Errors
    /// If a file is unusable.
    pub fn load(
        config: &CorpusConfig,
        data: Option<&Path>,
        seed: u64,
    ) -> Result<Self, CorpusError> {
        let kind = Kind {
            generate: generated::sentences,
            read,
            is_selected: |sentence: &Sentence, of| {
                sentence.id.starts_with(&of.ids) && (sentence.is_conll2012 || !of.conll2012)
            },
            domains: |sentence: &Sentence| vec![sentence.genre.clone()],
        };
        let mut splits = Splits::of(&kind, &config.source, config.vectors.as_deref(), data, seed)?;
        Random::derive(seed, &[4]).shuffle(&mut splits.train);
        Ok(splits)
    }
}
