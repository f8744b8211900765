//! A [`Task`] as commands see it, whatever its types.

use std::sync::Arc;

use cajole_core::{Symbol, UnknownParameter, Workspace};
use cajole_report::Report;
use cajole_rules::{Rules, Vocabulary};
use cajole_tasks::{Presets, Watch};

use crate::answer::{Answering, Record};
use crate::compare::{self, Comparison};
use crate::engine::{Engine, Limits};
use crate::infer::{InferError, Inference, Tally};
use crate::line::{Line, LineError};
use crate::settings::Settings;
use crate::sink::Sink;
use crate::source::Lines;
use crate::task::{Display, Task};

/// A network with its task: object-safe, so that one command serves all. Every [`Task`] is one.
pub trait Runnable: Send + Sync {
    /// The task's name in checkpoints.
    fn task(&self) -> &'static str;

    /// How its outputs are best shown.
    fn display(&self) -> Display;

    /// The names of its output symbols.
    fn vocabulary(&self) -> &Arc<Vocabulary>;

    /// The rules for its outputs by default, as a constraint file.
    fn usual_rules(&self) -> Option<&'static str>;

    /// Remarks for users once it is loaded: one sentence each.
    fn remarks(&self) -> &[String];

    /// The settings of gradient-based inference that are known to work for it.
    fn presets(&self) -> &Presets;

    /// How far engines go with it by default.
    fn limits(&self) -> Limits;

    /// The engines that make a difference for it.
    fn engines(&self) -> Vec<Engine>;

    /// A hash of its weights.
    fn fingerprint(&self) -> u64;

    /// Answers some lines: see [`Answering::answer`].
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    fn answer(
        &self,
        lines: Vec<Result<Line, (u64, LineError)>>,
        ask: &Ask<'_>,
    ) -> Result<Vec<Record>, UnknownParameter>;

    /// Reusable memory for answering lines.
    fn hand(&self) -> Box<dyn Hand + '_>;

    /// Answers every line of a source with a record in a sink, in order. Works on all cores, in
    /// bounded memory.
    ///
    /// # Errors
    /// If the source cannot be read or the sink cannot be written; or at a bad line, if strict.
    fn infer(&self, ask: &Ask<'_>, stream: Stream<'_>) -> Result<(), InferError>;

    /// The same, but hands records over, every few at a time.
    ///
    /// # Errors
    /// If the source cannot be read, whoever takes records fails, or at a bad line, if strict.
    fn infer_each(&self, ask: &Ask<'_>, stream: Each<'_>) -> Result<(), InferError>;

    /// Runs all engines on every input whose own output violates its rules. Bad lines are left out
    /// and reported, and so are inputs whose rules cannot be measured. If the first twenty are all bad, it stops there.
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    fn compare(
        &self,
        ask: &Ask<'_>,
        of: &compare::Options,
        lines: &[Line],
        watch: &dyn Watch,
    ) -> Result<(Report, Vec<(u64, LineError)>), UnknownParameter>;

    /// The name of the task's own measure, which [`Runnable::compare`] reports.
    fn measure(&self) -> &'static str;

    /// An output as people read it.
    fn text(&self, y: &[Symbol]) -> String {
        self.vocabulary().text(y)
    }
}

/// One thread's memory for one network. A caller that answers a few lines at a time, with new
/// settings each time, need not allocate it anew.
pub trait Hand {
    /// Answers some lines: see [`Answering::answer`].
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    fn answer(
        &mut self,
        lines: Vec<Result<Line, (u64, LineError)>>,
        ask: &Ask<'_>,
    ) -> Result<Vec<Record>, UnknownParameter>;
}

struct TaskHand<'t, T: Task> {
    task: &'t T,
    /// `None` while it is in use.
    workspace: Option<Workspace<T::Model>>,
}

impl<T: Task> Hand for TaskHand<'_, T> {
    fn answer(
        &mut self,
        lines: Vec<Result<Line, (u64, LineError)>>,
        ask: &Ask<'_>,
    ) -> Result<Vec<Record>, UnknownParameter> {
        let workspace = self.workspace.take();
        let workspace = workspace.unwrap_or_else(|| Workspace::new(self.task.model()));
        let answering = Answering::within(self.task, ask.rules, ask.settings, workspace)?;
        let mut answering = answering.with_traces(ask.traces).with_log_probs(ask.log_probs);
        let records = answering.answer(lines);
        self.workspace = Some(answering.into_workspace());
        Ok(records)
    }
}

/// A request to a network: `Ask::new(Some(&rules), &settings).traces(true)`.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Ask<'a> {
    /// What outputs must satisfy, unless their line says otherwise.
    pub rules: Option<&'a Rules>,
    /// How they are made to obey.
    pub settings: &'a Settings,
    /// Whether a bad line ends the run.
    pub strict: bool,
    /// Whether records say how long each input took.
    pub times: bool,
    /// Whether records have the trace of every repair.
    pub traces: bool,
    /// Whether records say how probable the network finds every output.
    pub log_probs: bool,
    /// How many threads work.
    pub threads: usize,
}

impl<'a> Ask<'a> {
    /// On all threads of the current pool; a bad line does not end the run, and records have neither
    /// times nor traces.
    pub fn new(rules: Option<&'a Rules>, settings: &'a Settings) -> Self {
        let threads = cajole_core::corpus::n_threads();
        Ask {
            rules,
            settings,
            strict: false,
            times: false,
            traces: false,
            log_probs: false,
            threads,
        }
    }

    /// Whether a bad line ends the run.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Ask { strict, ..self }
    }

    /// Whether records say how long each input took.
    #[must_use]
    pub fn times(self, times: bool) -> Self {
        Ask { times, ..self }
    }

    /// Whether records have the trace of every repair.
    #[must_use]
    pub fn traces(self, traces: bool) -> Self {
        Ask { traces, ..self }
    }

    /// Whether records say how probable the network finds every output.
    #[must_use]
    pub fn log_probs(self, log_probs: bool) -> Self {
        Ask { log_probs, ..self }
    }

    /// How many threads work.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Ask { threads, ..self }
    }
}

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

impl<T: Task> Runnable for T {
    fn task(&self) -> &'static str {
        T::NAME
    }

    fn display(&self) -> Display {
        T::DISPLAY
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        Task::vocabulary(self)
    }

    fn usual_rules(&self) -> Option<&'static str> {
        Task::usual_rules(self)
    }

    fn remarks(&self) -> &[String] {
        Task::remarks(self)
    }

    fn presets(&self) -> &Presets {
        Task::presets(self)
    }

    fn limits(&self) -> Limits {
        Task::limits(self)
    }

    fn engines(&self) -> Vec<Engine> {
        Task::engines(self)
    }

    fn fingerprint(&self) -> u64 {
        Task::fingerprint(self)
    }

    fn measure(&self) -> &'static str {
        Task::score(self, &[]).0
    }

    fn answer(
        &self,
        lines: Vec<Result<Line, (u64, LineError)>>,
        ask: &Ask<'_>,
    ) -> Result<Vec<Record>, UnknownParameter> {
        self.hand().answer(lines, ask)
    }

    fn hand(&self) -> Box<dyn Hand + '_> {
        Box::new(TaskHand { task: self, workspace: None })
    }

    fn infer(&self, ask: &Ask<'_>, stream: Stream<'_>) -> Result<(), InferError> {
        let Stream { source, sink, tally, told } = stream;
        Inference { task: self, ask: *ask }.run(source, sink, tally, told)
    }

    fn infer_each(&self, ask: &Ask<'_>, stream: Each<'_>) -> Result<(), InferError> {
        let Each { source, put, tally, told } = stream;
        Inference { task: self, ask: *ask }.each(source, tally, told, put)
    }

    fn compare(
        &self,
        ask: &Ask<'_>,
        of: &compare::Options,
        lines: &[Line],
        watch: &dyn Watch,
    ) -> Result<(Report, Vec<(u64, LineError)>), UnknownParameter> {
        Comparison { task: self, rules: ask.rules, settings: ask.settings, of }.run(lines, watch)
    }
}
