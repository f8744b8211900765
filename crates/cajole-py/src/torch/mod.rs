//! Networks in PyTorch: Algorithm 1, searches and rules are cajole's; scores and gradients are
//! computed where the network lives.
//!
//! The core's traits are implemented over a Python object, the [`Backend`], whose methods work on
//! whole batches. Its Python half is `cajole/torch/_backend.py`.

mod backend;
mod stepper;
mod tagger;
mod task;
mod transformers;

use std::path::PathBuf;
use std::sync::Arc;

use cajole_infer::Opened;
use cajole_rules::Vocabulary;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{LoadError, with_causes};
use crate::model::Network;
use backend::Backend;
use stepper::PyStepper;
use tagger::PyTagger;
use task::Torch;
use transformers::{TorchLabels, TorchWriter, settings};

/// A tagger: `tags` are the names of its output symbols.
#[pyfunction]
pub(crate) fn torch_tagger(
    backend: Py<PyAny>,
    tags: Vec<String>,
    moves: Vec<String>,
) -> PyResult<Network> {
    let model = PyTagger::new(Backend::new(backend)?, &tags);
    let task = Torch::new(model, Vocabulary::new(tags, " "), moves);
    Ok(Network { network: Arc::new(Box::new(task) as Opened) })
}

/// A network that writes one symbol after the other: `symbols` are their names, without the end.
#[pyfunction]
pub(crate) fn torch_stepper(
    backend: Py<PyAny>,
    symbols: Vec<String>,
    separator: &str,
    moves: Vec<String>,
) -> PyResult<Network> {
    let model = PyStepper::new(Backend::new(backend)?, symbols.len());
    let task = Torch::new(model, Vocabulary::new(symbols, separator), moves);
    Ok(Network { network: Arc::new(Box::new(task) as Opened) })
}

/// How a network of transformers writes, as the settings in this folder say.
#[pyfunction]
pub(crate) fn torch_settings(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    settings(py, &folder).map_err(|error| LoadError::new_err(with_causes(&error)))?
}

/// A network of transformers that writes text: settings and tokenizer are in this folder.
#[pyfunction]
pub(crate) fn torch_writer(
    backend: Py<PyAny>,
    folder: PathBuf,
    max_length: Option<usize>,
    moves: Vec<String>,
) -> PyResult<Network> {
    let task = TorchWriter::new(Backend::new(backend)?, &folder, max_length, moves);
    let task = task.map_err(|error| LoadError::new_err(with_causes(&error)))?;
    Ok(Network { network: Arc::new(Box::new(task) as Opened) })
}

/// A network of transformers that labels words.
#[pyfunction]
pub(crate) fn torch_labels(
    backend: Py<PyAny>,
    folder: PathBuf,
    moves: Vec<String>,
) -> PyResult<Network> {
    let task = TorchLabels::new(Backend::new(backend)?, &folder, moves);
    let task = task.map_err(|error| LoadError::new_err(with_causes(&error)))?;
    Ok(Network { network: Arc::new(Box::new(task) as Opened) })
}
