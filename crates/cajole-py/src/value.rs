//! JSON values to Python's objects, and back.

use cajole_infer::fields::Id;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyMappingProxy, PyString, PyTuple,
};
use serde_json::{Map, Number, Value};

/// The deepest nesting of lists and dicts; serde_json reads no deeper either.
const MOST_DEPTH: usize = 120;

/// A Python object as JSON: what `json.dumps` takes, any mapping and sequence, and scalars and arrays
/// of NumPy and PyTorch.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    within(value, MOST_DEPTH)
}

fn within(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    let Some(depth) = depth.checked_sub(1) else {
        let message = format!("lists and dicts are nested more than {MOST_DEPTH} deep");
        return Err(PyValueError::new_err(message));
    };
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return match (value.extract::<i64>(), value.extract::<u64>()) {
            (Ok(n), _) => Ok(n.into()),
            (_, Ok(n)) => Ok(n.into()),
            _ => Err(PyValueError::new_err(format!("{value} does not fit in 64 bits"))),
        };
    }
    if value.is_instance_of::<PyFloat>() {
        let number = value.extract::<f64>()?;
        let finite = Number::from_f64(number).map(Value::Number);
        return finite.ok_or_else(|| PyValueError::new_err(format!("{number} is not finite")));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        return object(mapping, depth);
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().map(|item| within(&item, depth)).collect();
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return tuple.iter().map(|item| within(&item, depth)).collect();
    }
    if let Ok(convert) = value.getattr("tolist") {
        return within(&convert.call0()?, depth); // NumPy, PyTorch, Arrow
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("expected text, numbers, lists and dicts, not {kind}")))
}

fn object(mapping: &Bound<'_, PyMapping>, depth: usize) -> PyResult<Value> {
    let mut fields = Map::new();
    for item in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(key) = key.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!("expected a text as key, not {key}")));
        };
        fields.insert(key.to_str()?.to_owned(), within(&value, depth)?);
    }
    Ok(Value::Object(fields))
}

/// A JSON value as plain Python objects.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| to_python(py, item));
            Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        Value::Object(fields) => Ok(dict(py, fields)?.into_any()),
        scalar => to_scalar(py, scalar),
    }
}

/// A JSON object as a dict.
pub(crate) fn dict<'py>(
    py: Python<'py>,
    fields: &Map<String, Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    fields.iter().try_for_each(|(key, value)| dict.set_item(key, to_python(py, value)?))?;
    Ok(dict)
}

/// The `id` of a line. A whole number has all its digits, as `json.loads` reads it.
pub(crate) fn id_to_python<'py>(py: Python<'py>, id: Option<&Id>) -> PyResult<Bound<'py, PyAny>> {
    let Some(id) = id else { return Ok(py.None().into_bound(py)) };
    match id.to_value() {
        value @ (Value::Null | Value::Bool(_)) => to_python(py, &value),
        Value::Number(number) if !number.is_f64() => to_python(py, &Value::Number(number)),
        Value::String(text) if id.as_json().starts_with('"') => to_python(py, &Value::String(text)),
        _ => py.import("json")?.call_method1("loads", (id.as_json(),)),
    }
}

/// The same with tuples and read-only mappings, so that the receiver cannot change anything.
pub(crate) fn to_frozen<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| to_frozen(py, item));
            Ok(PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            fields.iter().try_for_each(|(key, value)| dict.set_item(key, to_frozen(py, value)?))?;
            Ok(PyMappingProxy::new(py, dict.as_mapping()).into_any())
        }
        scalar => to_scalar(py, scalar),
    }
}

fn to_scalar<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(n), _, _) => n.into_pyobject(py)?.into_any(),
            (_, Some(n), _) => n.into_pyobject(py)?.into_any(),
            (_, _, n) => PyFloat::new(py, n.unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        _ => py.None().into_bound(py),
    })
}
