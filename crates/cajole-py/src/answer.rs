//! The result of an input: `Result`, `Answer`, `Trace` and `Tree`.

use std::sync::Arc;

use cajole_infer::Traced;
use cajole_infer::record::{self, Record};
use cajole_report::{Report, escape};
use cajole_treebank::{Pretty, penn};
use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Value, json};

use crate::error::{InputError, RuleError};
use crate::report::framed;
use crate::value::{dict, id_to_python, to_python};

/// The result of one input.
///
/// A sentence has one answer for each predicate, see `answers`. Every other input has one answer,
/// and the result has its attributes.
#[pyclass(frozen, name = "Result", module = "cajole")]
pub(crate) struct Answered {
    pub(crate) record: Arc<Record>,
    pub(crate) times: bool,
}

#[pymethods]
impl Answered {
    /// The number of the input, from 1.
    #[getter]
    fn line(&self) -> u64 {
        self.record.line
    }

    /// The "id" that the input has.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id_to_python(py, self.record.id.as_ref())
    }

    /// The answers; empty for an input that could not be read.
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let n = self.record.answers.as_ref().map_or(0, Vec::len);
        let answers = (0..n).map(|index| Py::new(py, self.answer(index)));
        PyList::new(py, answers.collect::<PyResult<Vec<_>>>()?)
    }

    /// Why the input could not be read or judged; None if all went well.
    #[getter]
    fn error(&self) -> Option<String> {
        match &self.record.answers {
            Err(error) => Some(error.to_string()),
            Ok(answers) => answers.iter().find_map(trouble),
        }
    }

    /// Raises InputError for an input that could not be read, and RuleError if a rule or the
    /// network failed.
    fn raise_for_error(&self) -> PyResult<()> {
        self.raised().map_or(Ok(()), Err)
    }

    /// The record as `cajole infer` writes it: one line of JSON.
    fn to_json(&self) -> String {
        self.record.to_line(self.times)
    }

    /// The record as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let record = to_python(py, &self.record.to_json(self.times))?;
        if self.record.id.is_some() {
            record.set_item("id", self.id(py)?)?;
        }
        Ok(record)
    }

    /// "bad-line" for an input that could not be read; else as `Answer.status`.
    #[getter]
    fn status(&self) -> PyResult<String> {
        match &self.record.answers {
            Err(_) => Ok("bad-line".to_owned()),
            Ok(_) => Ok(self.only("status")?.status()),
        }
    }

    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.only("output")?.output(py)
    }

    #[getter]
    fn g_before(&self) -> PyResult<f32> {
        Ok(self.only("g_before")?.g_before())
    }

    #[getter]
    fn g_after(&self) -> PyResult<f32> {
        Ok(self.only("g_after")?.g_after())
    }

    #[getter]
    fn steps(&self) -> PyResult<usize> {
        Ok(self.only("steps")?.steps())
    }

    #[getter]
    fn passes(&self) -> PyResult<usize> {
        Ok(self.only("passes")?.passes())
    }

    #[getter]
    fn engine(&self) -> PyResult<&'static str> {
        Ok(self.only("engine")?.answered().answer.engine())
    }

    #[getter]
    fn log_prob(&self) -> PyResult<Option<f32>> {
        Ok(self.only("log_prob")?.log_prob())
    }

    #[getter]
    fn faults<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.only("faults")?.faults(py)
    }

    #[getter]
    fn trace(&self) -> PyResult<Option<Trace>> {
        Ok(self.only("trace")?.trace())
    }

    #[getter]
    fn tree(&self) -> PyResult<Option<Tree>> {
        Ok(self.only("tree")?.tree())
    }

    fn __repr__(&self) -> String {
        format!("<cajole.Result {}>", self.to_json())
    }

    fn _repr_html_(&self) -> String {
        let answers = self.record.answers.as_ref().map_or(0, Vec::len);
        match answers {
            0 => pre(&self.to_json()),
            n => (0..n).map(|index| self.answer(index)._repr_html_()).collect(),
        }
    }
}

impl Answered {
    fn answer(&self, index: usize) -> Answer {
        Answer { record: self.record.clone(), index, times: self.times }
    }

    /// The only answer, for reading `attribute`.
    fn only(&self, attribute: &str) -> PyResult<Answer> {
        let no = |why: String| Err(PyAttributeError::new_err(format!("no {attribute:?}: {why}")));
        match &self.record.answers {
            Err(error) => no(format!("the input could not be worked on: {error}")),
            Ok(answers) if self.record.is_one && answers.len() == 1 => Ok(self.answer(0)),
            Ok(answers) if self.record.is_one => no(format!("there are {} answers", answers.len())),
            Ok(_) => no("a sentence has one answer for each predicate, see .answers".to_owned()),
        }
    }

    /// What went wrong with the input, its rules or the network, as an exception.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        let message = format!("inputs:{}: {}", self.record.line, self.error()?);
        Some(match self.record.answers {
            Err(_) => InputError::new_err(message),
            Ok(_) => RuleError::new_err(message),
        })
    }
}

/// What went wrong with an answer that could not be measured, or failed.
fn trouble(answered: &record::Answered) -> Option<String> {
    use cajole_infer::answer::Status;
    let answer = &answered.answer;
    match answer.status {
        Status::Failed => answer.failure.as_ref().map(ToString::to_string),
        Status::Unmeasured => {
            let messages = answer.faults.iter().filter(|fault| !fault.cost.is_finite());
            let messages: Vec<&str> = messages.map(|fault| fault.message.as_str()).collect();
            Some(messages.join("; "))
        }
        _ => None,
    }
}

/// The answer to one input: an output, and how it went.
#[pyclass(frozen, module = "cajole")]
pub(crate) struct Answer {
    record: Arc<Record>,
    index: usize,
    times: bool,
}

impl Answer {
    fn answered(&self) -> &record::Answered {
        // A list of answers was indexed within its bounds.
        match &self.record.answers {
            Ok(answers) => &answers[self.index],
            Err(_) => unreachable!("a bad line has no answers"),
        }
    }
}

#[pymethods]
impl Answer {
    /// The output: a text, or a list of symbols if the input was one.
    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.answered().fields.get("output").unwrap_or(&Value::Null))
    }

    /// How it went: "satisfied", "improved", "unchanged", "timed-out", "unmeasured" or "failed".
    #[getter]
    fn status(&self) -> String {
        let status = json!(self.answered().answer.status);
        status.as_str().unwrap_or_default().to_owned()
    }

    /// g of the network's own output: 0 exactly if it satisfies the rules.
    #[getter]
    fn g_before(&self) -> f32 {
        self.answered().answer.g_before
    }

    /// g of this output.
    #[getter]
    fn g_after(&self) -> f32 {
        self.answered().answer.g_after
    }

    /// Nudges that were taken.
    #[getter]
    fn steps(&self) -> usize {
        self.answered().answer.steps.unwrap_or(0)
    }

    /// Sequences that the network was run over.
    #[getter]
    fn passes(&self) -> usize {
        self.answered().answer.passes
    }

    /// The engine that produced it; "network" for an output that was not touched.
    #[getter]
    fn engine(&self) -> &'static str {
        self.answered().answer.engine()
    }

    /// log p of the output under the network's own weights, if the engine computed it.
    #[getter]
    fn log_prob(&self) -> Option<f32> {
        self.answered().answer.log_prob
    }

    /// Why the output does not satisfy: dicts with "start", "end", "cost" and "message".
    #[getter]
    fn faults<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let faults = self.answered().answer.faults.iter().map(|fault| {
            let dict = PyDict::new(py);
            dict.set_item("start", fault.at.start)?;
            dict.set_item("end", fault.at.end)?;
            dict.set_item("cost", fault.cost)?;
            dict.set_item("message", &fault.message)?;
            Ok(dict)
        });
        PyList::new(py, faults.collect::<PyResult<Vec<_>>>()?)
    }

    /// Every decode, with `trace=True`.
    #[getter]
    fn trace(&self) -> Option<Trace> {
        self.answered().trace.as_ref().map(|_| Trace {
            record: self.record.clone(),
            index: self.index,
            times: self.times,
        })
    }

    /// The tree, for parsers.
    #[getter]
    fn tree(&self) -> Option<Tree> {
        let text = self.answered().fields.get("tree")?.as_str()?.to_owned();
        Some(Tree { text })
    }

    /// A field of the record, such as "predicate".
    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let fields = self.answered().to_json(self.times);
        let value = fields.get(key).ok_or_else(|| PyKeyError::new_err(key.to_owned()))?;
        to_python(py, value)
    }

    /// The answer as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, &self.answered().to_json(self.times))
    }

    fn __repr__(&self) -> String {
        format!("<cajole.Answer {}>", Value::Object(self.answered().to_json(self.times)))
    }

    fn _repr_html_(&self) -> String {
        match (self.trace(), self.tree()) {
            (Some(trace), _) => trace._repr_html_(),
            (None, Some(tree)) => tree._repr_html_(),
            (None, None) => pre(&Value::Object(self.answered().to_json(self.times)).to_string()),
        }
    }
}

/// Every decode of one input.
#[pyclass(frozen, module = "cajole")]
pub(crate) struct Trace {
    record: Arc<Record>,
    index: usize,
    times: bool,
}

impl Trace {
    fn traced(&self) -> &Traced {
        let answers = self.record.answers.as_ref().ok();
        let trace = answers.and_then(|answers| answers[self.index].trace.as_ref());
        trace.expect("a trace is made of an answer that has one")
    }
}

#[pymethods]
impl Trace {
    /// How many weights were free to move.
    #[getter]
    fn moving(&self) -> usize {
        self.traced().moving
    }

    /// The decodes as dicts: "attempt", "iteration", "g", "log_prob", "distance", "output", …
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.traced().to_json(self.times)["steps"])
    }

    fn __len__(&self) -> usize {
        self.traced().steps.len()
    }

    fn __str__(&self) -> String {
        self.traced().study.to_text(100, false)
    }

    fn _repr_html_(&self) -> String {
        let study = self.traced().study.clone();
        framed(&Report { cases: vec![study], ..Report::new("Step by step") })
    }
}

/// A constituency tree, in Penn's brackets.
#[pyclass(frozen, module = "cajole")]
pub(crate) struct Tree {
    text: String,
}

#[pymethods]
impl Tree {
    /// The tree with one constituent per line.
    fn pretty(&self) -> String {
        match penn::parse_tree(&self.text) {
            Ok(tree) => Pretty { tags: true, ..Pretty::default() }.draw(&tree),
            Err(_) => self.text.clone(),
        }
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<cajole.Tree {}>", self.text)
    }

    fn _repr_html_(&self) -> String {
        pre(&self.pretty())
    }
}

fn pre(text: &str) -> String {
    format!("<pre>{}</pre>", escape(text))
}
