//! The trees of an experiment by split.

use std::path::Path;

use cajole_treebank::generated::generate;
use cajole_treebank::{Sentence, read};

use super::config::TreebankConfig;
use crate::corpora::{self, CorpusError, Kind, Selection};

/// A treebank with its splits.
pub type Splits = corpora::Splits<Sentence>;

impl Splits {
    /// Reads or generates a treebank; files are relative to the folder `data`.
    ///
    /// # Errors
    /// If a file is unusable.
    pub fn load(
        config: &TreebankConfig,
        data: Option<&Path>,
        seed: u64,
    ) -> Result<Self, CorpusError> {
        let is_selected =
            |sentence: &Sentence, of: &Selection| sentence.id.starts_with(&of.ids) && !of.conll2012;
        let kind = Kind { generate, read, is_selected, domains };
        Splits::of(&kind, &config.source, config.vectors.as_deref(), data, seed)
    }
}

/// The genre, and the whole corpus, since many genres have few failures.
fn domains(sentence: &Sentence) -> Vec<String> {
    let corpus = sentence.id.split(['/', '_']).next().unwrap_or_default().to_lowercase();
    if corpus == sentence.genre {
        return vec![corpus];
    }
    vec![format!("{corpus} {}", sentence.genre), format!("{corpus}, all")]
}
