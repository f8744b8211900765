//! Inputs from Python: an iterable, pulled by the thread that asks for results, or the lines of a
//! file.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cajole_infer::line::{Line, LineError};
use cajole_infer::source::{BadLine, Lines, Numbered, Source};
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyIterator, PyMapping, PyString};
use serde_json::{Value, json};

use crate::value::to_json;

/// The most inputs that are pulled at a time.
const LOT: usize = 120;
/// How long to pull a slow iterable before passing on what there is.
pub(crate) const PATIENCE: Duration = Duration::from_millis(2);

/// An input as a line: text as it is; a dict as its fields; a list as the symbols of an input; bytes
/// as a file has them.
pub(crate) fn line_of(input: &Bound<'_, PyAny>) -> Result<String, LineError> {
    if let Ok(bytes) = input.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes()).map_err(|_| BadLine::NotText)?;
        return Ok(text.trim_start_matches('\u{feff}').trim_end().to_owned());
    }
    let other = |error: PyErr| LineError::other(error.to_string());
    if let Ok(mapping) = input.cast::<PyMapping>() {
        return with_id(mapping).map_err(other);
    }
    match to_json(input).map_err(other)? {
        Value::String(text) if text.trim().is_empty() => {
            Err(LineError::other("the input is blank"))
        }
        Value::String(text) => Ok(text),
        Value::Array(symbols) => Ok(json!({"input": symbols}).to_string()),
        value => Err(LineError::other(format!("expected a text, a list or a dict, not {value}"))),
    }
}

/// A dict as a line. Its "id" may be a whole number of any size.
fn with_id(mapping: &Bound<'_, PyMapping>) -> PyResult<String> {
    // Asking for what is not there would change a defaultdict.
    let id = mapping.contains("id")?.then(|| mapping.get_item("id")).transpose()?;
    let is_large = |id: &Bound<'_, PyAny>| id.is_instance_of::<PyInt>() && to_json(id).is_err();
    let Some(id) = id.filter(is_large) else { return Ok(to_json(mapping)?.to_string()) };
    let others = PyDict::new(mapping.py());
    others.update(mapping)?;
    others.del_item("id")?;
    let others = to_json(&others)?.to_string();
    let digits = id.call_method0("__str__")?;
    Ok(match others.as_str() {
        "{}" => format!("{{\"id\":{digits}}}"),
        _ => format!("{{\"id\":{digits},{}", others.trim_start_matches('{')),
    })
}

/// All lines of an input, with the numbers of those that are bad.
#[derive(Default)]
pub(crate) struct All {
    pub(crate) lines: Vec<Line>,
    pub(crate) bad: Vec<(u64, LineError)>,
}

impl All {
    /// The lines of an iterable, or of a file whose lines have at most `max_bytes` bytes.
    pub(crate) fn of(inputs: &Bound<'_, PyAny>, max_bytes: usize) -> PyResult<All> {
        let mut all = All::default();
        let Some(path) = path_of(inputs)? else {
            for (number, input) in (1..).zip(inputs.try_iter()?) {
                all.add(number, line_of(&input?));
            }
            return Ok(all);
        };
        let mut source = file(&path, max_bytes)?;
        while let Some((number, text)) = source.line().map_err(|error| unreadable(&path, &error))? {
            all.add(number, text.map_err(LineError::from));
        }
        Ok(all)
    }

    fn add(&mut self, number: u64, text: Result<String, LineError>) {
        match text.and_then(|text| Line::parse(number, text)) {
            Ok(line) => self.lines.extend(line),
            Err(error) => self.bad.push((number, error)),
        }
    }
}

/// An argument as a path, if it is one. A text is an input, not a path.
pub(crate) fn path_of(inputs: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    if inputs.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "expected an iterable of inputs or a pathlib.Path, not a text: one input is [text]",
        ));
    }
    match inputs.hasattr("__fspath__")? {
        true => inputs.extract().map(Some),
        false => Ok(None),
    }
}

/// The lines of a file, of at most `max_bytes` bytes each.
pub(crate) fn file(path: &Path, max_bytes: usize) -> PyResult<Source> {
    let source = Source::open(path).map_err(|error| unreadable(path, &error))?;
    Ok(source.with_max_bytes(max_bytes))
}

fn unreadable(path: &Path, error: &io::Error) -> PyErr {
    PyOSError::new_err(format!("cannot read {}: {error}", path.display()))
}

/// Lines on their way from Python to the threads that answer them.
#[derive(Default)]
pub(crate) struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Numbered<LineError>>,
    is_over: bool,
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds lines.
    pub(crate) fn push(&self, lines: Vec<Numbered<LineError>>) {
        self.lock().lines.extend(lines);
        self.changed.notify_all();
    }

    /// No more lines will come.
    pub(crate) fn close(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }
}

/// The end of the feed that threads read.
pub(crate) struct Fed(pub(crate) std::sync::Arc<Feed>);

impl Lines for Fed {
    fn name(&self) -> &str {
        "inputs"
    }

    fn next(&mut self) -> io::Result<Option<Numbered<LineError>>> {
        let mut state = self.0.lock();
        while state.lines.is_empty() && !state.is_over {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(state.lines.pop_front())
    }

    fn is_ready(&self) -> bool {
        !self.0.lock().lines.is_empty()
    }
}

/// An iterable that is pulled while results are asked for, in the thread that asks.
pub(crate) struct Pulled {
    iterator: Py<PyIterator>,
    /// The numbers of inputs; by default, they count from 1.
    numbers: Option<Vec<u64>>,
    /// Inputs so far.
    pub(crate) n: u64,
}

impl Pulled {
    pub(crate) fn new(inputs: &Bound<'_, PyAny>, numbers: Option<Vec<u64>>) -> PyResult<Self> {
        Ok(Pulled { iterator: inputs.try_iter()?.unbind(), numbers, n: 0 })
    }

    /// The number of the latest input.
    fn number(&self) -> u64 {
        let given = self.numbers.as_ref().and_then(|numbers| numbers.get(self.n as usize - 1));
        given.copied().unwrap_or(self.n)
    }

    /// The next few inputs; empty at the end.
    pub(crate) fn pull(&mut self, py: Python<'_>) -> PyResult<Vec<Numbered<LineError>>> {
        let (mut lot, started) = (Vec::new(), Instant::now());
        let mut inputs = self.iterator.bind(py).clone();
        while lot.len() < LOT && (lot.is_empty() || started.elapsed() < PATIENCE) {
            let Some(input) = inputs.next() else { break };
            self.n += 1;
            lot.push((self.number(), line_of(&input?)));
        }
        Ok(lot)
    }
}
