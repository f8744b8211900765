//! The trees of an experiment, by split.

use std::path::Path;

use super::config::TreebankConfig;
use crate::experiment::{self, CorpusError, Kind};
use crate::treebank::generated::generate;
use crate::treebank::{Sentence, read};

/// A treebank with its splits.
pub type Splits = experiment::Splits<Sentence>;

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
        let kind = Kind { generate, read, id: |sentence: &Sentence| &sentence.id, domains };
        Splits::of(&kind, &config.source, config.vectors.as_deref(), data, seed)
    }
}

/// The genre, and all genres of a corpus together: many have few failures.
fn domains(sentence: &Sentence) -> Vec<String> {
    let corpus = sentence.id.split(['/', '_']).next().unwrap_or_default().to_lowercase();
    vec![format!("{corpus} {}", sentence.genre), format!("{corpus}, all")]
}
