//! Keyword arguments that all functions share that run a network, within the command line's ranges.

use std::time::Duration;

use cajole_infer::engine::{Engine, EngineError};
use cajole_infer::limits::{
    MAX_LINE_BYTES, MAX_TOKENS, MOST_DEADLINE_MS, MOST_LINE_BYTES, MOST_STEPS, MOST_THREADS,
    MOST_TOKENS, MOST_WIDTH,
};
use cajole_infer::task::Task;
use cajole_infer::{Changes, Settings};
use cajole_tasks::Preset;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::error::settings_error;
use crate::value::to_json;

/// How a network is run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    engine: String,
    preset: Option<String>,
    settings: Option<Py<PyDict>>,
    max_steps: Option<i64>,
    patience: Option<i64>,
    width: Option<i64>,
    deadline_ms: Option<i64>,
    max_tokens: Option<i64>,
    max_line_bytes: Option<i64>,
    threads: Option<i64>,
    trace: bool,
    times: bool,
    strict: bool,
    /// The numbers of inputs, if these are part of a longer file.
    pub(crate) numbers: Option<Vec<u64>>,
}

impl Options {
    /// The settings of this network.
    pub(crate) fn settings(&self, py: Python<'_>, network: &dyn Task) -> PyResult<Settings> {
        let engine = engine(&self.engine)?;
        let preset = self.preset.as_deref().map(preset).transpose()?;
        let overrides = self.settings.as_ref().map(|dict| assignments(dict.bind(py)));
        let deadline = within("deadline_ms", self.deadline_ms, 0, MOST_DEADLINE_MS)?;
        let max_tokens = size("max_tokens", self.max_tokens, 1, MOST_TOKENS)?;
        let mut changes = Changes::default();
        changes.preset = preset;
        changes.overrides = overrides.transpose()?.unwrap_or_default();
        changes.max_steps = size("max_steps", self.max_steps, 0, MOST_STEPS)?;
        changes.patience = size("patience", self.patience, 0, MOST_STEPS)?;
        changes.width = size("width", self.width, 1, MOST_WIDTH)?;
        changes.deadline = deadline.map(Duration::from_millis);
        changes.max_tokens = max_tokens.unwrap_or(MAX_TOKENS);
        let settings = changes.settings(network, engine);
        let settings = settings.map_err(|error| settings_error(&error))?;
        let settings = settings.strict(self.strict).times(self.times).traces(self.trace);
        Ok(settings.threads(self.threads()?))
    }

    /// How many threads work.
    fn threads(&self) -> PyResult<usize> {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(size("threads", self.threads, 1, MOST_THREADS)?.unwrap_or_else(all))
    }

    /// Bytes of a line of a file.
    pub(crate) fn max_line_bytes(&self) -> PyResult<usize> {
        let most = size("max_line_bytes", self.max_line_bytes, 1, MOST_LINE_BYTES)?;
        Ok(most.unwrap_or(MAX_LINE_BYTES))
    }
}

/// The engine of this name, with its numbers.
pub(crate) fn engine(name: &str) -> PyResult<Engine> {
    name.parse().map_err(|error: EngineError| PyValueError::new_err(error.to_string()))
}

fn preset(name: &str) -> PyResult<Preset> {
    match name {
        "paper" => Ok(Preset::Paper),
        "best" => Ok(Preset::Best),
        "small" => Ok(Preset::Small),
        _ => {
            let message = format!("there is no preset {name:?}; known are paper, best, small");
            Err(PyValueError::new_err(message))
        }
    }
}

/// `{"schedule.step-size": 0.01, "schedule": {"max-steps": 7}}` as `key.key=value`, in order.
fn assignments(settings: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let mut all = Vec::new();
    if let Value::Object(fields) = to_json(settings)? {
        for (key, value) in fields {
            assign(&key, value, &mut all)?;
        }
    }
    Ok(all)
}

fn assign(key: &str, value: Value, all: &mut Vec<String>) -> PyResult<()> {
    match value {
        // Tables that say their kind are alternatives, and replaced as a whole.
        Value::Object(fields) if !fields.contains_key("kind") => fields
            .into_iter()
            .try_for_each(|(name, value)| assign(&format!("{key}.{name}"), value, all)),
        value => {
            let value = toml::Value::try_from(value).map_err(|error| settings_error(&error))?;
            all.push(format!("{key}={value}"));
            Ok(())
        }
    }
}

/// A number from `least` to `most`.
pub(crate) fn size(
    name: &str,
    number: Option<i64>,
    least: usize,
    most: usize,
) -> PyResult<Option<usize>> {
    let number = within(name, number, least as u64, most as u64)?;
    Ok(number.map(|number| number as usize))
}

fn within(name: &str, number: Option<i64>, least: u64, most: u64) -> PyResult<Option<u64>> {
    let Some(n) = number else { return Ok(None) };
    match u64::try_from(n) {
        Ok(n) if (least..=most).contains(&n) => Ok(Some(n)),
        _ => {
            let message = format!("{name} is {n}, which is not in {least}..={most}");
            Err(PyValueError::new_err(message))
        }
    }
}
