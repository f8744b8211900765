//! What can go wrong, as Python's exceptions; messages are those of the command line.

use std::error::Error;

use cajole_infer::infer::InferError;
use cajole_rules::RuleFileError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOSError};

create_exception!(cajole, CajoleError, PyException, "The base of all errors of cajole.");
create_exception!(cajole, LoadError, CajoleError, "A checkpoint cannot be loaded.");
create_exception!(cajole, RuleError, CajoleError, "A rule is not valid, or failed on an output.");
create_exception!(cajole, SettingsError, CajoleError, "A setting does not fit the network.");
create_exception!(cajole, InputError, CajoleError, "An input cannot be worked on.");

/// The message with its causes, except those that an earlier message already quotes.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.ends_with(&message) {
            text += ": ";
            text += &message;
        }
        cause = error.source();
    }
    text.truncate(text.trim_end().len());
    text
}

pub(crate) fn rule_error(error: &RuleFileError) -> PyErr {
    RuleError::new_err(with_causes(error))
}

pub(crate) fn settings_error(error: &dyn Error) -> PyErr {
    SettingsError::new_err(with_causes(error))
}

/// Why a run ended early.
pub(crate) fn infer_error(error: &InferError) -> PyErr {
    let text = with_causes(error);
    match error {
        InferError::Source { .. } | InferError::Sink(_) => PyOSError::new_err(text),
        InferError::Interrupted => PyKeyboardInterrupt::new_err(text),
        InferError::Settings(_) => SettingsError::new_err(text),
        InferError::Line { .. } => InputError::new_err(text),
    }
}
