//! How to look for an output that obeys: one list, as data.
//!
//! Gradient-based inference is one of the searches, and takes the candidates that it aims at from
//! others. A [`Search`] is printed, compared and stored; [`Model::search`](crate::Model::search)
//! makes it a decoder, or says why it does not fit.

use serde::{Deserialize, Serialize};

use crate::config::{Config, ranges};
use crate::decoders::Sampled;
use crate::decoders::tags::{Heuristic, Penalties};

/// A way of finding an output that satisfies a constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
#[non_exhaustive]
pub enum Search {
    /// Gradient-based inference.
    Gbi(Box<Config>),
    /// Ever wider beams, until a candidate satisfies; for taggers, ever longer k-best lists.
    Beam {
        /// The first width.
        #[serde(deserialize_with = "ranges::width")]
        from: usize,
        /// The last, which is reached by doubling.
        #[serde(deserialize_with = "ranges::steps")]
        to: usize,
    },
    /// A beam over what the constraint's automaton allows; for taggers, exact search in it.
    Masked {
        /// Its width; 1 is masked greedy decoding.
        #[serde(deserialize_with = "ranges::width")]
        width: usize,
    },
    /// A* search over allowed spans, for role taggers; best-first search elsewhere.
    Astar {
        /// The most prefixes on the agenda, or extended.
        #[serde(deserialize_with = "ranges::steps")]
        limit: usize,
        /// The cost of faults; by default, spans that are not allowed are forbidden.
        #[serde(default)]
        penalties: Penalties,
        /// The bound on the rest of an output.
        #[serde(default = "tight")]
        heuristic: Heuristic,
    },
    /// The most probable output that satisfies, provably: best-first search.
    Exact {
        /// The most prefixes that are extended.
        #[serde(deserialize_with = "ranges::steps")]
        limit: usize,
    },
    /// The same only for constraints without an automaton, beside a masked beam for the others; for
    /// taggers, k-best lists of up to `limit` outputs.
    BlackBox {
        /// The most prefixes that are extended, or outputs that are listed.
        #[serde(deserialize_with = "ranges::steps")]
        limit: usize,
    },
    /// For role taggers, if the constraint is about spans alone: exact search over allowed spans.
    Spans {
        /// The cost of each repetition of a core role, in log-probability; at least 0.
        #[serde(deserialize_with = "ranges::weight")]
        repeated: f32,
    },
    /// The most probable of so many samples that satisfies.
    Sample {
        /// How many are drawn.
        #[serde(deserialize_with = "ranges::steps")]
        n: usize,
        /// The distribution that they are drawn from.
        #[serde(default)]
        from: Sampled,
        /// The seed of every input.
        #[serde(default = "first_seed")]
        seed: u64,
    },
    /// Lagrangian relaxation over the counts of symbols: for rules that count.
    Relaxation {
        /// The most rounds, each of which decodes once.
        #[serde(deserialize_with = "ranges::steps")]
        rounds: usize,
        /// How far the price of a symbol moves for a violation that changes by 1.
        #[serde(deserialize_with = "ranges::weight")]
        rate: f32,
    },
    /// None: the network's own output, with its faults.
    Network,
}

fn tight() -> Heuristic {
    Heuristic::Viterbi
}

fn first_seed() -> u64 {
    1
}

impl Search {
    /// Every search with its usual numbers, in the order in which they are shown.
    pub fn all() -> Vec<Search> {
        vec![
            Search::Gbi(Box::default()),
            Search::Beam { from: 2, to: 64 },
            Search::Masked { width: 5 },
            Search::astar(4096),
            Search::Exact { limit: 4096 },
            Search::BlackBox { limit: 4096 },
            Search::Spans { repeated: 0.0 },
            Search::sample(64),
            Search::Relaxation { rounds: 64, rate: 0.5 },
            Search::Network,
        ]
    }

    /// A* search that forbids all other spans, with the tight bound.
    pub fn astar(limit: usize) -> Search {
        Search::Astar { limit, penalties: Penalties::default(), heuristic: tight() }
    }

    /// Whether its output is taken as it is, even if it violates: it weighs violations against
    /// probability.
    pub fn is_lenient(&self) -> bool {
        matches!(self, Search::Astar { penalties, .. } if penalties.syntax.is_finite())
    }

    /// So many samples of the network's own distribution.
    pub fn sample(n: usize) -> Search {
        Search::Sample { n, from: Sampled::default(), seed: first_seed() }
    }

    /// The search of this [name](Search::name), with its usual numbers.
    pub fn named(name: &str) -> Option<Search> {
        Search::all().into_iter().find(|search| search.name() == name)
    }

    /// Its name, in one word.
    pub fn name(&self) -> &'static str {
        match self {
            Search::Gbi(_) => "gbi",
            Search::Beam { .. } => "beam",
            Search::Masked { .. } => "masked",
            Search::Astar { .. } => "astar",
            Search::Exact { .. } => "exact",
            Search::BlackBox { .. } => "black-box",
            Search::Spans { .. } => "spans",
            Search::Sample { .. } => "sample",
            Search::Relaxation { .. } => "relaxation",
            Search::Network => "network",
        }
    }

    /// One sentence for people who choose between searches.
    pub fn about(&self) -> &'static str {
        match self {
            Search::Gbi(_) => {
                "Gradient-based inference: nudge a copy of the weights until the output obeys"
            }
            Search::Beam { .. } => "Ever wider beams, until a candidate obeys",
            Search::Masked { .. } => {
                "Decode only what the rules allow; for rules that can be followed symbol by symbol"
            }
            Search::Astar { .. } => "Best-first search with a limit",
            Search::Exact { .. } => "The most probable output that obeys, provably, with a limit",
            Search::BlackBox { .. } => {
                "As exact, only for rules that cannot be followed symbol by symbol"
            }
            Search::Spans { .. } => {
                "Exact search over the spans that the rules allow, for role taggers"
            }
            Search::Sample { .. } => "Samples of the network's own distribution",
            Search::Relaxation { .. } => {
                "Greedy decoding under prices on symbols, for rules that count: Lagrangian relaxation"
            }
            Search::Network => "No repair: the network's own output, with its faults",
        }
    }

    /// Whether it is gradient-based inference.
    pub fn is_gbi(&self) -> bool {
        matches!(self, Search::Gbi(_))
    }

    /// The settings of gradient-based inference.
    pub fn config(&self) -> Option<&Config> {
        match self {
            Search::Gbi(config) => Some(config),
            _ => None,
        }
    }

    /// Whether both are the same kind of search, whatever their numbers.
    pub fn is_like(&self, other: &Search) -> bool {
        self.name() == other.name()
    }
}

/// Why a search cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{search} does not fit: {why}")]
pub struct DoesNotFit {
    /// The name of the search.
    pub search: &'static str,
    /// The reason.
    pub why: &'static str,
}

impl Search {
    /// An error that says why the search cannot be run.
    pub fn does_not_fit(&self, why: &'static str) -> DoesNotFit {
        DoesNotFit { search: self.name(), why }
    }
}
