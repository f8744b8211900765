//! The settings of the experiment: one TOML file, built in and overridable.

use std::collections::BTreeMap;

use cajole_core::Config;
use cajole_nn::models::{Architecture, layers};
use cajole_nn::settings::{dropout, optional_size, positive, size};
use cajole_nn::{Curriculum, TrainConfig};
use serde::{Deserialize, Serialize};

pub use crate::experiment::Source;
use crate::experiment::UnknownCorpus;
use crate::words::Reads;

/// Everything that `configs/parsing.toml` sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ParsingConfig {
    /// Where all randomness of training comes from.
    pub seed: u64,
    /// Widths of the beams that the networks decode with; 1 is greedy decoding.
    pub widths: Vec<usize>,
    /// What parsers are trained and tested on, by name.
    pub treebanks: BTreeMap<String, TreebankConfig>,
    /// The parsers.
    pub networks: Vec<NetworkConfig>,
    /// What all networks have in common.
    pub sizes: Sizes,
    /// How they are trained.
    pub training: TrainConfig,
    /// How the step size of plain SGD is chosen.
    pub tuning: Tuning,
    /// The presets of gradient-based inference.
    pub gbi: Presets,
    /// What it is compared with.
    pub rivals: Rivals,
}

/// A treebank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreebankConfig {
    /// Where its trees come from.
    pub source: Source,
    /// What parsers read of it.
    pub reads: Reads,
    /// Words that occur less often in training are unknown.
    pub often: usize,
    /// A file of word vectors.
    #[serde(default)]
    pub vectors: Option<String>,
}

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkConfig {
    /// As it is called in tables.
    pub name: String,
    /// The treebank it is for.
    pub treebank: String,
    /// How its layers are connected.
    pub architecture: Architecture,
    /// Layers of encoder and decoder.
    #[serde(deserialize_with = "layers")]
    pub layers: usize,
    /// Hidden units.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// Share of units silenced in training.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
    /// How much of the training data it sees, in per cent.
    #[serde(deserialize_with = "positive")]
    pub share: usize,
    /// Passes over it, if not as many as the others take.
    #[serde(default)]
    pub epochs: Option<usize>,
    /// The first step size, if not that of the others.
    #[serde(default)]
    pub step_size: Option<f32>,
    /// Short sentences first, if they are.
    #[serde(default)]
    pub curriculum: Option<Curriculum>,
    /// Whether it reads its input from the end.
    #[serde(default)]
    pub reversed_input: bool,
    /// Whether its decoder is shown the token that the next shift takes.
    #[serde(default)]
    pub pointer: bool,
    /// Whether it is also tested on other kinds of text.
    #[serde(default)]
    pub domains: bool,
}

/// What all networks have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sizes {
    /// Of a word's embedding.
    #[serde(deserialize_with = "size")]
    pub embedding: usize,
    /// Of a command's embedding.
    #[serde(deserialize_with = "size")]
    pub output_embedding: usize,
    /// Width of the attention.
    #[serde(deserialize_with = "size")]
    pub attention: usize,
    /// Commands per token, plus 20, before decoding gives up.
    #[serde(deserialize_with = "optional_size")]
    pub cap_factor: usize,
}

/// How the step size of plain SGD is chosen for a network, on failures of the development data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// The most failures used.
    #[serde(deserialize_with = "positive")]
    pub failures: usize,
    /// The step sizes tried.
    pub step_sizes: Vec<f32>,
}

/// Settings of gradient-based inference, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Presets {
    /// Algorithm 1 as printed; its step size is chosen for each network.
    pub paper: Config,
    /// What works best.
    pub best: Config,
    /// Widths of the masked beams whose outputs `best` raises.
    pub sources: Vec<usize>,
    /// `best` decodes with a beam of at least this width.
    #[serde(deserialize_with = "positive")]
    pub width: usize,
}

/// The rivals' settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rivals {
    /// Width of the plain beam.
    #[serde(deserialize_with = "positive")]
    pub beam_width: usize,
    /// Width of the masked beam.
    #[serde(deserialize_with = "positive")]
    pub masked_width: usize,
}

impl ParsingConfig {
    /// The treebank that a network is for.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn treebank_of(&self, network: &NetworkConfig) -> Result<&TreebankConfig, UnknownCorpus> {
        UnknownCorpus::unless(&self.treebanks, "treebank", &network.name, &network.treebank)
    }

    /// The file that is built in.
    pub const DEFAULT: &'static str = include_str!("../../../../configs/parsing.toml");

    /// A small version on generated trees.
    pub const QUICK: &'static str = include_str!("../../../../configs/parsing-quick.toml");
}
