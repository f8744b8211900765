//! The settings of the experiment: one TOML file, built in and overridable.

use cajole_nn::TrainConfig;
use cajole_nn::models::{StartState, TransducerConfig};
use cajole_nn::settings::{non_empty, optional_positive, positive, positive_numbers};
use cajole_tasks::Presets;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Study;

/// The contents of `configs/transduction.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransductionConfig {
    /// The seeds; one network each.
    #[serde(deserialize_with = "non_empty")]
    pub seeds: Vec<u64>,
    /// The initial decoder states; one network each, for every seed.
    #[serde(deserialize_with = "non_empty")]
    pub start_states: Vec<StartState>,
    /// How many test inputs to use, evenly spaced; all by default.
    #[serde(default, deserialize_with = "optional_positive")]
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
    /// Variants of presets to compare on failures among longer inputs, under the count constraint.
    #[serde(default)]
    pub studies: Vec<Study>,
}

/// How the step size of plain SGD is tuned for a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// The number of longer inputs to search for failures.
    #[serde(deserialize_with = "positive")]
    pub inputs: usize,
    /// The maximum number of failures to use.
    #[serde(deserialize_with = "positive")]
    pub failures: usize,
    /// The candidate step sizes.
    #[serde(deserialize_with = "positive_numbers")]
    pub step_sizes: Vec<f32>,
    /// Candidates for matching the paper's own operating point, in decreasing order.
    #[serde(deserialize_with = "positive_numbers")]
    pub shorter_step_sizes: Vec<f32>,
}

/// The settings of competing methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rivals {
    /// The initial width of the doubling beam.
    #[serde(deserialize_with = "positive")]
    pub beam_from: usize,
    /// Its final width.
    #[serde(deserialize_with = "positive")]
    pub beam_to: usize,
    /// Width of the masked beam.
    #[serde(deserialize_with = "positive")]
    pub masked_width: usize,
    /// The number of samples.
    #[serde(deserialize_with = "positive")]
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
    fn presets_equal_the_cores_except_for_step_size_and_moves() {
        let gbi = read(TransductionConfig::DEFAULT).gbi;
        assert_eq!(gbi.best.moves, ["decoder", "output"]);
        let (mut paper, mut best, mut small) = (Config::paper(), Config::best(), Config::small());
        paper.schedule = gbi.paper.schedule;
        best.moves.clone_from(&gbi.best.moves);
        small.moves.clone_from(&gbi.small.moves);
        (small.schedule, small.restarts) = (gbi.small.schedule, gbi.small.restarts.clone());
        assert_eq!((gbi.paper, gbi.best, gbi.small), (paper, best, small));
    }

    #[test]
    fn settings_override_single_values_of_presets() {
        let mut expected = read(TransductionConfig::DEFAULT);
        expected.gbi.best.pull = 0.1;
        let text = TransductionConfig::DEFAULT.to_owned() + "\n[gbi.best]\npull = 0.1\n";
        assert_eq!(read(&text), expected);
    }

    /// Empty lists, zero counts and NaN would end in a report full of NaN.
    #[test]
    fn settings_that_measure_nothing_are_refused_by_name() {
        for (key, value, why) in [
            ("seeds", "[]", "there must be at least one"),
            ("start-states", "[]", "there must be at least one"),
            ("tuning.step-sizes", "[]", "there must be at least one"),
            ("tuning.step-sizes", "[1.0, nan]", "NaN is not a finite number above 0"),
            ("tuning.shorter-step-sizes", "[0.0]", "0 is not a finite number above 0"),
            ("tuning.failures", "0", "this must be at least 1"),
            ("tuning.inputs", "0", "this must be at least 1"),
            ("rivals.samples", "0", "this must be at least 1"),
            ("rivals.masked-width", "0", "this must be at least 1"),
            ("test-inputs", "0", "this must be at least 1"),
            ("training.step-size", "inf", "inf is not a finite number above 0"),
        ] {
            let mut table: toml::Table = toml::from_str(TransductionConfig::DEFAULT).unwrap();
            let value: toml::Table = toml::from_str(&format!("value = {value}")).unwrap();
            let (section, name) = key.split_once('.').unwrap_or(("", key));
            let place = match section {
                "" => &mut table,
                _ => table[section].as_table_mut().unwrap(),
            };
            place.insert(name.to_owned(), value["value"].clone());
            // Both ways to read settings: from text, and from values that flags override.
            let text = toml::to_string(&table).unwrap();
            let of_text = toml::from_str::<TransductionConfig>(&text).unwrap_err().to_string();
            let of_value = table.try_into::<TransductionConfig>().unwrap_err().to_string();
            for error in [of_text, of_value] {
                assert!(error.contains(name) && error.contains(why), "{key}: {error}");
            }
        }
    }

    #[test]
    fn unknown_keys_are_reported() {
        let text = TransductionConfig::DEFAULT.replace("epochs = 100", "epoch = 100");
        let error = toml::from_str::<TransductionConfig>(&text).unwrap_err().to_string();
        assert!(error.contains("unknown field `epoch`"), "{error}");
    }
}
