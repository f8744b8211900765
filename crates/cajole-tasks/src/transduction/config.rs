//! The settings of the experiment: one TOML file, built in and overridable.

use cajole_core::Config;
use cajole_nn::TrainConfig;
use cajole_nn::models::{StartState, TransducerConfig};
use serde::{Deserialize, Serialize};

/// Everything that `configs/transduction.toml` sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransductionConfig {
    /// One network each.
    pub seeds: Vec<u64>,
    /// One network each, for every seed.
    pub start_states: Vec<StartState>,
    /// How many of the test inputs are used, evenly spread; all, if not given.
    #[serde(default)]
    pub test_inputs: Option<usize>,
    /// The network.
    pub network: TransducerConfig,
    /// How it is trained.
    pub training: TrainConfig,
    /// How the step size of plain SGD is chosen.
    pub tuning: Tuning,
    /// The presets of gradient-based inference.
    pub gbi: Presets,
    /// What it is compared with.
    pub rivals: Rivals,
}

/// How the step size of plain SGD is chosen for a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// Longer inputs to look for failures among.
    pub inputs: usize,
    /// The most failures used.
    pub failures: usize,
    /// The step sizes tried.
    pub step_sizes: Vec<f32>,
    /// Those tried to find the paper's own operating point, from the longest down.
    pub shorter_step_sizes: Vec<f32>,
}

/// Settings of gradient-based inference, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Presets {
    /// Algorithm 1 as printed; its step size is chosen for each network.
    pub paper: Config,
    /// What works best.
    pub best: Config,
}

/// The rivals' settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rivals {
    /// First width of the doubling beam.
    pub beam_from: usize,
    /// Its last width.
    pub beam_to: usize,
    /// Width of the masked beam.
    pub masked_width: usize,
    /// Samples drawn.
    pub samples: usize,
}

impl TransductionConfig {
    /// The file that is built in.
    pub const DEFAULT: &'static str = include_str!("../../../../configs/transduction.toml");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_is_the_presets() {
        let config: TransductionConfig = toml::from_str(TransductionConfig::DEFAULT).unwrap();
        let schedule = config.gbi.paper.schedule;
        assert_eq!(config.gbi.paper, Config { schedule, ..Config::paper() });
        assert_eq!(config.gbi.best.moves, ["decoder", "output"]);
        assert_eq!(
            config.gbi.best,
            Config { moves: config.gbi.best.moves.clone(), ..Config::best() }
        );
    }

    #[test]
    fn unknown_keys_are_named() {
        let text = TransductionConfig::DEFAULT.replace("epochs = 100", "epoch = 100");
        let error = toml::from_str::<TransductionConfig>(&text).unwrap_err().to_string();
        assert!(error.contains("unknown field `epoch`"), "{error}");
    }
}
