//! The settings of a role tagger: its data and architecture.

use cajole_nn::models::{CellKind, Reading as Direction};
use cajole_nn::settings::{depth, dropout, optional_size, positive, positive_number, size};
use cajole_nn::{Rate, TrainConfig};
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
    /// If it is a pretrained encoder: how it is trained further. Its layers and hidden units are the
    /// encoder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<FineTuning>,
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

/// How a pretrained encoder becomes a tagger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FineTuning {
    /// The training settings, instead of the shared ones.
    pub training: TrainConfig,
    /// A layer's step size, relative to the layer above it.
    #[serde(deserialize_with = "positive_number")]
    pub layer_factor: f32,
    /// The step size of the new layer on top, relative to the highest of the others.
    #[serde(deserialize_with = "positive_number")]
    pub top_factor: f32,
    /// Candidate nudges of the best preset, cheapest first; empty keeps the preset's.
    #[serde(default)]
    pub nudges: Vec<Nudge>,
}

impl FineTuning {
    /// The training settings of an encoder of `layers`: lower layers, which know more of language
    /// than of any task, take smaller steps.
    pub fn settings(&self, layers: usize) -> TrainConfig {
        let rate = |of: String, factor| Rate { of, factor };
        let below = |n: usize| self.layer_factor.powi(n as i32);
        let mut settings = self.training.clone();
        settings.rates.push(rate("output".to_owned(), self.top_factor));
        let own = (0..layers).map(|i| rate(format!("encoder.{i}"), below(layers - 1 - i)));
        settings.rates.extend(own);
        settings.rates.push(rate("embedding".to_owned(), below(layers)));
        settings
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
