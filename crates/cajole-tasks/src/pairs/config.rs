//! The settings of a pairs network: one TOML file, built in and overridable.

use cajole_nn::TrainConfig;
use cajole_nn::models::{Architecture, layers};
use cajole_nn::settings::{depth, dropout, size};
use serde::{Deserialize, Serialize};

use super::spelling::Spelling;

/// The contents of `configs/pairs.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PairsConfig {
    /// How text is split into symbols.
    pub symbols: Spelling,
    /// Input symbols that are rarer in the training set are mapped to unknown.
    pub often: usize,
    /// Which of the networks below is trained.
    #[serde(default)]
    pub kind: Kind,
    /// The network of LSTMs.
    pub network: NetworkConfig,
    /// How it is trained.
    pub training: TrainConfig,
    /// The transformer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transformer: Option<TransformerConfig>,
}

/// Which of the configured networks is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// LSTMs, as `[network]` says.
    #[default]
    Lstm,
    /// A transformer, as `[transformer]` says.
    Transformer,
}

/// A transformer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransformerConfig {
    /// Layers of the encoder and the decoder.
    #[serde(deserialize_with = "depth")]
    pub layers: usize,
    /// Units of a layer.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// Attention heads, which divide the units of a layer among them.
    #[serde(deserialize_with = "size")]
    pub heads: usize,
    /// Units of the feed-forward networks.
    #[serde(deserialize_with = "size")]
    pub inner: usize,
    /// Dropout rate.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
    /// How it is trained.
    pub training: TrainConfig,
}

/// The parts of the architecture that do not follow from the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkConfig {
    /// The network type.
    pub architecture: Architecture,
    /// Layers of the encoder and the decoder.
    #[serde(deserialize_with = "layers")]
    pub layers: usize,
    /// Hidden units.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// Size of an input symbol's embedding.
    #[serde(deserialize_with = "size")]
    pub embedding: usize,
    /// Size of an output symbol's embedding.
    #[serde(deserialize_with = "size")]
    pub output_embedding: usize,
    /// Width of the attention.
    #[serde(deserialize_with = "size")]
    pub attention: usize,
    /// Dropout rate.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
    /// Whether the input is read in reverse.
    pub reversed_input: bool,
}

impl PairsConfig {
    /// The built-in file.
    pub const DEFAULT: &'static str = include_str!("../../configs/pairs.toml");
}
