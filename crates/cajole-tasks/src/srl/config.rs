//! The settings of a role tagger: its data and architecture.

use cajole_nn::models::{CellKind, Reading as Direction};
use cajole_nn::settings::{depth, dropout, optional_size, positive, positive_number, size};
use serde::{Deserialize, Serialize};

use crate::corpora::Source;
use crate::seeds;
use crate::words::Reads;

/// A corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CorpusConfig {
    /// Where its sentences come from.
    pub source: Source,
    /// What taggers read: words or POS tags.
    pub reads: Reads,
    /// Whether they also read the predicate's lemma.
    #[serde(default)]
    pub lemmas: bool,
    /// Whether only verbal predicates are used.
    pub verbal: bool,
    /// Words that are rarer in the training set are mapped to unknown-word classes.
    pub often: usize,
    /// A file of word vectors.
    #[serde(default)]
    pub vectors: Option<String>,
}

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkConfig {
    /// Its name in tables.
    pub name: String,
    /// The name of its corpus.
    pub corpus: String,
    /// Layers.
    #[serde(deserialize_with = "depth")]
    pub layers: usize,
    /// Hidden units.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// The percentage of the training set that is used.
    #[serde(deserialize_with = "positive")]
    pub share: usize,
    /// Training epochs; the shared value by default.
    #[serde(default)]
    pub epochs: Option<usize>,
    /// The initial step size; the shared value by default.
    #[serde(default)]
    pub step_size: Option<f32>,
    /// Training on unlabelled sentences, if any.
    #[serde(default)]
    pub constraint_loss: Option<Unlabelled>,
    /// Whether it is also tested on other genres.
    #[serde(default)]
    pub domains: bool,
    /// The seeds to train from; the experiment's by default. Each makes a network.
    #[serde(default)]
    pub seeds: Vec<u64>,
}

impl NetworkConfig {
    /// One network per seed; the first keeps the name.
    pub fn seeded(&self, default: u64) -> Vec<Self> {
        let all = seeds::networks(&self.name, &self.seeds, default);
        all.map(|(name, seed)| Self { name, seeds: vec![seed], ..self.clone() }).collect()
    }
}

/// Sentences with trees whose roles are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Unlabelled {
    /// The percentage of the unlabelled training data that is used.
    pub share: usize,
    /// Weight of the constraint loss.
    #[serde(deserialize_with = "positive_number")]
    pub weight: f32,
}

/// The settings that all networks share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sizes {
    /// Size of a word embedding.
    #[serde(deserialize_with = "optional_size")]
    pub embedding: usize,
    /// Size of the predicate-indicator embedding.
    #[serde(deserialize_with = "size")]
    pub indicator: usize,
    /// Size of a lemma embedding.
    #[serde(deserialize_with = "optional_size")]
    pub lemma_embedding: usize,
    /// The cell type of the layers.
    pub cell: CellKind,
    /// The direction in which they read.
    pub reading: Direction,
    /// Dropout rate of the inputs.
    #[serde(deserialize_with = "dropout")]
    pub input_dropout: f32,
    /// Recurrent dropout rate.
    #[serde(deserialize_with = "dropout")]
    pub recurrent_dropout: f32,
    /// Dropout rate between layers.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
}

/// Which parameters a preset moves, and its initial step size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Nudge {
    /// Names of parameter groups; empty means all.
    pub moves: Vec<String>,
    /// The initial step size.
    #[serde(deserialize_with = "positive_number")]
    pub step_size: f32,
}
