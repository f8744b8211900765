//! Requests to any network: answer lines, stream them, compare engines.

use std::sync::Arc;

use cajole_core::UnknownParameter;
use cajole_report::Report;
use cajole_rules::Rules;
use cajole_tasks::Watch;

use crate::compare::{self, Comparison};
use crate::driver::Driver;
use crate::engine::Engine;
use crate::infer::{InferError, Inference, Tally};
use crate::line::{Line, LineError};
use crate::lines::Answering;
use crate::record::Record;
use crate::settings::Settings;
use crate::sink::Sink;
use crate::solver::Solver;
use crate::source::Lines;
use crate::task::Task;

/// Where lines come from and records go.
pub struct Stream<'a> {
    /// The lines.
    pub source: &'a mut dyn Lines,
    /// The records.
    pub sink: &'a mut Sink,
    /// The progress of the run.
    pub tally: &'a Tally,
    /// Called for bad lines, and after every few lines that are done.
    pub told: &'a (dyn Fn(Option<&InferError>) + Sync),
}

/// Where lines come from, and who takes records.
pub struct Each<'a> {
    /// The lines.
    pub source: &'a mut dyn Lines,
    /// Takes every few records, in order.
    pub put: &'a mut (dyn FnMut(Vec<Record>) -> Result<(), InferError> + Send),
    /// The progress of the run.
    pub tally: &'a Tally,
    /// Called for bad lines, and after every few lines that are done.
    pub told: &'a (dyn Fn(Option<&InferError>) + Sync),
}

/// One thread's memory for one network. A caller that answers a few lines at a time, with new
/// settings each time, need not allocate it anew.
pub struct Hand<'t> {
    task: &'t dyn Task,
    /// `None` while it is in use.
    memory: Option<Box<dyn Solver + 't>>,
}

impl Hand<'_> {
    /// Answers some lines: see [`Answering::answer`].
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    pub fn answer(
        &mut self,
        lines: Vec<Result<Line, (u64, LineError)>>,
        rules: Option<&Arc<Rules>>,
        settings: &Settings,
    ) -> Result<Vec<Record>, UnknownParameter> {
        let memory = self.memory.take().unwrap_or_else(|| self.task.solver());
        let mut answering = Answering::with_memory(self.task, rules.cloned(), settings, memory)?;
        let records = answering.answer(lines);
        self.memory = Some(answering.into_memory());
        Ok(records)
    }
}

impl dyn Task + '_ {
    /// Whether the settings fit the network: finds all errors before any work.
    ///
    /// # Errors
    /// If they name parameters that the network does not have.
    pub fn check(&self, settings: &Settings) -> Result<(), UnknownParameter> {
        Driver::new(self, settings).map(drop)
    }

    /// The engines that make a difference for it.
    pub fn engines(&self) -> Vec<Engine> {
        let mut engines: Vec<Engine> = self.rivals().iter().map(Engine::of_search).collect();
        if engines.len() > 1 {
            engines.push(Engine::auto());
        }
        engines
    }

    /// Answers some lines: see [`Answering::answer`].
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    pub fn answer(
        &self,
        lines: Vec<Result<Line, (u64, LineError)>>,
        rules: Option<&Arc<Rules>>,
        settings: &Settings,
    ) -> Result<Vec<Record>, UnknownParameter> {
        self.hand().answer(lines, rules, settings)
    }

    /// Reusable memory for answering lines.
    pub fn hand(&self) -> Hand<'_> {
        Hand { task: self, memory: None }
    }

    /// Answers every line of a source with a record in a sink, in order. Works on all cores, in
    /// bounded memory.
    ///
    /// # Errors
    /// If the source cannot be read or the sink cannot be written; or at a bad line, if strict.
    pub fn infer(
        &self,
        rules: Option<&Arc<Rules>>,
        settings: &Settings,
        stream: Stream<'_>,
    ) -> Result<(), InferError> {
        let Stream { source, sink, tally, told } = stream;
        let put = &mut |records: Vec<Record>| {
            let mut bytes = Vec::new();
            for record in records {
                bytes.extend(record.to_line(settings.times).into_bytes());
                bytes.push(b'\n');
            }
            sink.write(&bytes).map_err(InferError::Sink)
        };
        self.infer_each(rules, settings, Each { source, put, tally, told })
    }

    /// Answers every line of a source, and hands records over in order, every few at a time.
    ///
    /// # Errors
    /// If the source cannot be read, whoever takes records fails, or at a bad line, if strict.
    pub fn infer_each(
        &self,
        rules: Option<&Arc<Rules>>,
        settings: &Settings,
        stream: Each<'_>,
    ) -> Result<(), InferError> {
        Inference { task: self, rules, settings }.each(stream)
    }

    /// Runs engines on every input whose own output violates its rules. Bad lines are left out
    /// and reported, and so are inputs whose rules cannot be measured. If the first twenty are all
    /// bad, it stops there.
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    pub fn compare(
        &self,
        rules: Option<&Arc<Rules>>,
        settings: &Settings,
        options: &compare::Options,
        lines: &[Line],
        watch: &dyn Watch,
    ) -> Result<(Report, Vec<(u64, LineError)>), UnknownParameter> {
        Comparison { task: self, rules, settings, options }.run(lines, watch)
    }
}
