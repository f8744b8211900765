//! The settings of Algorithm 1, as data.
//!
//! [`Config::paper`] is what the paper describes; [`Config::best`] is what works best for users.
//! Both are plain values: every front end can print, store and override them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::step_rule::StepRule;

/// Everything that can be set about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// What is lowered and what is raised.
    pub objective: Objective,
    /// How steps are taken at first.
    pub schedule: Schedule,
    /// Schedules to start over with, from `W`, when the first has run out of steps.
    pub restarts: Vec<Schedule>,
    /// `α`: how strongly `W_λ` is pulled back towards `W`.
    pub pull: f32,
    /// Names of the parameter groups that move; empty means all.
    pub moves: Vec<String>,
    /// When to give up on one input; written down in milliseconds, as `deadline-ms`.
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
    /// `η`.
    pub step_size: f32,
    /// `M`.
    pub max_steps: usize,
}

/// What the gradient is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Objective {
    /// `Σ g(y)·p(y)·log p(y)` over the violating ones among the decoder's best candidates, `p`
    /// being normalised over them. With one candidate this is the paper's `g·Ψ`.
    Lower {
        /// How many of an inner beam's candidates are looked at.
        candidates: usize,
    },
    /// `g·(lower·log p(ŷ) − log p(y⁺))`: lower the decoded output, raise a satisfying one.
    ///
    /// `y⁺` comes from the sources given to [`Gbi`](crate::Gbi), or from the inner beam. Where
    /// there is none, this falls back to lowering alone.
    Contrast {
        /// How often `y⁺` is looked for.
        proposals: Proposals,
        /// At which positions.
        positions: Positions,
        /// Weight of the decoded output.
        lower: f32,
        /// Where nothing satisfying is found: how many of an inner beam's candidates are lowered.
        otherwise: usize,
    },
}

/// When satisfying candidates are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proposals {
    /// Once, under `W`. Several sources then race, each in weights of its own: the candidate that
    /// the network reaches in the fewest steps wins, and of equals the earlier source's.
    Frozen,
    /// At every step, under `W_λ`, from the first source that has one.
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
    /// Algorithm 1 as printed: lower the decoded output by SGD on all weights, 100 steps.
    ///
    /// The paper states neither `η` nor `α`. `η` must be tuned for each network, on development
    /// data; `α` is off.
    pub fn paper() -> Self {
        Config {
            objective: Objective::Lower { candidates: 1 },
            schedule: Schedule { rule: StepRule::Sgd, step_size: 1e-3, max_steps: 100 },
            restarts: Vec::new(),
            pull: 0.0,
            moves: Vec::new(),
            deadline: None,
        }
    }

    /// What needs no tuning and converts nearly everything: steps of set length that grow, and
    /// restarts with other schedules; satisfying candidates race where a source of them is at
    /// hand, and the candidates of the inner beam are lowered where none is.
    ///
    /// Meant for a beam of width 5 as the decoder, with a masked greedy and a masked beam decoder
    /// as sources if the constraint is an automaton.
    pub fn best() -> Self {
        let unit = |step_size, growth| Schedule {
            rule: StepRule::UnitNorm { growth, cap: 0.3 },
            step_size,
            max_steps: 100,
        };
        Config {
            objective: Objective::Contrast {
                proposals: Proposals::Frozen,
                positions: Positions::Differing,
                lower: 1.0,
                otherwise: 5,
            },
            schedule: unit(1e-3, 1.15),
            restarts: vec![unit(3e-3, 1.1), unit(3e-4, 1.2), unit(1e-2, 1.05)],
            ..Config::paper()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::paper()
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
