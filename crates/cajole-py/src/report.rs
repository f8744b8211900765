//! `cajole.Report`: tables and plots of a comparison, or of what rules say about right outputs.

use cajole_report::{self as rendered, escape};
use pyo3::prelude::*;

use crate::value::to_python;

/// Tables, plots and cases; a notebook shows them as a page.
#[pyclass(frozen, module = "cajole")]
pub(crate) struct Report {
    pub(crate) report: rendered::Report,
    /// Messages about inputs that were left out, as the command line prints them.
    pub(crate) passed_over: Vec<String>,
}

#[pymethods]
impl Report {
    #[getter]
    fn title(&self) -> &str {
        &self.report.title
    }

    /// The figures: one flat dict per method and constraint.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = serde_json::to_value(&self.report.rows).unwrap_or_default();
        to_python(py, &rows)
    }

    /// Inputs that could not be read, and why.
    #[getter]
    fn passed_over(&self) -> Vec<String> {
        self.passed_over.clone()
    }

    /// The whole report, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &serde_json::to_value(&self.report).unwrap_or_default())
    }

    /// The whole report, as the command line writes it with --json.
    fn to_json(&self) -> String {
        self.report.to_json()
    }

    fn to_markdown(&self) -> String {
        self.report.to_markdown()
    }

    /// A self-contained HTML page.
    fn to_html(&self) -> String {
        self.report.to_html()
    }

    fn __str__(&self) -> String {
        self.report.to_text(100, false)
    }

    fn __repr__(&self) -> String {
        format!("<cajole.Report {:?}>", self.report.title)
    }

    fn _repr_html_(&self) -> String {
        framed(&self.report)
    }
}

/// A page in a frame of its own, so that its style and the notebook's do not meet.
pub(crate) fn framed(report: &rendered::Report) -> String {
    format!(
        "<iframe srcdoc=\"{}\" style=\"width: 100%; height: 32em; border: 0\"></iframe>",
        escape(&report.to_html())
    )
}
