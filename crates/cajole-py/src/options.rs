//! Keyword arguments that all functions share that run a network: the options of a run.

use std::thread::available_parallelism;

use cajole_infer::Settings;
use cajole_infer::engine::{Engine, EngineError};
use cajole_infer::options::{Field, Run};
use cajole_infer::task::Task;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::error::settings_error;
use crate::value::to_json;

/// How a network is run.
pub(crate) struct Options {
    pub(crate) run: Run,
    /// The numbers of inputs, if these are part of a longer file.
    pub(crate) numbers: Option<Vec<u64>>,
}

impl Options {
    /// Reads arguments: options, and `numbers`.
    pub(crate) fn new(arguments: &Bound<'_, PyDict>) -> PyResult<Options> {
        let mut options = Options { run: Run::default(), numbers: None };
        for (name, value) in arguments.iter() {
            let name: String = name.extract()?;
            match name.as_str() {
                "numbers" => options.numbers = value.extract()?,
                "settings" if !value.is_none() => {
                    options.run.settings = Some(assignments(value.cast()?)?);
                }
                name if Field::named(name).is_none() => {
                    return Err(PyTypeError::new_err(format!("there is no option {name:?}")));
                }
                name => {
                    let read = options.run.read(name, to_json(&value)?);
                    read.map_err(|error| PyValueError::new_err(error.to_string()))?;
                }
            }
        }
        Ok(options)
    }

    /// The settings of this network.
    pub(crate) fn settings(&self, network: &dyn Task) -> PyResult<Settings> {
        let settings = self.run.settings(network).map_err(|error| settings_error(&error))?;
        let all = || available_parallelism().map_or(1, usize::from);
        Ok(settings.threads(self.run.threads.unwrap_or_else(all)))
    }
}

/// The engine of this name, with its numbers.
pub(crate) fn engine(name: &str) -> PyResult<Engine> {
    name.parse().map_err(|error: EngineError| PyValueError::new_err(error.to_string()))
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
