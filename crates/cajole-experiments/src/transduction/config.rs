//! The settings of the experiment: one TOML file, built in and overridable.

use cajole_nn::TrainConfig;
use cajole_nn::models::{StartState, TransducerConfig};
use cajole_tasks::Presets;
use serde::{Deserialize, Deserializer, Serialize};

/// The contents of `configs/transduction.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransductionConfig {
    /// The seeds; one network each.
    pub seeds: Vec<u64>,
    /// The initial decoder states; one network each, for every seed.
    pub start_states: Vec<StartState>,
    /// How many test inputs to use, evenly spaced; all by default.
    #[serde(default)]
    pub test_inputs: Option<usize>,
    /// The network.
    pub network: TransducerConfig,
    /// The training settings.
    pub training: TrainConfig,
    /// How the step size of plain SGD is tuned.
    pub tuning: Tuning,
    /// The presets of gradient-based inference: the task's, with overrides.
    #[serde(default = "presets", deserialize_with = "changed_presets")]
    pub gbi: Presets,
    /// The settings of competing methods.
    pub rivals: Rivals,
}

/// How the step size of plain SGD is tuned for a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// The number of longer inputs to search for failures.
    pub inputs: usize,
    /// The maximum number of failures to use.
    pub failures: usize,
    /// The candidate step sizes.
    pub step_sizes: Vec<f32>,
    /// Candidates for matching the paper's own operating point, in decreasing order.
    pub shorter_step_sizes: Vec<f32>,
}

/// The settings of competing methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rivals {
    /// The initial width of the doubling beam.
    pub beam_from: usize,
    /// Its final width.
    pub beam_to: usize,
    /// Width of the masked beam.
    pub masked_width: usize,
    /// The number of samples.
    pub samples: usize,
}

impl TransductionConfig {
    /// The built-in file.
    pub const DEFAULT: &'static str = include_str!("../../configs/transduction.toml");
}

fn presets() -> Presets {
    Presets::built_in(Presets::TRANSDUCTION)
}

fn changed_presets<'de, D: Deserializer<'de>>(changes: D) -> Result<Presets, D::Error> {
    Presets::changed(Presets::TRANSDUCTION, changes)
}

#[cfg(test)]
mod tests {
    use cajole_core::Config;

    use super::*;

    fn read(text: &str) -> TransductionConfig {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn presets_equal_the_cores_except_for_moves() {
        let gbi = read(TransductionConfig::DEFAULT).gbi;
        assert_eq!(gbi.best.moves, ["decoder", "output"]);
        let (mut paper, mut best) = (Config::paper(), Config::best());
        paper.schedule = gbi.paper.schedule;
        best.moves.clone_from(&gbi.best.moves);
        assert_eq!((gbi.paper, gbi.best, gbi.small), (paper, best, Config::small()));
    }

    #[test]
    fn settings_override_single_values_of_presets() {
        let mut expected = read(TransductionConfig::DEFAULT);
        expected.gbi.best.pull = 0.1;
        let text = TransductionConfig::DEFAULT.to_owned() + "\n[gbi.best]\npull = 0.1\n";
        assert_eq!(read(&text), expected);
    }

    #[test]
    fn unknown_keys_are_reported() {
        let text = TransductionConfig::DEFAULT.replace("epochs = 100", "epoch = 100");
        let error = toml::from_str::<TransductionConfig>(&text).unwrap_err().to_string();
        assert!(error.contains("unknown field `epoch`"), "{error}");
    }
}
