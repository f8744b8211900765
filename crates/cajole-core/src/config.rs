//! The settings of Algorithm 1, as data.
//!
//! A configuration is a complete preset: the decoder's width, the sources of satisfying candidates,
//! the objective, and which parameters move in which steps. [`Config::paper`] is what the paper
//! describes, [`Config::best`] works best for users, and [`Config::small`] is fastest for many
//! inputs. All are plain values that every front end can print, store and override.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decoders::Ranking;
use crate::search::Search;
use crate::step_rule::StepRule;

/// The widest beam: memory grows with it, so a larger number is a slip.
pub const MOST_WIDTH: usize = 1024;

/// The most steps of a descent, or prefixes that a search extends.
pub const MOST_STEPS: usize = 1_000_000;

/// All settings of a run. Start from a preset and change what you need.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Beam width of the inner decoder, from 1 to [`MOST_WIDTH`]; 1 is greedy.
    #[serde(deserialize_with = "ranges::width")]
    pub width: usize,
    /// How the inner decoder and masked sources rank outputs of different lengths.
    pub ranking: Ranking,
    /// Searches for satisfying candidates, for contrast; if empty, the decoder's beam. Those that do
    /// not fit the network are left out, so that one preset serves several kinds of network.
    #[serde(deserialize_with = "ranges::sources")]
    pub sources: Vec<Search>,
    /// What to lower and what to raise.
    pub objective: Objective,
    /// The first schedule.
    pub schedule: Schedule,
    /// Schedules to restart with, from `W`, when the previous one runs out of steps.
    pub restarts: Vec<Schedule>,
    /// `α`: how strongly `W_λ` is pulled back towards `W`; at least 0.
    #[serde(deserialize_with = "ranges::weight")]
    pub pull: f32,
    /// Name patterns of the parameters that move, see [`Moving`](crate::Moving); empty means all.
    pub moves: Vec<String>,
    /// Time limit per input; serialized in milliseconds, as `deadline-ms`.
    #[serde(
        rename = "deadline-ms",
        with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub deadline: Option<Duration>,
}

/// One descent from `W`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Schedule {
    /// How a gradient becomes a step.
    pub rule: StepRule,
    /// `η`; at least 0.
    #[serde(deserialize_with = "ranges::weight")]
    pub step_size: f32,
    /// `M`, at most [`MOST_STEPS`].
    #[serde(deserialize_with = "ranges::steps")]
    pub max_steps: usize,
}

/// The objective whose gradient is taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
#[non_exhaustive]
pub enum Objective {
    /// `Σ g(y)·p(y)·log p(y)` over the violating ones among the decoder's best candidates, with `p`
    /// normalised over those candidates. With one candidate this is the paper's `g·Ψ`.
    Lower {
        /// How many candidates of the inner beam to consider, from 1 to [`MOST_WIDTH`].
        #[serde(deserialize_with = "ranges::width")]
        candidates: usize,
    },
    /// `g·(lower·log p(ŷ) − log p(y⁺))`: lower the decoded output, raise a satisfying one.
    ///
    /// `y⁺` comes from the sources given to [`Gbi`](crate::Gbi), or from the inner beam. If there
    /// is none, this falls back to lowering alone.
    Contrast {
        /// How often to look for `y⁺`.
        proposals: Proposals,
        /// Which positions to blame.
        positions: Positions,
        /// Weight of the decoded output; at least 0.
        #[serde(deserialize_with = "ranges::weight")]
        lower: f32,
        /// If nothing satisfying is found: how many candidates of the inner beam to lower.
        #[serde(deserialize_with = "ranges::width")]
        otherwise: usize,
    },
}

/// When to look for satisfying candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proposals {
    /// Once, under `W`. Several sources then race, each from its own copy of the weights. The
    /// candidate that the network reaches in the fewest steps wins; ties go to the earlier source.
    Frozen,
    /// At every step, under `W_λ`, from the first source that finds one.
    Fresh,
}

/// Where contrast acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// Where the two outputs differ.
    Differing,
    /// Everywhere.
    All,
}

impl Config {
    /// These settings with some changed: `Config::best().with(|c| c.pull = 0.1)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self);
        self
    }

    /// Algorithm 1 as printed: lower the decoded output by SGD on all weights, 100 steps.
    ///
    /// The paper states neither `η` nor `α`. Tune `η` per network, on dev data; `α` is off.
    pub fn paper() -> Self {
        Config {
            width: 1,
            ranking: Ranking::Total,
            sources: Vec::new(),
            objective: Objective::Lower { candidates: 1 },
            schedule: Schedule { rule: StepRule::Sgd, step_size: 1e-3, max_steps: 100 },
            restarts: Vec::new(),
            pull: 0.0,
            moves: Vec::new(),
            deadline: None,
        }
    }

    /// Needs no tuning and converts nearly everything: growing unit-norm steps, restarts with other
    /// schedules, and a race between satisfying candidates. If no source finds one, the candidates
    /// of the inner beam are lowered.
    pub fn best() -> Self {
        Config {
            width: 5,
            sources: vec![
                Search::Masked { width: 5 },
                Search::Masked { width: 1 },
                Search::BlackBox { limit: 4096 },
            ],
            objective: Objective::Contrast {
                proposals: Proposals::Frozen,
                positions: Positions::Differing,
                lower: 1.0,
                otherwise: 5,
            },
            schedule: Schedule::unit(1e-3, 1.15, 0.3),
            restarts: vec![
                Schedule::unit(3e-3, 1.1, 0.3),
                Schedule::unit(3e-4, 1.2, 0.3),
                Schedule::unit(1e-2, 1.05, 0.3),
            ],
            ..Config::paper()
        }
    }

    /// Like [`best`](Config::best), but only biases (and gains of norms) move: inputs share every
    /// matrix and are repaired many at a time. Vectors are few, so steps are longer. If they do not
    /// suffice, nothing else moves.
    pub fn small() -> Self {
        Config {
            moves: vec![crate::Moving::VECTORS.to_owned()],
            schedule: Schedule::unit(1e-2, 1.15, 3.0),
            restarts: vec![
                Schedule::unit(3e-2, 1.1, 3.0),
                Schedule::unit(3e-3, 1.2, 3.0),
                Schedule::unit(1e-1, 1.05, 3.0),
            ],
            ..Config::best()
        }
    }
}

impl Schedule {
    /// At most 100 unit-norm steps: the first of length `step_size`, each longer than the last by a
    /// factor of `growth`, up to `cap`.
    pub fn unit(step_size: f32, growth: f32, cap: f32) -> Self {
        Schedule { rule: StepRule::UnitNorm { growth, cap }, step_size, max_steps: 100 }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::paper()
    }
}

/// Numbers that are out of range are errors where settings are read, with the range.
pub(crate) mod ranges {
    use std::ops::RangeInclusive;

    use serde::de::{Deserialize, Deserializer, Error};

    use super::{MOST_STEPS, MOST_WIDTH};
    use crate::search::Search;

    pub(crate) fn width<'de, D: Deserializer<'de>>(d: D) -> Result<usize, D::Error> {
        within(d, 1..=MOST_WIDTH)
    }

    pub(crate) fn steps<'de, D: Deserializer<'de>>(d: D) -> Result<usize, D::Error> {
        within(d, 0..=MOST_STEPS)
    }

    /// Gradient-based inference is no source of itself, and the network's own output obeys nothing.
    pub(crate) fn sources<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Search>, D::Error> {
        let sources = Vec::<Search>::deserialize(d)?;
        match sources.iter().find(|s| matches!(s, Search::Gbi(_) | Search::Network)) {
            Some(search) => Err(D::Error::custom(format!("{} is no source", search.name()))),
            None => Ok(sources),
        }
    }

    pub(crate) fn weight<'de, D: Deserializer<'de>>(d: D) -> Result<f32, D::Error> {
        match f32::deserialize(d)? {
            number if number.is_finite() && 0.0 <= number => Ok(number),
            number => Err(D::Error::custom(format!("{number} is not a finite number from 0"))),
        }
    }

    fn within<'de, D: Deserializer<'de>>(
        d: D,
        range: RangeInclusive<usize>,
    ) -> Result<usize, D::Error> {
        match usize::deserialize(d)? {
            n if range.contains(&n) => Ok(n),
            n => {
                Err(D::Error::custom(format!("{n} is not in {}..={}", range.start(), range.end())))
            }
        }
    }
}

/// An optional duration as a whole number of milliseconds.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(d: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        d.map(|d| d.as_millis() as u64).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(d)?.map(Duration::from_millis))
    }
}
