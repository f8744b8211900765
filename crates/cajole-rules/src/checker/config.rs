//! How a checker is run, as it stands in a constraint file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything that can be set about a checker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct CheckerConfig {
    /// The program and its arguments; no shell looks at them.
    pub command: Vec<String>,
    /// How it is asked, and how it answers.
    pub mode: Mode,
    /// What it reads in the mode [`Mode::ExitCode`].
    pub pass: Pass,
    /// How long it may take over one output, its start included, in milliseconds.
    pub timeout_ms: u64,
    /// How much it may write over one output: in its reply, and again on standard error.
    pub max_reply_bytes: usize,
    /// How many verdicts are remembered, the oldest being forgotten first.
    pub cache: usize,
}

/// How a checker is asked, and how it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It is started once and kept: a line of JSON for each output, and one in reply.
    #[default]
    Lines,
    /// It is started for each output, and rejects it by an exit code other than 0.
    ExitCode,
}

/// What a checker that is started for each output finds on its standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// The output's text and nothing else; the input is in the variable `CAJOLE_INPUT`.
    #[default]
    Text,
    /// The line that it would be asked in the mode [`Mode::Lines`].
    Json,
}

/// Settings that no checker can be run with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckerError {
    /// There is nothing to run.
    #[error("the command names no program: {command:?}")]
    NoProgram {
        /// The command.
        command: Vec<String>,
    },
    /// A number is too small or too large.
    #[error("{setting} is {value}; it has to be from 1 to {most}")]
    OutOfRange {
        /// Which setting.
        setting: &'static str,
        /// What it was set to.
        value: u64,
        /// The most it may be.
        most: u64,
    },
}

impl CheckerConfig {
    /// This command, and all else as it is by default.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        CheckerConfig { command, ..CheckerConfig::default() }
    }

    /// Whether a checker can be run like this.
    ///
    /// # Errors
    /// If no program is named, or a limit is zero, or the time-out longer than a day.
    pub fn validate(&self) -> Result<(), CheckerError> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err(CheckerError::NoProgram { command: self.command.clone() });
        }
        in_range("timeout-ms", self.timeout_ms, 24 * 60 * 60 * 1000)?;
        in_range("max-reply-bytes", self.max_reply_bytes as u64, 1 << 30)?;
        in_range("cache", self.cache as u64, u64::from(u32::MAX))
    }

    /// How long the checker may take over one output.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// No command yet, which has to be given; it is asked by lines.
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
    fn only_the_command_has_to_be_written() {
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
    fn settings_that_cannot_be_run_are_named() {
        let good = CheckerConfig::new(["true"]);
        assert_eq!(good.validate(), Ok(()));
        let fault = |config: CheckerConfig| config.validate().unwrap_err().to_string();
        assert!(fault(CheckerConfig { command: vec![], ..good.clone() }).contains("no program"));
        assert!(fault(CheckerConfig { cache: 0, ..good.clone() }).contains("cache is 0"));
        let forever = CheckerConfig { timeout_ms: u64::MAX, ..good };
        assert!(fault(forever).contains(&format!("timeout-ms is {}", u64::MAX)));
    }
}
