//! `cajole.lint`, `cajole.evalb` and `cajole.srl_eval`.

use std::path::PathBuf;
use std::sync::Arc;

use cajole_core::Cancel;
use cajole_infer::limits::MAX_LINE_BYTES;
use cajole_infer::lint::{Gold, Lint, Look, Names};
use cajole_rules::{Cache, Vocabulary};
use cajole_treebank::evalb::{self as trees, Params};
use cajole_treebank::roles::eval as roles;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::{CajoleError, rule_error, with_causes};
use crate::inputs::All;
use crate::interrupt::interruptible;
use crate::report::Report;
use crate::rules::Rules;
use crate::value::to_python;

/// How often right outputs violate rules: look before you insist on them.
///
/// `gold` are dicts with "input" and "output", "gold", or "srl" with "bio", or a file of them.
#[pyfunction]
#[pyo3(signature = (rules, gold, *, by="genre", verbs=false, characters=false, examples=3))]
pub(crate) fn lint(
    py: Python<'_>,
    rules: &Bound<'_, PyAny>,
    gold: &Bound<'_, PyAny>,
    by: &str,
    verbs: bool,
    characters: bool,
    examples: usize,
) -> PyResult<Report> {
    let rules = Rules::given(rules)?;
    let separator = if characters { "" } else { " " };
    let look = Look { by: by.to_owned(), verbs, separator: Some(separator.to_owned()) };
    let All { lines, mut bad } = All::of(gold, MAX_LINE_BYTES)?;
    let mut golds: Vec<Gold> = Vec::new();
    for line in &lines {
        match look.golds(line) {
            Ok(some) => golds.extend(some),
            Err(error) => bad.push((line.number, error)),
        }
    }
    let report = interruptible(py, &Cancel::default(), || {
        let mut names = Names::default();
        golds.iter().for_each(|gold| names.add(gold));
        // Nothing else is about just these symbols.
        let cache = Cache::new(0);
        let compile = |known: &Arc<Vocabulary>| rules.compile(known, &cache);
        let vocabulary = names.with_rules(separator, |known| compile(known).map(drop));
        let compiled = compile(&vocabulary).map_err(|error| rule_error(&error))?;
        let mut lint = Lint::new(&compiled, &vocabulary, examples);
        for gold in &golds {
            lint.add(gold).map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        Ok::<_, PyErr>(lint.report(&rules.title()))
    })??;
    let passed_over = bad.iter().map(|(n, error)| format!("gold:{n}: {error}")).collect();
    Ok(Report { report, passed_over })
}

/// Scores of outputs against the right ones. `str()` is the original program's table.
#[pyclass(frozen, module = "cajole")]
pub(crate) struct Scores {
    table: String,
    figures: Value,
    messages: Vec<String>,
    overall: &'static str,
}

#[pymethods]
impl Scores {
    #[getter]
    fn precision(&self) -> Option<f64> {
        self.figures[self.overall]["precision"].as_f64()
    }

    #[getter]
    fn recall(&self) -> Option<f64> {
        self.figures[self.overall]["recall"].as_f64()
    }

    #[getter]
    fn f1(&self) -> Option<f64> {
        self.figures[self.overall]["f1"].as_f64()
    }

    /// What the original program prints on standard error.
    #[getter]
    fn messages(&self) -> Vec<String> {
        self.messages.clone()
    }

    /// All figures, as the command line prints them with --json.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.figures)
    }

    fn __str__(&self) -> &str {
        &self.table
    }

    fn __repr__(&self) -> String {
        let figure = |figure: Option<f64>| figure.map_or("nan".to_owned(), |f| format!("{f:.2}"));
        let [p, r, f] = [self.precision(), self.recall(), self.f1()].map(figure);
        format!("<cajole.Scores precision {p}, recall {r}, f1 {f}>")
    }
}

/// Scores bracketed trees as evalb does; both are files with one tree per line.
#[pyfunction]
#[pyo3(signature = (gold, test, *, param=None))]
pub(crate) fn evalb(
    py: Python<'_>,
    gold: PathBuf,
    test: PathBuf,
    param: Option<PathBuf>,
) -> PyResult<Scores> {
    let failed = |error: &dyn std::error::Error| CajoleError::new_err(with_causes(error));
    let params = match param {
        None => Params::collins(),
        Some(path) => Params::read(&path).map_err(|error| failed(&error))?,
    };
    let evaluation = py.detach(|| trees::Evaluation::of_files(&gold, &test, &params));
    let evaluation = evaluation.map_err(|error| failed(&error))?;
    if evaluation.is_cut_off {
        let (line, most) = (evaluation.sentences.len(), params.most_errors);
        return Err(CajoleError::new_err(format!(
            "{} errors, and MAX_ERROR is {most}: stopped at {}:{line}",
            evaluation.all.errors,
            test.display()
        )));
    }
    Ok(Scores {
        table: evaluation.to_string(),
        figures: evaluation.to_json(),
        messages: evaluation.messages().collect(),
        overall: "all",
    })
}

/// Scores semantic roles as srl-eval.pl does; both are files of propositions in columns.
#[pyfunction]
pub(crate) fn srl_eval(py: Python<'_>, gold: PathBuf, test: PathBuf) -> PyResult<Scores> {
    let evaluation = py.detach(|| roles::Evaluation::of_files(&gold, &test));
    let evaluation = evaluation.map_err(|error| CajoleError::new_err(with_causes(&error)))?;
    Ok(Scores {
        table: evaluation.to_string(),
        figures: evaluation.to_json(),
        messages: evaluation.mismatches.iter().map(ToString::to_string).collect(),
        overall: "overall",
    })
}
