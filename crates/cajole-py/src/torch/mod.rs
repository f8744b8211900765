//! Networks in PyTorch: Algorithm 1, searches and rules are cajole's; scores and gradients are
//! computed where the network lives.
//!
//! The core's traits are implemented over a Python object, the [`Backend`], whose methods work on
//! whole batches. Its Python half is `cajole/torch/_backend.py`.

mod backend;
mod stepper;
mod tagger;
mod task;

use std::sync::Arc;

use cajole_infer::Opened;
use cajole_rules::Vocabulary;
use pyo3::prelude::*;

use crate::model::Network;
use backend::Backend;
use stepper::PyStepper;
use tagger::PyTagger;
use task::Torch;

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
