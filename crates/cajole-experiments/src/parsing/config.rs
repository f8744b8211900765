//! The settings of the experiment: one TOML file, built in and overridable.

use std::collections::BTreeMap;

use cajole_core::decoders::{Beam, Ranking};
use cajole_nn::TrainConfig;
use cajole_nn::models::SequenceNetwork;
use cajole_nn::settings::{non_empty, positive, positive_numbers, positives};
use cajole_tasks::parsing::{NetworkConfig, Recipe, Sizes, TreebankConfig};
use cajole_tasks::{Presets, TransformerSettings};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{ExperimentError, Study, UnknownCorpus, Variant};

/// The contents of `configs/parsing.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ParsingConfig {
    /// The seed of all training randomness.
    pub seed: u64,
    /// The beam widths that the networks decode with; 1 is greedy.
    #[serde(deserialize_with = "positives")]
    pub widths: Vec<usize>,
    /// How these beams, and masked ones, rank outputs of different lengths.
    #[serde(default)]
    pub ranking: Ranking,
    /// The treebanks, by name.
    pub treebanks: BTreeMap<String, TreebankConfig>,
    /// The parsers.
    #[serde(deserialize_with = "non_empty")]
    pub networks: Vec<NetworkConfig>,
    /// The sizes that all networks share.
    pub sizes: Sizes,
    /// The training settings.
    pub training: TrainConfig,
    /// What transformers have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transformer: Option<TransformerSettings>,
    /// How the step size of plain SGD is tuned.
    pub tuning: Tuning,
    /// The presets of gradient-based inference: the task's, with overrides.
    #[serde(default = "presets", deserialize_with = "changed_presets")]
    pub gbi: Presets,
    /// The same for transformers.
    #[serde(default = "transformer_presets", deserialize_with = "changed_transformer_presets")]
    pub transformer_gbi: Presets,
    /// The settings of competing methods.
    pub rivals: Rivals,
    /// Variants of the best preset that lack one of its parts, measured with greedy decoding.
    #[serde(default)]
    pub parts: Vec<Variant>,
    /// Variants of presets to compare on dev failures.
    #[serde(default)]
    pub studies: Vec<Study>,
}

/// How the step size of plain SGD is tuned for a network, on dev failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// The maximum number of failures to use.
    #[serde(deserialize_with = "positive")]
    pub failures: usize,
    /// The candidate step sizes.
    #[serde(deserialize_with = "positive_numbers")]
    pub step_sizes: Vec<f32>,
}

/// The settings of competing methods.
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
    /// Checks across values: every network has a name of its own and a corpus that exists, and
    /// every variant fits its preset.
    ///
    /// # Errors
    /// If one has not.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let networks = self.seeded();
        ExperimentError::unless_distinct(networks.iter().map(|network| &network.name))?;
        networks.iter().try_for_each(|network| self.recipe(network).map(drop))?;
        self.parts.iter().try_for_each(|part| part.config(&self.gbi, 1.0).map(drop))?;
        self.studies.iter().try_for_each(|study| study.check(&self.gbi))
    }

    /// The networks, one for every seed.
    pub fn seeded(&self) -> Vec<NetworkConfig> {
        self.networks.iter().flat_map(|network| network.seeded(self.seed)).collect()
    }

    /// The presets of gradient-based inference with this network.
    pub fn presets(&self, net: &SequenceNetwork) -> &Presets {
        match net {
            SequenceNetwork::Lstm(_) => &self.gbi,
            SequenceNetwork::Transformer(_) => &self.transformer_gbi,
        }
    }

    /// A beam of this width.
    pub fn beam(&self, width: usize) -> Beam {
        Beam { width, ranking: self.ranking }
    }

    /// The training recipe of a network.
    ///
    /// # Errors
    /// If it names an unknown treebank.
    pub fn recipe<'a>(&'a self, network: &'a NetworkConfig) -> Result<Recipe<'a>, UnknownCorpus> {
        let treebank =
            UnknownCorpus::unless(&self.treebanks, "treebank", &network.name, &network.treebank)?;
        let ParsingConfig { sizes, training, transformer, .. } = self;
        let seed = network.seeds.first().copied().unwrap_or(self.seed);
        let transformer = transformer.as_ref();
        Ok(Recipe { network, sizes, training, transformer, treebank, seed })
    }

    /// The built-in file.
    pub const DEFAULT: &'static str = include_str!("../../configs/parsing.toml");

    /// A small version on generated trees.
    pub const QUICK: &'static str = include_str!("../../configs/parsing-quick.toml");
}

fn presets() -> Presets {
    Presets::built_in(Presets::PARSING)
}

fn changed_presets<'de, D: Deserializer<'de>>(changes: D) -> Result<Presets, D::Error> {
    Presets::changed(Presets::PARSING, changes)
}

fn transformer_presets() -> Presets {
    Presets::built_in(Presets::PARSING_TRANSFORMER)
}

fn changed_transformer_presets<'de, D: Deserializer<'de>>(changes: D) -> Result<Presets, D::Error> {
    Presets::changed(Presets::PARSING_TRANSFORMER, changes)
}
