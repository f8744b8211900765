//! How engines work, whatever the input.

use std::time::Duration;

use cajole_core::{Cancel, Config};

use crate::engine::{Engine, Limits};
use crate::runnable::Runnable;

/// How engines work, whatever the input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How outputs are made to obey.
    pub engine: Engine,
    /// The settings of gradient-based inference.
    pub config: Config,
    /// How far engines go.
    pub limits: Limits,
    /// Ends the work between two steps once it is set.
    pub cancel: Cancel,
}

impl Settings {
    /// The defaults for this network.
    pub fn of(network: &dyn Runnable) -> Self {
        let presets = network.presets();
        Settings::with(network, presets.get(presets.default).clone())
    }

    /// The same, with other settings of gradient-based inference. The network's own beam takes over
    /// their ranking: otherwise the first pass and the descents would decode different outputs.
    pub fn with(network: &dyn Runnable, config: Config) -> Self {
        let limits = Limits { ranking: config.ranking, ..network.limits() };
        Settings { engine: Engine::Usual, config, limits, cancel: Cancel::default() }
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
        if self.engine == Engine::Usual {
            self.engine = Engine::Gbi;
        }
        self.config.schedule.max_steps = nudges;
        self.config.restarts.clear();
        self
    }

    /// How long a line may take.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.limits.deadline.or(self.config.deadline)
    }
}
