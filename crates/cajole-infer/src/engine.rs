//! Ways of making outputs obey: gradient-based inference, and its rivals.
//!
//! Whatever the engine, an output of the network that satisfies its rules is left alone. If an
//! engine finds nothing, the answer is the least violating output seen, and its status says so.

use std::time::Duration;

use cajole_core::decoders::{Beam, Ranking, Sampled};
use cajole_core::{Failure, Fault, Symbol, Trace};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error};

use crate::limits::MAX_TOKENS;

/// How outputs are made to obey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// What suits the task and the rules best: see [`Task::usual_engine`](crate::task::Task).
    Usual,
    /// Gradient-based inference.
    Gbi,
    /// One of its rivals.
    Rival(Rival),
    /// None: the network's own output, with its faults.
    Network,
    /// The cheapest engine that can guarantee to satisfy, then the others; of the satisfying
    /// outputs, the one that the network finds most probable.
    Auto,
}

/// Alternatives to gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// Ever wider beams, until some candidate satisfies.
    Beam,
    /// Decodes only what the rules allow, symbol by symbol.
    Masked,
    /// A* search: best first, with a limit on the agenda.
    Astar,
    /// The most probable output that satisfies, provably.
    Exact,
    /// Samples.
    Sample,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 9] = [
        Engine::Usual,
        Engine::Gbi,
        Engine::Rival(Rival::Beam),
        Engine::Rival(Rival::Masked),
        Engine::Rival(Rival::Astar),
        Engine::Rival(Rival::Exact),
        Engine::Rival(Rival::Sample),
        Engine::Auto,
        Engine::Network,
    ];

    /// The engine of this [`name`](Engine::name).
    pub fn named(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Usual => "usual",
            Engine::Gbi => "gbi",
            Engine::Rival(Rival::Beam) => "beam",
            Engine::Rival(Rival::Masked) => "masked",
            Engine::Rival(Rival::Astar) => "astar",
            Engine::Rival(Rival::Exact) => "exact",
            Engine::Rival(Rival::Sample) => "sample",
            Engine::Network => "network",
            Engine::Auto => "auto",
        }
    }
}

/// Deserialized by its name.
impl<'de> Deserialize<'de> for Engine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Engine, D::Error> {
        let name = String::deserialize(from)?;
        Engine::named(&name).ok_or_else(|| {
            let names: Vec<&str> = Engine::ALL.into_iter().map(Engine::name).collect();
            D::Error::custom(format!("no engine {name:?}; there are {}", names.join(", ")))
        })
    }
}

/// How far engines go.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Limits {
    /// Width of the network's own decoder; 1 is greedy.
    pub width: usize,
    /// How beams rank outputs of different lengths.
    pub ranking: Ranking,
    /// First width of the doubling beam.
    pub beam_from: usize,
    /// Its last width.
    pub beam_to: usize,
    /// Width of the masked beam.
    pub masked_width: usize,
    /// The most prefixes that a best-first search extends.
    pub expansions: usize,
    /// Samples drawn.
    pub samples: usize,
    /// The distribution that they are drawn from.
    #[serde(skip_serializing_if = "is_own")]
    pub sampled: Sampled,
    /// When to give up on one input.
    pub deadline: Option<Duration>,
    /// The most tokens of a line.
    pub max_tokens: usize,
}

/// Whether samples are drawn from the network's own distribution.
fn is_own(sampled: &Sampled) -> bool {
    *sampled == Sampled::default()
}

impl Limits {
    /// The beam of the network's own decoder.
    pub fn beam(&self) -> Beam {
        Beam { width: self.width, ranking: self.ranking }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            width: 1,
            ranking: Ranking::default(),
            beam_from: 2,
            beam_to: 64,
            masked_width: 5,
            expansions: 4096,
            samples: 64,
            sampled: Sampled::default(),
            deadline: None,
            max_tokens: MAX_TOKENS,
        }
    }
}

/// How it went with one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The output satisfies all rules.
    Satisfied,
    /// It violates them less than the network's own.
    Improved,
    /// It is the network's own, or no better.
    Unchanged,
    /// Time ran out; it is the least violating one seen.
    TimedOut,
    /// A rule could not be measured, for example because a checker crashed.
    Unmeasured,
    /// The run was cancelled; it is the least violating one seen.
    Cancelled,
    /// The network or a decoder failed.
    Failed,
}

/// The answer to one input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The output.
    pub output: Vec<Symbol>,
    /// How it went.
    pub status: Status,
    /// `g` of the network's own output.
    pub g_before: f32,
    /// `g` of this one.
    pub g_after: f32,
    /// `log p(y | x, W)` under the network's own weights, where it is known.
    pub log_prob: Option<f32>,
    /// Nudges taken; `None` for engines that do not nudge.
    pub steps: Option<usize>,
    /// Sequences the network was run over.
    pub passes: usize,
    /// Why it does not satisfy.
    pub faults: Vec<Fault>,
    /// A remark, if there is one.
    pub note: Option<&'static str>,
    /// What went wrong, if the network or a decoder failed.
    pub failure: Option<Failure>,
    /// The engine that produced it.
    pub engine: &'static str,
    /// Every decode of gradient-based inference.
    pub trace: Option<Trace>,
    /// The time of the repair, without the first pass. Inputs that are repaired in step share it.
    pub elapsed: Duration,
}

impl Answer {
    /// Whether it violates less, or is more probable and violates no more.
    pub(crate) fn is_better_than(&self, other: &Answer) -> bool {
        let of = |answer: &Answer| (-answer.g_after, answer.log_prob.unwrap_or(f32::NEG_INFINITY));
        of(other) < of(self)
    }
}
