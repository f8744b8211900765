//! The settings of a network for pairs: one TOML file, built in and overridable.

use cajole_nn::TrainConfig;
use cajole_nn::models::{Architecture, layers};
use cajole_nn::settings::{dropout, size};
use serde::{Deserialize, Serialize};

use super::spelling::Spelling;

/// Everything that `configs/pairs.toml` sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PairsConfig {
    /// How text becomes symbols.
    pub symbols: Spelling,
    /// Input symbols that occur less often in training are unknown.
    pub often: usize,
    /// The network.
    pub network: NetworkConfig,
    /// How it is trained.
    pub training: TrainConfig,
}

/// What of a network the data do not decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkConfig {
    /// How its layers are connected.
    pub architecture: Architecture,
    /// Layers of encoder and decoder.
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
    /// Share of units silenced in training.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
    /// Whether it reads its input from the end.
    pub reversed_input: bool,
}

impl PairsConfig {
    /// The file that is built in.
    pub const DEFAULT: &'static str = include_str!("../../../../configs/pairs.toml");
}
