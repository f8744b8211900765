//! The settings of the experiment: one TOML file, built in and overridable.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cajole_nn::TrainConfig;
use cajole_nn::settings::{non_empty, penalties, positive, positive_numbers, positives};
use cajole_tasks::Presets;
use cajole_tasks::srl::{CorpusConfig, NetworkConfig, Noise, Nudge, Recipe, Sizes};
use cajole_treebank::roles::Reading;
use serde::{Deserialize, Deserializer, Serialize};

use super::search::Collapse;
use crate::{ExperimentError, Study, UnknownCorpus, Variant};

/// The contents of `configs/srl.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SrlConfig {
    /// The seed of all training randomness.
    pub seed: u64,
    /// What counts as a node; training and the other genres use the first.
    #[serde(deserialize_with = "non_empty")]
    pub readings: Vec<Reading>,
    /// Which sentences are constrained; the other genres use the first.
    #[serde(deserialize_with = "non_empty")]
    pub noise: Vec<Noise>,
    /// The networks that are measured under every kind of constraint, and whose best preset is
    /// ablated; the others are measured under the first kind only. If empty, all networks.
    #[serde(default)]
    pub every_kind: Vec<String>,
    /// The step limits whose trade-off is shown.
    #[serde(deserialize_with = "positives")]
    pub limits: Vec<usize>,
    /// The corpora, by name.
    pub corpora: BTreeMap<String, CorpusConfig>,
    /// The taggers.
    #[serde(deserialize_with = "non_empty")]
    pub networks: Vec<NetworkConfig>,
    /// The settings that all networks share.
    pub sizes: Sizes,
    /// The training settings.
    pub training: TrainConfig,
    /// How settings are tuned on the dev set.
    pub tuning: Tuning,
    /// The presets of gradient-based inference: the task's, with overrides.
    #[serde(default = "presets", deserialize_with = "changed_presets")]
    pub gbi: Presets,
    /// The settings of competing methods.
    pub rivals: Rivals,
    /// Variants of the best preset that lack one of its parts, measured under the first kind of
    /// constraint.
    #[serde(default)]
    pub parts: Vec<Variant>,
    /// Variants of presets to compare on dev failures.
    #[serde(default)]
    pub studies: Vec<Study>,
    /// Variants of A* to compare on dev failures, if any.
    #[serde(default)]
    pub collapse: Option<Collapse>,
}

/// How settings are tuned for a network, on dev failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// The maximum number of failures to use.
    #[serde(deserialize_with = "positive")]
    pub failures: usize,
    /// Candidate step sizes of plain SGD.
    #[serde(deserialize_with = "positive_numbers")]
    pub step_sizes: Vec<f32>,
    /// Candidate penalties of A* for an argument that is not a constituent.
    #[serde(deserialize_with = "penalties")]
    pub penalties: Vec<f32>,
    /// Candidate penalties of A* for a repeated core role, for a continuation and for a reference of
    /// nothing, tuned one after the other; empty charges nothing.
    #[serde(default)]
    pub role_penalties: Vec<f32>,
    /// Candidate nudges of the best preset, cheapest first; empty keeps the preset's.
    #[serde(default)]
    pub nudges: Vec<Nudge>,
}

/// Describes parameter groups.
pub(super) fn groups(moves: &[String]) -> String {
    if moves.is_empty() { "all weights".to_owned() } else { moves.join(", ") }
}

/// The settings of competing methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rivals {
    /// The number of prefixes after which A* gives up on an input.
    #[serde(deserialize_with = "positive")]
    pub agenda_limit: usize,
}

impl SrlConfig {
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

    /// The training recipe of a network.
    ///
    /// # Errors
    /// If it names an unknown corpus.
    pub fn recipe<'a>(&'a self, network: &'a NetworkConfig) -> Result<Recipe<'a>, UnknownCorpus> {
        let corpus =
            UnknownCorpus::unless(&self.corpora, "corpus", &network.name, &network.corpus)?;
        let SrlConfig { sizes, training, readings, .. } = self;
        let seed = network.seeds.first().copied().unwrap_or(self.seed);
        let (reading, encoder) = (readings[0], None);
        Ok(Recipe { network, sizes, training, corpus, reading, encoder, seed })
    }

    /// The settings that a network is measured with. The parameters of an encoder have other names,
    /// so presets and candidates that name LSTMs' are replaced.
    pub(super) fn measuring(&self, network: &NetworkConfig) -> Cow<'_, SrlConfig> {
        let Some(encoder) = &network.encoder else { return Cow::Borrowed(self) };
        let mut config = self.clone();
        let paper = config.gbi.paper.clone();
        config.gbi = Presets { paper, ..Presets::built_in(Presets::LABELS) };
        config.tuning.nudges.clone_from(&encoder.nudges);
        Cow::Owned(config)
    }

    /// The built-in file.
    pub const DEFAULT: &'static str = include_str!("../../configs/srl.toml");

    /// A small version on generated sentences.
    pub const QUICK: &'static str = include_str!("../../configs/srl-quick.toml");
}

fn presets() -> Presets {
    Presets::built_in(Presets::SRL)
}

fn changed_presets<'de, D: Deserializer<'de>>(changes: D) -> Result<Presets, D::Error> {
    Presets::changed(Presets::SRL, changes)
}
