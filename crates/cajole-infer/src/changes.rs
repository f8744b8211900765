//! The changes of users to a task's settings: flags of the command line, arguments of a function.

use std::time::Duration;

use cajole_tasks::{OverrideError, Preset};

use crate::engine::Engine;
use crate::limits::MAX_TOKENS;

use crate::settings::Settings;
use crate::task::Task;

/// Changes to the settings of a task; by default, none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Changes {
    /// Another preset than the task's.
    pub preset: Option<Preset>,
    /// Single values of the preset, each as `key.key=value`.
    pub overrides: Vec<String>,
    /// The most nudges for one input in each descent.
    pub max_steps: Option<usize>,
    /// Nudges after which an output is left alone, see [`Settings::patient`].
    pub patience: Option<usize>,
    /// Width of the beam that the network decodes with.
    pub width: Option<usize>,
    /// When to give up on one input.
    pub deadline: Option<Duration>,
    /// The most tokens of a line.
    pub max_tokens: usize,
}

impl Default for Changes {
    fn default() -> Self {
        Changes {
            preset: None,
            overrides: Vec::new(),
            max_steps: None,
            patience: None,
            width: None,
            deadline: None,
            max_tokens: MAX_TOKENS,
        }
    }
}

impl Changes {
    /// The settings of this network with the changes, for `engine`.
    ///
    /// # Errors
    /// If an override does not fit.
    pub fn settings(&self, network: &dyn Task, engine: Engine) -> Result<Settings, OverrideError> {
        let presets = network.presets();
        let preset = self.preset.unwrap_or(presets.default);
        let mut config = presets.overridden(preset, &self.overrides)?;
        if let Some(max_steps) = self.max_steps {
            config.schedule.max_steps = max_steps;
            config.restarts.iter_mut().for_each(|schedule| schedule.max_steps = max_steps);
        }
        let mut settings = Settings::with(network, config).by(engine);
        settings.beam.width = self.width.unwrap_or(settings.beam.width);
        settings.max_tokens = self.max_tokens;
        settings.deadline = self.deadline;
        Ok(match self.patience {
            Some(nudges) => settings.patient(nudges),
            None => settings,
        })
    }
}
