//! The settings of a parser: its data and architecture.

use cajole_nn::Curriculum;
use cajole_nn::models::{self, layers};
use cajole_nn::settings::{dropout, optional_size, positive, size};
use serde::{Deserialize, Serialize};

use crate::corpora::Source;
use crate::seeds;
use crate::words::Reads;

/// A treebank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreebankConfig {
    /// Where its trees come from.
    pub source: Source,
    /// What parsers read: words or POS tags.
    pub reads: Reads,
    /// Words that are rarer in the training set are mapped to unknown-word classes.
    pub often: usize,
    /// A file of word vectors.
    #[serde(default)]
    pub vectors: Option<String>,
}

/// The network type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// LSTMs: unidirectional encoder, attention from the top layer.
    Simple,
    /// LSTMs: bidirectional first layer, residuals, attention from the bottom layer.
    Gnmt,
    /// A transformer.
    Transformer,
}

impl Architecture {
    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Simple => "simple",
            Architecture::Gnmt => "gnmt",
            Architecture::Transformer => "transformer",
        }
    }

    /// The architecture of LSTMs, if it is one.
    pub(super) fn of_lstms(self) -> Option<models::Architecture> {
        match self {
            Architecture::Simple => Some(models::Architecture::Simple),
            Architecture::Gnmt => Some(models::Architecture::Gnmt),
            Architecture::Transformer => None,
        }
    }
}

impl From<models::Architecture> for Architecture {
    fn from(of_lstms: models::Architecture) -> Self {
        match of_lstms {
            models::Architecture::Simple => Architecture::Simple,
            models::Architecture::Gnmt => Architecture::Gnmt,
        }
    }
}

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkConfig {
    /// Its name in tables.
    pub name: String,
    /// The name of its treebank.
    pub treebank: String,
    /// The network type.
    pub architecture: Architecture,
    /// Layers of the encoder and the decoder.
    #[serde(deserialize_with = "layers")]
    pub layers: usize,
    /// Hidden units.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// Dropout rate.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
    /// The percentage of the training set that is used.
    #[serde(deserialize_with = "positive")]
    pub share: usize,
    /// Training epochs; the shared value by default.
    #[serde(default)]
    pub epochs: Option<usize>,
    /// The initial step size; the shared value by default.
    #[serde(default)]
    pub step_size: Option<f32>,
    /// Curriculum with short sentences first, if any.
    #[serde(default)]
    pub curriculum: Option<Curriculum>,
    /// Whether the input is read in reverse.
    #[serde(default)]
    pub reversed_input: bool,
    /// Whether the decoder sees the token that the next shift would take.
    #[serde(default)]
    pub pointer: bool,
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

/// The sizes that all networks share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sizes {
    /// Size of a word embedding.
    #[serde(deserialize_with = "size")]
    pub embedding: usize,
    /// Size of a command embedding.
    #[serde(deserialize_with = "size")]
    pub output_embedding: usize,
    /// Width of the attention.
    #[serde(deserialize_with = "size")]
    pub attention: usize,
    /// The maximum number of commands per token, plus 20.
    #[serde(deserialize_with = "optional_size")]
    pub cap_factor: usize,
}
