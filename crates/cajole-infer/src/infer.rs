//! Lines in, records out: all cores, in order, in bounded memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cajole_core::UnknownParameter;
use cajole_rules::Rules;

use crate::answer::Status;
use crate::limits::{BYTES_IN_FLIGHT, LOT_BYTES};
use crate::line::{Line, LineError};
use crate::lines::Answering;
use crate::ordered::{Bounds, in_order};
use crate::record::Record;
use crate::run::Each;
use crate::settings::Settings;
use crate::source::Numbered;
use crate::task::Task;

/// Lots of lines in flight for each thread.
const AHEAD: usize = 2;

/// A run over the lines of a source.
pub(crate) struct Inference<'t> {
    /// The network.
    pub(crate) task: &'t dyn Task,
    /// Rules on outputs, unless their line says otherwise.
    pub(crate) rules: Option<&'t Arc<Rules>>,
    /// How lines are answered.
    pub(crate) settings: &'t Settings,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    /// The rest of the input cannot be read.
    #[error("{name}: {source}")]
    Source {
        /// The input.
        name: String,
        /// The file system's error.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Sink(#[source] io::Error),
    /// A line is bad, and none may be.
    #[error("{name}:{line}: {problem}")]
    Line {
        /// The input.
        name: String,
        /// Its number.
        line: u64,
        /// The reason.
        problem: String,
    },
    /// It was cancelled. The records put before are complete.
    #[error("interrupted")]
    Interrupted,
    /// The settings name what the network does not have.
    #[error(transparent)]
    Settings(#[from] UnknownParameter),
}

/// The progress of a run, readable while it runs.
#[derive(Debug, Default)]
pub struct Tally {
    /// Lines that have been answered.
    pub lines: AtomicU64,
    /// Inputs of these.
    pub inputs: AtomicU64,
    /// Inputs whose own output violated the rules.
    pub failures: AtomicU64,
    /// Failures that satisfy the rules now.
    pub converted: AtomicU64,
    /// Inputs that were given up for time.
    pub timed_out: AtomicU64,
    /// Inputs whose rules could not be measured.
    pub unmeasured: AtomicU64,
    /// Lines that could not be read.
    pub bad: AtomicU64,
}

impl Tally {
    /// A count.
    pub fn get(count: &AtomicU64) -> u64 {
        count.load(Ordering::Relaxed)
    }

    /// Counts an answer of this status, to an input whose own output violated by `g_before`.
    pub(crate) fn count(&self, status: Status, g_before: f32) {
        let add = |count: &AtomicU64, is: bool| count.fetch_add(u64::from(is), Ordering::Relaxed);
        let is_failure = 0.0 < g_before; // and was measured
        add(&self.inputs, true);
        add(&self.failures, is_failure);
        add(&self.converted, is_failure && status == Status::Satisfied);
        add(&self.timed_out, status == Status::TimedOut);
        add(&self.unmeasured, status == Status::Unmeasured);
    }
}

/// The bytes of a lot's lines.
fn weight(lot: &[Numbered<LineError>]) -> usize {
    lot.iter().map(|line| line.1.as_ref().map_or(0, String::len)).sum()
}

impl<'t> Inference<'t> {
    /// Hands the records of all lines over, in order, every few at a time.
    pub(crate) fn each(&self, stream: Each<'_>) -> Result<(), InferError> {
        let Each { source, put, tally, told } = stream;
        let Inference { task, rules, settings } = *self;
        let name = source.name().to_owned();
        let lost = |source: io::Error| InferError::Source { name: name.clone(), source };
        let most = task.together().lines;
        let take = || {
            let (mut lot, mut bytes) = (Vec::with_capacity(most), 0);
            // A writer that waits for the record of each line need not fill a lot first.
            while lot.len() < most
                && bytes < LOT_BYTES
                && !settings.cancel.is_set()
                && (lot.is_empty() || source.is_ready())
                && let Some(line) = source.next().map_err(lost)?
            {
                bytes += line.1.as_ref().map_or(0, String::len);
                lot.push(line);
            }
            Ok((!lot.is_empty()).then_some(lot))
        };
        // A bad setting is an error before any work.
        task.check(settings)?;
        let hand = || Answering::new(task, rules.cloned(), settings);
        let work = |hand: &mut Result<Answering<'t>, UnknownParameter>, lot| match hand {
            Ok(hand) => self.records(hand, &name, lot, tally, told),
            Err(error) => Err(error.clone().into()),
        };
        let mut put = |records| {
            put(records)?;
            told(None);
            Ok(())
        };
        let bounds = Bounds {
            threads: settings.threads,
            batches: AHEAD * settings.threads,
            weight: BYTES_IN_FLIGHT,
        };
        in_order(bounds, take, |lot| weight(lot), hand, work, &mut put)?;
        if settings.cancel.is_set() { Err(InferError::Interrupted) } else { Ok(()) }
    }

    /// The records of a lot, one per line; blank lines have none.
    fn records(
        &self,
        hand: &mut Answering<'_>,
        name: &str,
        lot: Vec<Numbered<LineError>>,
        tally: &Tally,
        told: &(dyn Fn(Option<&InferError>) + Sync),
    ) -> Result<Vec<Record>, InferError> {
        let n_lines = lot.len() as u64;
        let lines = lot.into_iter().filter_map(|(number, text)| {
            let line = text.and_then(|text| Line::parse(number, text));
            line.transpose().map(|line| line.map_err(|error| (number, error)))
        });
        let mut records = hand.answer(lines.collect());
        // Cancelled lines have no answer, so that a resumed run repeats them.
        if self.settings.cancel.is_set() {
            return Err(InferError::Interrupted);
        }
        for record in &mut records {
            match &record.answers {
                Ok(answers) => {
                    answers.iter().for_each(|a| tally.count(a.answer.status, a.answer.g_before));
                }
                Err(error) => {
                    let (name, problem) = (name.to_owned(), error.to_string());
                    let bad = InferError::Line { name, line: record.line, problem };
                    if self.settings.strict {
                        return Err(bad);
                    }
                    tally.bad.fetch_add(1, Ordering::Relaxed);
                    told(Some(&bad));
                }
            }
        }
        tally.lines.fetch_add(n_lines, Ordering::Relaxed);
        Ok(records)
    }
}
