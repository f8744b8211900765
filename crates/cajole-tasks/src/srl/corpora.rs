//! The sentences of an experiment, by split.

use std::path::Path;

use cajole_nn::random::Random;

use super::config::CorpusConfig;
use super::generated;
use super::read::read;
use super::sentence::Sentence;
use crate::experiment::{self, CorpusError, Kind};

/// A corpus with its splits.
pub type Splits = experiment::Splits<Sentence>;

impl Splits {
    /// Reads or generates a corpus; files are looked for in the folder `data`. The training
    /// sentences come in random order, so that the first few are of all kinds.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn load(
        config: &CorpusConfig,
        data: Option<&Path>,
        seed: u64,
    ) -> Result<Self, CorpusError> {
        let kind = Kind {
            generate: generated::sentences,
            read,
            id: |sentence: &Sentence| &sentence.id,
            domains: |sentence: &Sentence| vec![sentence.genre.clone()],
        };
        let mut splits = Splits::of(&kind, &config.source, config.vectors.as_deref(), data, seed)?;
        Random::derive(seed, &[4]).shuffle(&mut splits.train);
        Ok(splits)
    }
}
