//! `cajole.Results`: records in the order of their inputs, while threads answer later ones.
//!
//! The thread that asks for a result also pulls inputs, so an iterable is never touched by another
//! thread and its exceptions reach whoever iterates. Everything in between is bounded.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use cajole_core::Cancel;
use cajole_infer::infer::{InferError, Tally};
use cajole_infer::record::Record;
use cajole_infer::run::Each;
use cajole_infer::source::Lines;
use cajole_infer::{Opened, Settings};
use cajole_rules::Cache;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::answer::Answered;
use crate::error::{infer_error, rule_error, settings_error};
use crate::inputs::{Fed, Feed, PATIENCE, Pulled, file};
use crate::interrupt::{TICK, no_thread, start_pool};
use crate::rules::Rules;

/// The most records that wait for the iterating thread.
const WAITING: usize = 480;
/// The most inputs in flight for each thread.
const AHEAD: u64 = 360;
/// How long to wait for an interrupted run: a rule may block a thread forever.
const GRACE: Duration = Duration::from_secs(5);

/// Where inputs come from.
pub(crate) enum Inputs {
    /// An iterable.
    Pulled(Pulled),
    /// A file.
    File { path: PathBuf, max_bytes: usize },
}

/// Everything that a run needs.
pub(crate) struct Run {
    pub(crate) network: Arc<Opened>,
    pub(crate) rules: Option<Rules>,
    pub(crate) settings: Settings,
}

/// Results, lazily and in order. Totals are up to date during iteration. One thread iterates; any
/// other may read totals or close.
#[pyclass(module = "cajole", frozen)]
pub(crate) struct Results {
    desk: Arc<Desk>,
    feed: Arc<Feed>,
    cancel: Cancel,
    /// Never block on this lock: its holder may be waiting for the interpreter.
    progress: Mutex<Progress>,
    ahead: u64,
    times: bool,
    strict: bool,
}

/// The progress of the iteration.
struct Progress {
    /// Where inputs are pulled from, until their end.
    inputs: Option<Pulled>,
    /// Records taken from the desk, all at once.
    taken: VecDeque<Record>,
    yielded: u64,
}

/// Where records wait.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
    tally: Tally,
}

#[derive(Default)]
struct State {
    records: VecDeque<Record>,
    /// Rules that no output satisfies, once the run has begun.
    begun: Option<Vec<String>>,
    /// How the run ended.
    ended: Option<Result<(), PyErr>>,
    /// Whether nobody takes records any more.
    is_left: bool,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until `is_there` holds, but no longer than `most`.
    fn wait(&self, most: Duration, is_there: impl Fn(&State) -> bool) {
        drop(self.changed.wait_timeout_while(self.lock(), most, |state| !is_there(state)));
    }

    /// Takes records from a worker, once there is room for them.
    fn put(&self, records: Vec<Record>) -> Result<(), InferError> {
        let mut state = self.lock();
        while WAITING <= state.records.len() && !state.is_left {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_left {
            return Err(InferError::Interrupted);
        }
        state.records.extend(records);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }
}

impl Run {
    /// Begins to answer. Errors in rules and settings are raised here.
    pub(crate) fn begin(self, py: Python<'_>, inputs: Inputs) -> PyResult<Results> {
        start_pool()?;
        let (desk, feed) = (Arc::new(Desk::default()), Arc::new(Feed::default()));
        let (source, inputs): (Box<dyn Lines>, Option<Pulled>) = match inputs {
            Inputs::Pulled(inputs) => (Box::new(Fed(feed.clone())), Some(inputs)),
            Inputs::File { path, max_bytes } => (Box::new(file(&path, max_bytes)?), None),
        };
        let results = Results {
            cancel: self.settings.cancel.clone(),
            ahead: AHEAD * self.settings.threads as u64,
            times: self.settings.times,
            strict: self.settings.strict,
            progress: Mutex::new(Progress { inputs, taken: VecDeque::new(), yielded: 0 }),
            desk: desk.clone(),
            feed,
        };
        let work = move || {
            let ended = self.answer(source, &desk);
            desk.change(|state| state.ended = Some(ended));
        };
        if let Err(error) = thread::Builder::new().spawn(work) {
            // There is nothing to wait for when the results are dropped.
            results.desk.change(|state| state.ended = Some(Ok(())));
            return Err(no_thread(&error));
        }
        let is_begun = |state: &State| state.begun.is_some() || state.ended.is_some();
        while !is_begun(&results.desk.lock()) {
            py.detach(|| results.desk.wait(TICK, is_begun));
            py.check_signals()?;
        }
        let mut state = results.desk.lock();
        if let Some(Err(_)) = &state.ended {
            let ended = state.ended.replace(Ok(())).unwrap_or(Ok(()));
            drop(state);
            return ended.map(|()| results);
        }
        let unsatisfiable = state.begun.take().unwrap_or_default();
        drop(state);
        for rule in unsatisfiable {
            let warn = py.import("warnings")?.getattr("warn")?;
            warn.call1((format!("no output can satisfy {rule}"),))?;
        }
        Ok(results)
    }

    /// The work of the background thread: answers everything, or returns why not.
    fn answer(&self, mut source: Box<dyn Lines>, desk: &Desk) -> Result<(), PyErr> {
        let vocabulary = self.network.vocabulary();
        let rules =
            self.rules.as_ref().map(|rules| rules.compile(vocabulary, Cache::shared())).transpose();
        let rules = rules.map_err(|error| rule_error(&error))?;
        self.network.check(&self.settings).map_err(|error| settings_error(&error))?;
        let unsatisfiable = rules.iter().flat_map(|rules| rules.unsatisfiable()).collect();
        desk.change(|state| state.begun = Some(unsatisfiable));
        let each = Each {
            source: &mut *source,
            put: &mut |records| desk.put(records),
            tally: &desk.tally,
            told: &|_| {},
        };
        self.network
            .infer_each(rules.as_ref(), &self.settings, each)
            .map_err(|error| infer_error(&error))
    }
}

#[pymethods]
impl Results {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Answered>> {
        let next = {
            let mut progress = self.progress()?;
            self.next(py, &mut progress)
        };
        let next = next.and_then(|next| {
            let raised = next.as_ref().filter(|_| self.strict).and_then(Answered::raised);
            raised.map_or(Ok(next), Err)
        });
        if next.is_err() {
            self.leave(py);
        }
        next
    }

    /// Lines, inputs, failures, converted, timed_out, unmeasured and bad so far.
    #[getter]
    fn totals(&self) -> std::collections::BTreeMap<&'static str, u64> {
        let Tally { lines, inputs, failures, converted, timed_out, unmeasured, bad } =
            &self.desk.tally;
        [
            ("lines", lines),
            ("inputs", inputs),
            ("failures", failures),
            ("converted", converted),
            ("timed_out", timed_out),
            ("unmeasured", unmeasured),
            ("bad", bad),
        ]
        .map(|(name, count)| (name, Tally::get(count)))
        .into()
    }

    /// All remaining results, as dicts.
    fn to_dicts<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        tabled(slf, "to_dicts")
    }

    /// All remaining results, as a pandas.DataFrame with a row for each answer.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        tabled(slf, "to_pandas")
    }

    /// All remaining results, as a pyarrow.Table with a row for each answer.
    fn to_arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        tabled(slf, "to_arrow")
    }

    /// Stops the run, from any thread; results that have not been read are lost.
    fn close(&self, py: Python<'_>) {
        self.leave(py);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.leave(py);
    }
}

fn tabled<'py>(results: Bound<'py, Results>, form: &str) -> PyResult<Bound<'py, PyAny>> {
    results.py().import("cajole._tables")?.getattr(form)?.call1((results,))
}

impl Results {
    /// The iteration, unless another thread, or the inputs themselves, are in the middle of it.
    fn progress(&self) -> PyResult<MutexGuard<'_, Progress>> {
        match self.progress.try_lock() {
            Ok(progress) => Ok(progress),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyValueError::new_err("these results are already being iterated"))
            }
        }
    }

    /// The next result, or `None` at the end. Feeds the threads in the meantime.
    fn next(&self, py: Python<'_>, progress: &mut Progress) -> PyResult<Option<Answered>> {
        loop {
            if progress.taken.is_empty() || self.cancel.is_set() {
                let mut state = self.desk.lock();
                if state.is_left {
                    drop(state);
                    (progress.inputs, progress.taken) = (None, VecDeque::new());
                    return Ok(None);
                }
                progress.taken.append(&mut state.records);
                if progress.taken.is_empty() && state.ended.is_some() {
                    // An error is raised once; after that, the iteration is over.
                    return state.ended.replace(Ok(())).unwrap_or(Ok(())).map(|()| None);
                }
                drop(state);
                if WAITING <= progress.taken.len() {
                    self.desk.changed.notify_all();
                }
            }
            let record = progress.taken.pop_front();
            self.refill(py, progress)?;
            if let Some(record) = record {
                progress.yielded += 1;
                return Ok(Some(Answered { record: Arc::new(record), times: self.times }));
            }
            let is_there = |s: &State| !s.records.is_empty() || s.ended.is_some() || s.is_left;
            py.detach(|| self.desk.wait(TICK, is_there));
            py.check_signals()?;
        }
    }

    /// Pulls inputs until enough are in flight, or a result is ready. A slow iterable is pulled
    /// again only after the threads had as much time, so that it does not hold them up.
    fn refill(&self, py: Python<'_>, progress: &mut Progress) -> PyResult<()> {
        while let Some(inputs) = &mut progress.inputs
            && inputs.n < progress.yielded + self.ahead
        {
            let started = Instant::now();
            let lot = inputs.pull(py)?;
            let took = started.elapsed();
            match lot {
                lot if lot.is_empty() => {
                    self.feed.close();
                    progress.inputs = None;
                }
                lot => self.feed.push(lot),
            }
            if PATIENCE < took {
                py.detach(|| self.desk.wait(took.min(TICK), |state| !state.records.is_empty()));
            }
            let state = self.desk.lock();
            if state.is_left || !state.records.is_empty() || !progress.taken.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Stops the run and waits a while for its threads, so that nothing of it remains.
    fn leave(&self, py: Python<'_>) {
        self.cancel.set();
        self.feed.close();
        self.desk.change(|state| {
            state.is_left = true;
            state.records.clear();
        });
        py.detach(|| {
            let state = self.desk.lock();
            drop(self.desk.changed.wait_timeout_while(state, GRACE, |s| s.ended.is_none()));
        });
        self.desk.change(|state| {
            if state.ended.is_some() {
                state.ended = Some(Ok(()));
            }
        });
        // A thread that is in the middle of the iteration drops its inputs itself.
        if let Ok(mut progress) = self.progress() {
            (progress.inputs, progress.taken) = (None, VecDeque::new());
        }
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        // Threads may need the interpreter before they end.
        Python::try_attach(|py| self.leave(py));
    }
}
