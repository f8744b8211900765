//! Named settings of gradient-based inference that are known to work for a task.
//!
//! Each task has one file of presets. Other settings files state only what they change; see
//! [`Presets::changed`].

use std::str::FromStr;

use cajole_core::Config;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use crate::overrides::{OverrideError, of_table, overridden};

/// The name of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Preset {
    /// Algorithm 1 as printed.
    Paper,
    /// The most accurate.
    Best,
    /// The fastest on a corpus: only biases move, and inputs are repaired in lockstep.
    Small,
}

/// There is no preset of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no preset {name:?}; there are paper, best, small")]
pub struct NoPreset {
    name: String,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 3] = [Preset::Paper, Preset::Best, Preset::Small];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Paper => "paper",
            Preset::Best => "best",
            Preset::Small => "small",
        }
    }

    /// One sentence for people who choose between presets.
    pub fn about(self) -> &'static str {
        match self {
            Preset::Paper => "Algorithm 1 as printed: one output, plain SGD on all weights",
            Preset::Best => {
                "The most accurate: steps of set length towards satisfying outputs, with restarts"
            }
            Preset::Small => {
                "The fastest over many lines: only biases move, so that inputs are repaired together"
            }
        }
    }
}

impl FromStr for Preset {
    type Err = NoPreset;

    fn from_str(name: &str) -> Result<Preset, NoPreset> {
        let preset = Preset::ALL.into_iter().find(|preset| preset.name() == name);
        preset.ok_or_else(|| NoPreset { name: name.to_owned() })
    }
}

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Preset, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The presets of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Presets {
    /// The preset users get by default, chosen on the dev set.
    pub default: Preset,
    /// Algorithm 1 as printed; its step size is tuned per network.
    pub paper: Config,
    /// The most accurate.
    pub best: Config,
    /// The fastest.
    pub small: Config,
}

impl Presets {
    /// Presets of the paper's synthetic task.
    pub const TRANSDUCTION: &'static str = include_str!("transduction/presets.toml");
    /// Presets of constituency parsing.
    pub const PARSING: &'static str = include_str!("parsing/presets.toml");
    /// Presets of parsers that are transformers.
    pub const PARSING_TRANSFORMER: &'static str = include_str!("parsing/transformer-presets.toml");
    /// Presets of semantic role labeling.
    pub const SRL: &'static str = include_str!("srl/presets.toml");
    /// Presets of users' own pairs.
    pub const PAIRS: &'static str = include_str!("pairs/presets.toml");
    /// Presets of pairs networks that are transformers.
    pub const PAIRS_TRANSFORMER: &'static str = include_str!("pairs/transformer-presets.toml");
    /// Presets of encoder-decoders that write text.
    pub const WRITER: &'static str = include_str!("writer/presets.toml");
    /// Presets of encoders that label words.
    pub const LABELS: &'static str = include_str!("labels/presets.toml");

    /// Parses built-in presets.
    ///
    /// # Panics
    /// If `text` is not one of the constants above.
    pub fn built_in(text: &str) -> Self {
        toml::from_str(text).expect("the built-in presets are tested")
    }

    /// Built-in presets with overrides, which are tables of the same shape: `[best]` with `pull =
    /// 0.1` changes one value. For serde's `deserialize_with`.
    ///
    /// # Errors
    /// If the overrides do not fit.
    pub fn changed<'de, D: Deserializer<'de>>(text: &str, changes: D) -> Result<Self, D::Error> {
        let mut presets: Table = toml::from_str(text).map_err(serde::de::Error::custom)?;
        change(&mut presets, Table::deserialize(changes)?);
        of_table(&presets).map_err(serde::de::Error::custom)
    }

    /// The settings of a preset.
    pub fn get(&self, preset: Preset) -> &Config {
        match preset {
            Preset::Paper => &self.paper,
            Preset::Best => &self.best,
            Preset::Small => &self.small,
        }
    }

    /// A preset with overrides, which are a table of the same shape: `pull = 0.1`.
    ///
    /// # Errors
    /// If the overrides do not fit.
    pub fn varied(&self, preset: Preset, changes: &Table) -> Result<Config, String> {
        let text = toml::to_string(self.get(preset)).expect("a preset is plain data");
        let mut table: Table = toml::from_str(&text).expect("it has just been written");
        change(&mut table, changes.clone());
        of_table(&table)
    }

    /// A preset with single values overridden, each as `key.key=value`.
    ///
    /// # Errors
    /// If an override does not fit.
    pub fn overridden(
        &self,
        preset: Preset,
        overrides: &[String],
    ) -> Result<Config, OverrideError> {
        let preset = self.get(preset);
        if overrides.is_empty() {
            return Ok(preset.clone());
        }
        let text = toml::to_string(preset).expect("a preset is plain data");
        overridden("the built-in settings", &text, overrides)
    }

    /// The paper's settings with this step size.
    pub fn paper_by(&self, step_size: f32) -> Config {
        let mut paper = self.paper.clone();
        paper.schedule.step_size = step_size;
        paper
    }
}

/// Settings that need no tuning, for a network of your own.
impl Default for Presets {
    fn default() -> Self {
        Presets {
            default: Preset::Best,
            paper: Config::paper(),
            best: Config::best(),
            small: Config::small(),
        }
    }
}

/// Changes a table key by key. Tables that say their kind are alternatives, and replaced as a whole.
fn change(table: &mut Table, changes: Table) {
    for (key, value) in changes {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(known)), Value::Table(changes)) if !changes.contains_key("kind") => {
                change(known, changes);
            }
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use cajole_core::{Moving, Objective, StepRule};

    use super::*;

    fn changed(changes: &str) -> Result<Presets, String> {
        let changes = toml::Deserializer::parse(changes).map_err(|e| e.to_string())?;
        Presets::changed(Presets::SRL, changes).map_err(|e| e.to_string())
    }

    #[test]
    fn overrides_leave_the_rest_unchanged() {
        let srl = Presets::built_in(Presets::SRL);
        assert_eq!(changed("").unwrap(), srl);
        let mut expected = srl.clone();
        (expected.best.pull, expected.best.schedule.max_steps) = (0.1, 7);
        expected.paper.schedule.rule = StepRule::ADAM;
        expected.small.objective = Objective::Lower { candidates: 3 };
        expected.default = Preset::Small;
        let adam = "{ kind = \"adam\", beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }";
        let changes = format!(
            "default = \"small\"\n\
             [best]\npull = 0.1\nschedule.max-steps = 7\n\
             [paper.schedule]\nrule = {adam}\n\
             [small]\nobjective = {{ kind = \"lower\", candidates = 3 }}\n"
        );
        assert_eq!(changed(&changes).unwrap(), expected);
        for (changes, named) in
            [("[bets]\npull = 0.1", "bets"), ("[best]\npul = 0.1", "pul"), ("best = 1", "best")]
        {
            let error = changed(changes).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn a_preset_can_be_varied() {
        let srl = Presets::built_in(Presets::SRL);
        let changes: Table = toml::from_str("pull = 0.5\nsources = []").unwrap();
        let expected = srl.best.clone().with(|c| (c.pull, c.sources) = (0.5, Vec::new()));
        assert_eq!(srl.varied(Preset::Best, &changes).unwrap(), expected);
        let misspelt: Table = toml::from_str("pul = 0.5").unwrap();
        assert!(srl.varied(Preset::Best, &misspelt).unwrap_err().contains("pul"));
    }

    #[test]
    fn built_in_presets_are_complete() {
        let of_tasks = [Presets::TRANSDUCTION, Presets::PARSING, Presets::SRL, Presets::PAIRS];
        let of_transformers = [
            Presets::WRITER,
            Presets::LABELS,
            Presets::PARSING_TRANSFORMER,
            Presets::PAIRS_TRANSFORMER,
        ];
        for text in of_tasks.into_iter().chain(of_transformers) {
            let presets = Presets::built_in(text);
            let is_bias = |pattern: &String| pattern.ends_with('b') || pattern == Moving::VECTORS;
            assert!(presets.small.moves.iter().all(is_bias), "{:?}", presets.small.moves);
            assert_eq!(presets.paper.width, 1);
            assert!(presets.paper.sources.is_empty() && presets.paper.restarts.is_empty());
        }
    }
}
