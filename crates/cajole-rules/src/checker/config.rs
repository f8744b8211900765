//! How a checker is run, as configured in a constraint file.

use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The settings of a checker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct CheckerConfig {
    /// The program and its arguments. There is no shell in between.
    pub command: Vec<String>,
    /// How it is asked and how it answers.
    pub mode: Mode,
    /// What it reads on standard input in [`Mode::ExitCode`].
    pub pass: Pass,
    /// The time limit per output, including start-up, in milliseconds.
    pub timeout_ms: u64,
    /// How much it may write per output: in its reply, and separately on standard error.
    pub max_reply_bytes: usize,
    /// How many verdicts are cached; the oldest is evicted first.
    pub cache: usize,
}

/// How a checker is asked and how it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Started once and kept running: one line of JSON per output, and one in reply.
    #[default]
    Lines,
    /// Started for each output; a non-zero exit code rejects it.
    ExitCode,
}

/// What a checker reads on standard input in [`Mode::ExitCode`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// Only the output's text; the input is in the environment variable `CAJOLE_INPUT`.
    #[default]
    Text,
    /// The same line of JSON as in [`Mode::Lines`].
    Json,
}

/// Invalid checker settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckerError {
    /// The command is empty.
    #[error("the command names no program: {command:?}")]
    NoProgram {
        /// The command.
        command: Vec<String>,
    },
    /// A number is out of range.
    #[error("{setting} is {value}; it must be from 1 to {most}")]
    OutOfRange {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: u64,
        /// The maximum.
        most: u64,
    },
}

impl CheckerConfig {
    /// This command with default settings.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        CheckerConfig { command, ..CheckerConfig::default() }
    }

    /// These settings with some changed: `CheckerConfig::new(["check"]).with(|c| c.cache = 9)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If no program is named, a limit is zero, or the timeout is longer than a day.
    pub(super) fn validate(&self) -> Result<(), CheckerError> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err(CheckerError::NoProgram { command: self.command.clone() });
        }
        in_range("timeout-ms", self.timeout_ms, 24 * 60 * 60 * 1000)?;
        in_range("max-reply-bytes", self.max_reply_bytes as u64, 1 << 30)?;
        in_range("cache", self.cache as u64, u64::from(u32::MAX))
    }

    /// The program, empty if none is named.
    pub(super) fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The program with its arguments.
    pub(super) fn to_command(&self) -> Command {
        let mut command = Command::new(self.program());
        command.args(self.command.iter().skip(1));
        command
    }

    /// The time limit per output.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// Has no command, which must be set. The mode is [`Mode::Lines`].
impl Default for CheckerConfig {
    fn default() -> Self {
        CheckerConfig {
            command: Vec::new(),
            mode: Mode::Lines,
            pass: Pass::Text,
            timeout_ms: 5000,
            max_reply_bytes: 1 << 20,
            cache: 10_000,
        }
    }
}

fn in_range(setting: &'static str, value: u64, most: u64) -> Result<(), CheckerError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(CheckerError::OutOfRange { setting, value, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_is_required() {
        let read = toml::from_str::<CheckerConfig>;
        assert_eq!(read("command = ['true']").unwrap(), CheckerConfig::new(["true"]));
        let full = "command = ['a', 'b']\nmode = 'exit-code'\npass = 'json'\ntimeout-ms = 7\n\
                    max-reply-bytes = 8\ncache = 9";
        let config = read(full).unwrap();
        assert_eq!((config.mode, config.pass), (Mode::ExitCode, Pass::Json));
        assert_eq!((config.timeout_ms, config.max_reply_bytes, config.cache), (7, 8, 9));
        assert!(read("command = ['true']\ntimeout = 7").is_err());
        assert!(read("mode = 'lines'").unwrap().validate().is_err());
    }

    #[test]
    fn invalid_settings_are_reported() {
        let good = CheckerConfig::new(["true"]);
        assert_eq!(good.validate(), Ok(()));
        let fault = |config: CheckerConfig| config.validate().unwrap_err().to_string();
        assert!(fault(CheckerConfig { command: vec![], ..good.clone() }).contains("no program"));
        assert!(fault(CheckerConfig { cache: 0, ..good.clone() }).contains("cache is 0"));
        let forever = CheckerConfig { timeout_ms: u64::MAX, ..good };
        assert!(fault(forever).contains(&format!("timeout-ms is {}", u64::MAX)));
    }
}
