//! How lines are answered by one network.

use std::time::Duration;

use cajole_core::decoders::Beam;
use cajole_core::{Cancel, Config, Search};

use crate::engine::Engine;
use crate::limits::MAX_TOKENS;
use crate::task::Task;

/// How lines are answered by one network: `Settings::of(&network).by(Engine::gbi()).traces(true)`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// How outputs are made to obey.
    pub engine: Engine,
    /// The settings of gradient-based inference.
    pub config: Config,
    /// The searches that fit the network, with their numbers.
    pub searches: Vec<Search>,
    /// The beam of the network's own decoder.
    pub beam: Beam,
    /// When to give up on one input.
    pub deadline: Option<Duration>,
    /// The most tokens of a line.
    pub max_tokens: usize,
    /// Whether a bad line ends the run.
    pub strict: bool,
    /// Whether records say how long each input took.
    pub times: bool,
    /// Whether records have the trace of every repair.
    pub traces: bool,
    /// Whether records say how probable the network finds every output.
    pub log_probs: bool,
    /// How many threads work.
    pub threads: usize,
    /// Ends the work between two steps once it is set.
    pub cancel: Cancel,
}

impl Settings {
    /// The defaults for this network: on all threads of the current pool; a bad line does not end
    /// the run, and records have neither times nor traces.
    pub fn of(network: &dyn Task) -> Self {
        let presets = network.presets();
        Settings::with(network, presets.get(presets.default).clone())
    }

    /// The defaults with other settings of gradient-based inference. The network's own beam takes
    /// over their ranking: otherwise the first pass and the descents would decode different outputs.
    pub fn with(network: &dyn Task, config: Config) -> Self {
        Settings {
            engine: Engine::usual(),
            searches: network.searches(),
            beam: Beam { ranking: config.ranking, ..network.beam() },
            config,
            deadline: None,
            max_tokens: MAX_TOKENS,
            strict: false,
            times: false,
            traces: false,
            log_probs: false,
            threads: cajole_core::corpus::n_threads(),
            cancel: Cancel::default(),
        }
    }

    /// With another engine than the usual one.
    #[must_use]
    pub fn by(self, engine: Engine) -> Self {
        Settings { engine, ..self }
    }

    /// The same settings with a single descent of this many nudges: an output that the network does
    /// not give up by then is kept. Searches would always replace it, so the usual engine becomes
    /// gradient-based inference.
    #[must_use]
    pub fn patient(mut self, nudges: usize) -> Self {
        if self.engine.is_usual() {
            self.engine = Engine::gbi();
        }
        self.config.schedule.max_steps = nudges;
        self.config.restarts.clear();
        self
    }

    /// Whether a bad line ends the run.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Settings { strict, ..self }
    }

    /// Whether records say how long each input took.
    #[must_use]
    pub fn times(self, times: bool) -> Self {
        Settings { times, ..self }
    }

    /// Whether records have the trace of every repair.
    #[must_use]
    pub fn traces(self, traces: bool) -> Self {
        Settings { traces, ..self }
    }

    /// Whether records say how probable the network finds every output.
    #[must_use]
    pub fn log_probs(self, log_probs: bool) -> Self {
        Settings { log_probs, ..self }
    }

    /// How many threads work.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Settings { threads, ..self }
    }

    /// A search with the numbers that suit the network, if it has any of its own.
    pub(crate) fn search(&self, usual: Search) -> Search {
        let own = self.searches.iter().find(|search| search.is_like(&usual));
        own.cloned().unwrap_or(usual)
    }

    /// How long a line may take.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline.or(self.config.deadline)
    }

    /// Settings of gradient-based inference that decode no narrower than the network itself.
    pub(crate) fn widened(&self, config: &Config) -> Config {
        config.clone().with(|config| config.width = config.width.max(self.beam.width))
    }
}
