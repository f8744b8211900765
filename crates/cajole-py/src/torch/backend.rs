//! What both kinds of networks request from Python: parameters, nudges, gradients and steps.

use std::collections::BTreeMap;

use cajole_core::{BackendError, Model, Move, Moving, Parameter, Pass};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::value::to_python;

/// The Python object that computes.
pub(crate) struct Backend {
    object: Py<PyAny>,
    parameters: Vec<Parameter>,
    /// How many inputs are worth running together.
    pub(super) in_step: usize,
    pub(super) fingerprint: u64,
}

/// An input as Python prepared it.
pub(crate) struct Item {
    pub(super) object: Py<PyAny>,
    pub(super) size: usize,
    pub(super) cap: usize,
}

/// `W_λ` and `∇` of one input, on the network's device.
pub(crate) struct Nudge(pub(super) Py<PyAny>);

/// What Python prepares for an input: the object, the names of its symbols, its size, its longest
/// output.
pub(super) type Prepared = (Py<PyAny>, Vec<String>, usize, usize);

impl Backend {
    pub(super) fn new(object: Py<PyAny>) -> PyResult<Self> {
        Python::attach(|py| {
            let bound = object.bind(py);
            let parameters: Vec<(String, usize, bool)> =
                bound.call_method0("parameters")?.extract()?;
            let parameter = |(name, len, is_vector)| Parameter { name, len, is_vector };
            let parameters = parameters.into_iter().map(parameter).collect();
            let in_step = bound.getattr("in_step")?.extract()?;
            let fingerprint = bound.call_method0("fingerprint")?.extract()?;
            Ok(Backend { parameters, in_step, fingerprint, object: object.clone_ref(py) })
        })
    }

    /// Calls a method of the Python half; an exception is a failure of this call.
    pub(super) fn call<T>(
        &self,
        method: &str,
        arguments: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, BackendError> {
        Python::attach(|py| {
            let called = self.object.bind(py).call_method1(method, arguments);
            called.and_then(|result| read(&result)).map_err(BackendError::new)
        })
    }

    pub(super) fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    pub(super) fn prepare(&self, value: &Value) -> Result<Prepared, BackendError> {
        self.call("prepare", (Json(value),), |result| result.extract())
    }

    pub(super) fn nudge(&self, moving: &Moving) -> Result<Nudge, BackendError> {
        let moves: Vec<bool> = (0..self.parameters.len()).map(|i| moving.moves(i)).collect();
        let nudge = self.call("nudge", (moves,), |n| Ok(n.clone().unbind()));
        nudge.map(Nudge)
    }

    pub(super) fn restore(&self, nudge: &Nudge) {
        // Only sets tensors to None.
        let _ = self.call("restore", (&nudge.0,), |_| Ok(()));
    }

    /// `W_λ ← W_λ − η∇`, for all inputs with the same rule together.
    pub(super) fn take_step(&self, set: &mut [Move<Nudge>]) -> Result<(), BackendError> {
        let mut groups: BTreeMap<String, Vec<&mut Move<Nudge>>> = BTreeMap::new();
        for own in set.iter_mut().filter(|own| !own.is_over) {
            let rule = serde_json::to_string(&own.schedule.rule).unwrap_or_default();
            groups.entry(rule).or_default().push(own);
        }
        for (rule, mut group) in groups {
            let steps: Vec<_> = group
                .iter()
                .map(|own| {
                    let eta = own.schedule.rule.eta(own.t, own.schedule.step_size, own.norm);
                    (&own.nudge.0, own.t, eta)
                })
                .collect();
            let distances: Vec<f32> = self.call("take_step", (rule, steps), |d| d.extract())?;
            for (own, distance) in group.iter_mut().zip(distances) {
                own.distance = distance;
            }
        }
        Ok(())
    }
}

/// A JSON value as an argument.
struct Json<'a>(&'a Value);

impl<'py> IntoPyObject<'py> for Json<'_> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.0)
    }
}

/// The inputs and nudges of a set, for Python.
pub(super) fn both<'a, M: Model<Input = Item, Nudge = Nudge>>(
    set: &[Pass<'a, M>],
) -> (Vec<&'a Py<PyAny>>, Vec<Option<&'a Py<PyAny>>>) {
    let inputs = set.iter().map(|pass| &pass.input.object).collect();
    let nudges = set.iter().map(|pass| pass.nudge.map(|nudge| &nudge.0)).collect();
    (inputs, nudges)
}

/// Sets `‖∇‖` of the moves that are not over, in order.
pub(super) fn set_norms(set: &mut [Move<Nudge>], norms: &[f32]) {
    for (own, &norm) in set.iter_mut().filter(|own| !own.is_over).zip(norms) {
        own.norm = if own.schedule.rule.needs_norm() { norm } else { 1.0 };
    }
}

/// Numbers that Python wrote in bytes.
pub(super) fn floats(bytes: &Bound<'_, PyAny>, into: &mut Vec<f32>) -> PyResult<()> {
    let bytes = bytes.cast::<PyBytes>()?;
    let numbers = bytes.as_bytes().as_chunks::<4>().0.iter();
    into.extend(numbers.map(|bytes| f32::from_ne_bytes(*bytes)));
    Ok(())
}
