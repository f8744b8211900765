//! A Python function as a rule: `(input, output) -> float | bool | dict`.
//!
//! Its arguments are immutable: texts, tuples and read-only mappings. If it raises, or returns
//! something that is not a verdict, that output counts as unmeasured.

use std::sync::Arc;

use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_files::shortened;
use cajole_rules::{Subject, Verdict, Vocabulary, parse_reply};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyMapping, PyTuple, PyType};
use serde_json::json;

use crate::value::{to_frozen, to_json};

/// `cajole.Output`: a text with its symbols.
static OUTPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A function as a constraint on outputs over a vocabulary.
pub(crate) struct Callable {
    pub(crate) rule: Py<PyAny>,
    pub(crate) vocabulary: Arc<Vocabulary>,
}

impl Callable {
    fn judge(&self, x: &Subject, y: &[Symbol]) -> Result<Verdict, String> {
        Python::attach(|py| {
            let reply = self.ask(py, x, y).map_err(|error| raised(py, &error))?;
            let refused = |error: PyErr| format!("returned {}: {error}", quoted(&reply));
            let reply_json = as_reply(&reply).map_err(refused)?;
            let verdict = parse_reply(reply_json.to_string().as_bytes(), y.len());
            let refused = |error| format!("returned {}: {error}", quoted(&reply));
            let mut verdict = verdict.map_err(refused)?.verdict;
            if verdict.message.is_empty() {
                verdict.message = format!("returned {}", quoted(&reply));
            }
            Ok(verdict)
        })
    }

    fn ask<'py>(&self, py: Python<'py>, x: &Subject, y: &[Symbol]) -> PyResult<Bound<'py, PyAny>> {
        let names = y.iter().map(|&symbol| self.vocabulary.name(symbol));
        let symbols = PyTuple::new(py, names.collect::<Vec<_>>())?;
        let output = OUTPUT.import(py, "cajole._output", "Output")?;
        let output = output.call1((self.vocabulary.text(y), symbols))?;
        let reply = self.rule.bind(py).call1((to_frozen(py, &x.value())?, output))?;
        // A scalar of NumPy or PyTorch: their truth values are not Python bools.
        match reply.getattr_opt("item")? {
            Some(item) if !reply.is_instance_of::<PyMapping>() => item.call0(),
            _ => Ok(reply),
        }
    }
}

/// What a function returned, as a checker's reply: `True` is fine, `False` costs 1.
fn as_reply(reply: &Bound<'_, PyAny>) -> PyResult<serde_json::Value> {
    if let Ok(is_fine) = reply.cast::<PyBool>() {
        return Ok(json!({"loss": if is_fine.is_true() { 0.0 } else { 1.0 }}));
    }
    if reply.is_instance_of::<PyMapping>() {
        return to_json(reply);
    }
    match reply.extract::<f64>() {
        Ok(loss) if loss.is_finite() => Ok(json!({"loss": loss})),
        Ok(loss) => {
            let message = format!("{loss} is not a finite number >= 0");
            Err(pyo3::exceptions::PyValueError::new_err(message))
        }
        Err(_) => Err(pyo3::exceptions::PyTypeError::new_err(
            "expected a number, a bool, or a dict with \"loss\"",
        )),
    }
}

/// A value for a message.
fn quoted(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    shortened(&text, 80)
}

/// An exception with the line it comes from.
fn raised(py: Python<'_>, error: &PyErr) -> String {
    let place = || -> PyResult<String> {
        let mut last = error.traceback(py).map(Bound::into_any);
        let mut place = String::new();
        while let Some(traceback) = last.filter(|traceback| !traceback.is_none()) {
            let file = traceback.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?;
            place = format!(" ({file}:{})", traceback.getattr("tb_lineno")?);
            last = Some(traceback.getattr("tb_next")?);
        }
        Ok(place)
    };
    format!("raised {error}{}", place().unwrap_or_default())
}

impl Constraint<Subject> for Callable {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        self.judge(x, y).map_or(Violation::Whole(f32::NAN), |verdict| verdict.violation())
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        match self.judge(x, y) {
            Ok(verdict) => verdict.faults(&self.vocabulary, y, &verdict.message),
            Err(message) => vec![Fault { at: 0..y.len() + 1, cost: f32::NAN, message }],
        }
    }
}
