//! `cajole.Rules`: what outputs must satisfy, in TOML or as Python functions.

use std::path::PathBuf;
use std::sync::Arc;

use cajole_infer::lint::Names;
use cajole_rules::{Cache, RuleFileError, RuleText, Rules as Compiled, Vocabulary};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::callable::Callable;
use crate::error::rule_error;

/// What outputs must satisfy: all of its parts.
///
/// Rules are compiled for the symbols of a network when they are used.
#[pyclass(frozen, module = "cajole")]
pub(crate) struct Rules {
    parts: Vec<Part>,
}

enum Part {
    /// TOML, as in a constraint file.
    Text(RuleText),
    /// A function.
    Function { name: String, rule: Py<PyAny> },
}

/// Finds errors that do not depend on the network.
fn checked(text: RuleText) -> PyResult<RuleText> {
    let own = Names::default().with_rules(" ", |known| text.compile(known).map(drop));
    match text.compile(&own) {
        Err(error) if !error.depends_on_vocabulary() => Err(rule_error(&error)),
        _ => Ok(text),
    }
}

#[pymethods]
impl Rules {
    /// Rules in TOML. Files and programs that they name are relative to `folder`; without a folder,
    /// they may name none.
    #[staticmethod]
    #[pyo3(signature = (text, *, folder=None, name="the rules"))]
    fn from_toml(text: &str, folder: Option<PathBuf>, name: &str) -> PyResult<Rules> {
        let text = checked(RuleText { folder, ..RuleText::new(name, text) })?;
        Ok(Rules { parts: vec![Part::Text(text)] })
    }

    /// The rules of a constraint file.
    #[staticmethod]
    fn from_file(path: PathBuf) -> PyResult<Rules> {
        let text = RuleText::read(&path).map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Rules { parts: vec![Part::Text(checked(text)?)] })
    }

    /// A function of the input and the output. It returns how far the output violates the rule (0
    /// exactly if it is fine), or whether it is fine, or a dict with "loss", "parts" and "message".
    #[staticmethod]
    #[pyo3(signature = (rule, *, name=None))]
    fn from_callable(rule: Bound<'_, PyAny>, name: Option<String>) -> PyResult<Rules> {
        if !rule.is_callable() {
            let kind = rule.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected a function as rule, not {kind}")));
        }
        let own = || rule.getattr("__name__").ok()?.extract::<String>().ok();
        let name = name.or_else(own).unwrap_or_else(|| "rule".to_owned());
        Ok(Rules { parts: vec![Part::Function { name, rule: rule.unbind() }] })
    }

    /// Both: outputs must satisfy all parts.
    fn __and__(&self, py: Python<'_>, other: &Rules) -> Rules {
        let parts = self.parts.iter().chain(&other.parts);
        Rules { parts: parts.map(|part| part.copy(py)).collect() }
    }

    fn __repr__(&self) -> String {
        format!("<cajole.Rules: {}>", self.title())
    }

    /// Pickles texts as they are, and functions as pickle does.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let parts = slf.get().parts.iter().map(|part| match part {
            Part::Text(RuleText { title, name, text, folder }) => {
                (title, name, text, folder).into_pyobject(py)
            }
            Part::Function { name, rule } => (name, rule).into_pyobject(py),
        });
        let parts = parts.collect::<PyResult<Vec<_>>>()?;
        (slf.get_type().getattr("_of_parts")?, (parts,)).into_pyobject(py)
    }

    #[staticmethod]
    fn _of_parts(parts: Vec<Pickled>) -> Rules {
        let part = |part: Pickled| match part {
            Pickled::Text(title, name, text, folder) => {
                Part::Text(RuleText { title, name, text, folder })
            }
            Pickled::Function(name, rule) => Part::Function { name, rule },
        };
        Rules { parts: parts.into_iter().map(part).collect() }
    }
}

/// A part of rules as it is pickled.
#[derive(FromPyObject)]
enum Pickled {
    Text(String, String, String, Option<PathBuf>),
    Function(String, Py<PyAny>),
}

impl Part {
    fn copy(&self, py: Python<'_>) -> Part {
        match self {
            Part::Text(text) => Part::Text(text.clone()),
            Part::Function { name, rule } => {
                Part::Function { name: name.clone(), rule: rule.clone_ref(py) }
            }
        }
    }

    fn compile(
        &self,
        vocabulary: &Arc<Vocabulary>,
        cache: &Cache,
    ) -> Result<Arc<Compiled>, RuleFileError> {
        let text = match self {
            Part::Text(text) => text,
            Part::Function { name, rule } => {
                let rule = Python::attach(|py| rule.clone_ref(py));
                let rule = Callable { rule, vocabulary: Arc::clone(vocabulary) };
                return Ok(Arc::new(Compiled::of(name, rule)));
            }
        };
        let rules = match text.folder {
            None => cache.compile(text, vocabulary)?,
            // The files that they name may have changed since.
            Some(_) => Arc::new(text.compile(vocabulary)?),
        };
        rules.try_programs()?;
        Ok(rules)
    }

    fn title(&self) -> &str {
        match self {
            Part::Text(text) => &text.title,
            Part::Function { name, .. } => name,
        }
    }
}

impl Rules {
    /// The rules of an argument `rules`: rules, a file, a function, or a list of these. `None`
    /// means the task's own.
    pub(crate) fn of(
        given: Option<&Bound<'_, PyAny>>,
        usual: Option<(&str, &str)>,
    ) -> PyResult<Option<Rules>> {
        if let Some(given) = given {
            return Rules::given(given).map(Some);
        }
        let usual = usual.map(|(task, text)| {
            let name = format!("the usual rules of {task}");
            Rules { parts: vec![Part::Text(RuleText::new(name, text))] }
        });
        Ok(usual)
    }

    pub(crate) fn given(given: &Bound<'_, PyAny>) -> PyResult<Rules> {
        let py = given.py();
        if let Ok(rules) = given.cast::<Rules>() {
            let parts = rules.get().parts.iter().map(|part| part.copy(py)).collect();
            return Ok(Rules { parts });
        }
        if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
            let all =
                given.try_iter()?.map(|one| Rules::given(&one?)).collect::<PyResult<Vec<_>>>()?;
            let parts: Vec<Part> = all.into_iter().flat_map(|rules| rules.parts).collect();
            return match parts.is_empty() {
                true => Err(PyValueError::new_err("the list of rules is empty")),
                false => Ok(Rules { parts }),
            };
        }
        if given.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "a text as rules is ambiguous: say cajole.Rules.from_toml(text) or \
                 cajole.Rules.from_file(path)",
            ));
        }
        match given.hasattr("__fspath__")? {
            true => Rules::from_file(given.extract()?),
            false => Rules::from_callable(given.clone(), None),
        }
    }

    /// The rules about outputs in this vocabulary. A cache keeps what is compiled from text alone.
    pub(crate) fn compile(
        &self,
        vocabulary: &Arc<Vocabulary>,
        cache: &Cache,
    ) -> Result<Arc<Compiled>, RuleFileError> {
        let mut all: Option<Arc<Compiled>> = None;
        for part in &self.parts {
            let rules = part.compile(vocabulary, cache)?;
            all = Some(match all {
                Some(all) => Arc::new(all.and(&rules)),
                None => rules,
            });
        }
        all.ok_or_else(|| RuleFileError::Json {
            name: "the rules".to_owned(),
            message: "there are none".to_owned(),
        })
    }

    /// The name of the rules in reports.
    pub(crate) fn title(&self) -> String {
        self.parts.iter().map(Part::title).collect::<Vec<_>>().join(", ")
    }
}
