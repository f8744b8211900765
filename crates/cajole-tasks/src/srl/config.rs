//! The settings of the experiment: one TOML file, built in and overridable.

use std::collections::BTreeMap;

use cajole_core::Config;
use cajole_nn::TrainConfig;
use cajole_nn::models::{CellKind, Reading as Direction};
use cajole_nn::settings::{depth, dropout, non_empty, optional_size, positive, size};
use serde::{Deserialize, Serialize};

use super::instance::Noise;
use super::nodes::Reading;
pub use crate::experiment::Source;
use crate::experiment::UnknownCorpus;
use crate::words::Reads;

/// Everything that `configs/srl.toml` sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SrlConfig {
    /// Where all randomness of training comes from.
    pub seed: u64,
    /// What counts as a node; the first is the one that training and other kinds of text use.
    #[serde(deserialize_with = "non_empty")]
    pub readings: Vec<Reading>,
    /// Which sentences are constrained; the first is the one that other kinds of text use.
    #[serde(deserialize_with = "non_empty")]
    pub noise: Vec<Noise>,
    /// What taggers are trained and tested on, by name.
    pub corpora: BTreeMap<String, CorpusConfig>,
    /// The taggers.
    pub networks: Vec<NetworkConfig>,
    /// What all networks have in common.
    pub sizes: Sizes,
    /// How they are trained.
    pub training: TrainConfig,
    /// How settings are chosen on development data.
    pub tuning: Tuning,
    /// The presets of gradient-based inference.
    pub gbi: Presets,
    /// What it is compared with.
    pub rivals: Rivals,
}

/// A corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CorpusConfig {
    /// Where its sentences come from.
    pub source: Source,
    /// What taggers read of it.
    pub reads: Reads,
    /// Whether they are also told the predicate's lemma.
    #[serde(default)]
    pub lemmas: bool,
    /// Whether only verbs are predicates.
    pub verbal: bool,
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
    /// The corpus it is for.
    pub corpus: String,
    /// Layers.
    #[serde(deserialize_with = "depth")]
    pub layers: usize,
    /// Hidden units.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// How much of the training data it sees, in per cent.
    #[serde(deserialize_with = "positive")]
    pub share: usize,
    /// Passes over it, if not as many as the others take.
    #[serde(default)]
    pub epochs: Option<usize>,
    /// The first step size, if not that of the others.
    #[serde(default)]
    pub step_size: Option<f32>,
    /// How it learns from sentences without roles, if it does.
    #[serde(default)]
    pub constraint_loss: Option<Unlabelled>,
    /// Whether it is also tested on other kinds of text.
    #[serde(default)]
    pub domains: bool,
}

/// Sentences that have trees but whose roles are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Unlabelled {
    /// How much of the training data that is not labelled is used, in per cent.
    pub share: usize,
    /// Weight of the constraint loss.
    pub weight: f32,
}

/// What all networks have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sizes {
    /// Of a word's embedding.
    #[serde(deserialize_with = "optional_size")]
    pub embedding: usize,
    /// Of the embedding that tells the predicate.
    #[serde(deserialize_with = "size")]
    pub indicator: usize,
    /// Of a lemma's embedding.
    #[serde(deserialize_with = "optional_size")]
    pub lemma_embedding: usize,
    /// What layers are made of.
    pub cell: CellKind,
    /// Which way they read.
    pub reading: Direction,
    /// Share of the inputs' units silenced in training.
    #[serde(deserialize_with = "dropout")]
    pub input_dropout: f32,
    /// Share of units silent to the next position.
    #[serde(deserialize_with = "dropout")]
    pub recurrent_dropout: f32,
    /// Share of units silenced between layers.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
}

/// How settings are chosen for a network, on failures of the development data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// The most failures used.
    #[serde(deserialize_with = "positive")]
    pub failures: usize,
    /// Step sizes of plain SGD that are tried.
    pub step_sizes: Vec<f32>,
    /// Penalties of A* for an argument that is no node that are tried.
    pub penalties: Vec<f32>,
    /// What the best preset moves, and how far, that is tried, the cheapest first; as it is, if
    /// nothing is.
    #[serde(default)]
    pub nudges: Vec<Nudge>,
}

/// What a preset moves, and how far at first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Nudge {
    /// Names of parameter groups; none means all.
    pub moves: Vec<String>,
    /// The first step size.
    pub step_size: f32,
}

/// These parameter groups, in words.
pub(super) fn groups(moves: &[String]) -> String {
    if moves.is_empty() { "all weights".to_owned() } else { moves.join(", ") }
}

/// Settings of gradient-based inference, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Presets {
    /// Algorithm 1 as printed; its step size is chosen for each network.
    pub paper: Config,
    /// What works best.
    pub best: Config,
    /// Step limits whose trade-off is shown.
    pub limits: Vec<usize>,
}

impl Presets {
    /// The paper's preset with this step size.
    pub fn paper_by(&self, step_size: f32) -> Config {
        let mut paper = self.paper.clone();
        paper.schedule.step_size = step_size;
        paper
    }

    /// The best preset with this nudge.
    pub fn best_by(&self, nudge: &Nudge) -> Config {
        let mut best = self.best.clone();
        best.moves.clone_from(&nudge.moves);
        best.schedule.step_size = nudge.step_size;
        best
    }
}

/// The rivals' settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rivals {
    /// Prefixes that A* may make for one input before it gives up.
    #[serde(deserialize_with = "positive")]
    pub agenda_limit: usize,
}

impl SrlConfig {
    /// The corpus that a network is for.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn corpus_of(&self, network: &NetworkConfig) -> Result<&CorpusConfig, UnknownCorpus> {
        UnknownCorpus::unless(&self.corpora, "corpus", &network.name, &network.corpus)
    }

    /// The file that is built in.
    pub const DEFAULT: &'static str = include_str!("../../../../configs/srl.toml");

    /// A small version on generated sentences.
    pub const QUICK: &'static str = include_str!("../../../../configs/srl-quick.toml");
}
