//! A network as the Python class `cajole.Model` holds it.

use std::sync::Arc;

use cajole_infer::compare;
use cajole_infer::engine::Engine;
use cajole_infer::limits::MOST_SHOWN;
use cajole_infer::options::within;
use cajole_infer::{Opened, Registry};
use cajole_rules::Cache;
use cajole_tasks::Silent;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{LoadError, rule_error, settings_error, with_causes};
use crate::inputs::{All, Pulled, path_of};
use crate::interrupt::interruptible;
use crate::options::{Options, engine};
use crate::report::Report;
use crate::results::{Inputs, Results, Run};
use crate::rules::Rules;

/// A network with its task: what `cajole.Model` holds.
#[pyclass(frozen, module = "cajole._native")]
pub(crate) struct Network {
    pub(crate) network: Arc<Opened>,
}

/// The network of this name, or in this checkpoint folder.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, name: &str) -> PyResult<Network> {
    let opened = py.detach(|| Registry::standard().open(name));
    let network = opened.map_err(|error| {
        LoadError::new_err(format!("cannot load {name}: {}", with_causes(&error)))
    })?;
    Ok(Network { network: Arc::new(network) })
}

#[pymethods]
impl Network {
    /// What it is for: "transduction", "parsing", "srl" or "pairs".
    #[getter]
    fn task(&self) -> &'static str {
        self.network.name()
    }

    /// The engines that make a difference for it.
    #[getter]
    fn engines(&self) -> Vec<&'static str> {
        self.network.engines().iter().map(Engine::name).collect()
    }

    /// The names of its output symbols.
    #[getter]
    fn symbols(&self) -> Vec<String> {
        self.network.vocabulary().names().to_vec()
    }

    /// Remarks for users once it is loaded.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.network.remarks().to_vec()
    }

    /// The default rules for its outputs, in TOML.
    #[getter]
    fn usual_rules(&self) -> Option<&'static str> {
        self.network.usual_rules()
    }

    /// Runs inputs through the network so that outputs obey the rules.
    fn infer(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        rules: Option<&Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Results> {
        let mut options = Options::new(options)?;
        let inputs = match path_of(inputs)? {
            Some(path) => Inputs::File { path, max_bytes: options.run.max_line_bytes() },
            None => Inputs::Pulled(Pulled::new(inputs, options.numbers.take())?),
        };
        let run = Run {
            network: self.network.clone(),
            rules: self.rules(rules)?,
            settings: options.settings(&**self.network)?,
        };
        run.begin(py, inputs)
    }

    /// Runs every engine on the same inputs; `shown` are the engines and how many failures are shown.
    fn compare(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        rules: Option<&Bound<'_, PyAny>>,
        shown: (Option<Vec<String>>, i64),
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Report> {
        let (engines, shown) = shown;
        let options = Options::new(options)?;
        let settings = options.settings(&**self.network)?.by(Engine::gbi());
        let All { lines, mut bad } = All::of(inputs, options.run.max_line_bytes())?;
        let rules = self.rules(rules)?;
        if rules.is_none() && lines.iter().all(|line| line.constraint().is_none()) {
            return Err(PyValueError::new_err(
                "say what outputs have to satisfy: rules=…, or \"constraint\" in inputs",
            ));
        }
        let rules_name = rules.as_ref().map_or_else(|| "their own rules".to_owned(), Rules::title);
        let engines = match engines {
            Some(names) => names.iter().map(|name| engine(name)).collect::<PyResult<_>>()?,
            None => self.network.engines(),
        };
        let shown = within("shown", shown.into(), 0, MOST_SHOWN)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let of = compare::Options::new(rules_name, engines).shown(shown);
        let compared = interruptible(py, &settings.cancel, || {
            let vocabulary = self.network.vocabulary();
            let rules =
                rules.as_ref().map(|rules| rules.compile(vocabulary, Cache::shared())).transpose();
            let rules = rules.map_err(|error| rule_error(&error))?;
            let compared = self.network.compare(rules.as_ref(), &settings, &of, &lines, &Silent);
            compared.map_err(|error| settings_error(&error))
        })?;
        let (report, worse) = compared?;
        bad.extend(worse);
        let passed_over = bad.iter().map(|(n, error)| format!("inputs:{n}: {error}")).collect();
        Ok(Report { report, passed_over })
    }
}

impl Network {
    fn rules(&self, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Rules>> {
        Rules::of(given, self.network.usual_rules().map(|text| (self.network.name(), text)))
    }
}
