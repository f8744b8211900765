//! From lines to records: what `cajole infer` does with each of them.
//!
//! Lines are taken in batches of fixed size, so that the first pass reads the weights once for all
//! of them and the same bytes come out at any number of threads; those that violate their rules are
//! then worked on one by one, each in weights of its own.

use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use cajole_core::{Candidate, Config, Fault, UnknownGroup};
use cajole_rules::Rules;
use serde_json::{Map, Value, json};

use crate::engine::{Answer, Engine, Limits, Status, Worker};
use crate::line::{Line, LineError};
use crate::ordered::in_order;
use crate::sink::Sink;
use crate::source::{Numbered, Source};
use crate::task::{Case, Task};

/// Lines of one batch.
const BATCH: usize = 32;

/// Bytes of lines after which a batch takes no more, so that long lines do not add up.
const BATCH_BYTES: usize = 1 << 20;

/// Batches that may be on their way for each thread.
const AHEAD: usize = 8;

/// Rules of lines' own that are kept by a thread.
const KEPT_RULES: usize = 256;

/// Everything that is set about a run.
pub struct Inference<'t, T> {
    /// The network.
    pub task: &'t T,
    /// What outputs have to satisfy, but for those of lines that say otherwise.
    pub rules: Option<&'t Rules<'t>>,
    /// How they are made to.
    pub engine: Engine,
    /// The settings of gradient-based inference.
    pub config: Config,
    /// How far engines go.
    pub limits: Limits,
    /// Whether a bad line ends the run.
    pub strict: bool,
    /// Whether records say how long each input took. Without, the same input gives the same bytes.
    pub times: bool,
    /// How many threads work.
    pub threads: usize,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    /// The input cannot be read on.
    #[error("{name}: {source}")]
    Source {
        /// The input.
        name: String,
        /// What the file system said.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Sink(#[source] io::Error),
    /// A line is bad, and none may be.
    #[error("{name}:{line}: {source}")]
    Line {
        /// The input.
        name: String,
        /// Its number.
        line: u64,
        /// What is wrong with it.
        source: Box<LineError>,
    },
    /// The settings name what the network does not have.
    #[error(transparent)]
    Settings(#[from] UnknownGroup),
}

/// How a run goes, to be looked at while it does.
#[derive(Debug, Default)]
pub struct Tally {
    /// Lines that have been answered.
    pub lines: AtomicU64,
    /// Inputs of these.
    pub inputs: AtomicU64,
    /// Inputs for which the network's own output violated the rules.
    pub failures: AtomicU64,
    /// Failures that satisfy the rules now.
    pub converted: AtomicU64,
    /// Inputs that were given up for time.
    pub timed_out: AtomicU64,
    /// Inputs whose rules could not be measured.
    pub unmeasured: AtomicU64,
    /// Lines that could not be worked on.
    pub bad: AtomicU64,
}

impl Tally {
    /// A count.
    pub fn get(count: &AtomicU64) -> u64 {
        count.load(Ordering::Relaxed)
    }

    fn count(&self, answer: &Answer) {
        let add = |count: &AtomicU64, is: bool| count.fetch_add(u64::from(is), Ordering::Relaxed);
        let is_failure = answer.g_before != 0.0;
        let is_satisfied = answer.status == Status::Satisfied;
        add(&self.inputs, true);
        add(&self.failures, is_failure);
        add(&self.converted, is_failure && is_satisfied);
        add(&self.timed_out, answer.status == Status::TimedOut);
        add(&self.unmeasured, answer.status == Status::Unmeasured);
    }
}

impl<T: Task> Inference<'_, T> {
    /// Answers every line of `source` with a record in `sink`, in order. `told` hears of bad lines,
    /// and of every few lines that are done.
    ///
    /// # Errors
    /// If the source cannot be read or the sink not be written; or at a bad line, if strict.
    pub fn run(
        &self,
        source: &mut Source,
        sink: &mut Sink,
        tally: &Tally,
        told: &(dyn Fn(Option<&InferError>) + Sync),
    ) -> Result<(), InferError> {
        let name = source.name.clone();
        let lost = |source: io::Error| InferError::Source { name: name.clone(), source };
        let take = || {
            let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), 0);
            // Who writes a line and waits for its record need not fill a batch first.
            while batch.len() < BATCH
                && bytes < BATCH_BYTES
                && (batch.is_empty() || source.has_line())
                && let Some(line) = source.line().map_err(lost)?
            {
                bytes += line.1.as_ref().map_or(0, String::len);
                batch.push(line);
            }
            Ok((!batch.is_empty()).then_some(batch))
        };
        // A bad setting is an error before any work.
        Worker::new(self.task, &self.config, &self.limits)?;
        let hand = || Hand { inference: self, worker: None, own_rules: HashMap::new() };
        let work = |hand: &mut Hand<'_, '_, T>, batch| hand.records(&name, batch, tally, told);
        let put = |records: Vec<u8>| {
            sink.write(&records).map_err(InferError::Sink)?;
            told(None);
            Ok(())
        };
        in_order((self.threads, AHEAD * self.threads), take, hand, work, put)
    }
}

/// One thread's share of the work.
struct Hand<'i, 't, T: Task> {
    inference: &'i Inference<'t, T>,
    worker: Option<Worker<'t, T>>,
    /// Rules that lines brought, by what they say.
    own_rules: HashMap<String, Rc<Rules<'t>>>,
}

/// What the outputs of a line have to satisfy.
enum LineRules<'t> {
    /// The same as those of most lines.
    Usual(&'t Rules<'t>),
    /// What it says itself.
    Own(Rc<Rules<'t>>),
}

impl<'t> Deref for LineRules<'t> {
    type Target = Rules<'t>;

    fn deref(&self) -> &Rules<'t> {
        match self {
            LineRules::Usual(rules) => rules,
            LineRules::Own(rules) => rules,
        }
    }
}

/// A line that can be worked on.
struct Asked<'t, I> {
    line: Line,
    cases: Vec<Case<I>>,
    rules: LineRules<'t>,
}

impl<'t, T: Task> Hand<'_, 't, T> {
    /// The records of a batch, a line each; blank lines have none.
    fn records(
        &mut self,
        name: &str,
        batch: Vec<Numbered>,
        tally: &Tally,
        told: &(dyn Fn(Option<&InferError>) + Sync),
    ) -> Result<Vec<u8>, InferError> {
        let n_lines = batch.len() as u64;
        let mut asked = Vec::new();
        for (number, text) in batch {
            let line = text.map_err(LineError::from).and_then(|text| Line::parse(number, text));
            let Some(line) = line.transpose() else { continue };
            let id = line.as_ref().ok().and_then(|line| line.id().cloned());
            match line.and_then(|line| self.read(line)) {
                Ok(line) => asked.push(Ok(line)),
                Err(source) => {
                    let (name, source) = (name.to_owned(), Box::new(source));
                    let error = InferError::Line { name, line: number, source };
                    if self.inference.strict {
                        return Err(error);
                    }
                    tally.bad.fetch_add(1, Ordering::Relaxed);
                    told(Some(&error));
                    asked.push(Err((number, id, error)));
                }
            }
        }
        let mut bytes = Vec::new();
        let firsts = self.firsts(&asked)?;
        let mut firsts = firsts.iter();
        for line in asked {
            let record = match line {
                Ok(line) => self.record(&line, &mut firsts, tally)?,
                Err((number, id, error)) => bad_record(number, id, &error),
            };
            bytes.extend(record.to_string().into_bytes());
            bytes.push(b'\n');
        }
        tally.lines.fetch_add(n_lines, Ordering::Relaxed);
        Ok(bytes)
    }

    /// What a line asks for.
    fn read(&mut self, line: Line) -> Result<Asked<'t, T::Input>, LineError> {
        let rules = match line.constraint() {
            Some(own) => LineRules::Own(self.own_rules(own)?),
            None => LineRules::Usual(self.inference.rules.ok_or(LineError::NoRules)?),
        };
        let cases = self.inference.task.cases(&line, &rules)?;
        Ok(Asked { line, cases, rules })
    }

    /// The rules that a line brings, compiled once for all lines that bring the same.
    fn own_rules(&mut self, value: &Value) -> Result<Rc<Rules<'t>>, LineError> {
        let text = value.to_string();
        if let Some(known) = self.own_rules.get(&text) {
            return Ok(known.clone());
        }
        let rules = Rc::new(Rules::of_json(value, self.inference.task.vocabulary())?);
        if KEPT_RULES <= self.own_rules.len() {
            self.own_rules.clear();
        }
        self.own_rules.insert(text, rules.clone());
        Ok(rules)
    }

    /// The network's own output for every input of the batch.
    fn firsts<E>(
        &mut self,
        asked: &[Result<Asked<'t, T::Input>, E>],
    ) -> Result<Vec<Candidate>, InferError> {
        let lines = asked.iter().filter_map(|line| line.as_ref().ok());
        let cases: Vec<&Case<T::Input>> = lines.flat_map(|line| &line.cases).collect();
        let worker = worker(&mut self.worker, self.inference)?;
        Ok(if cases.is_empty() { Vec::new() } else { worker.first(&cases) })
    }

    fn record(
        &mut self,
        asked: &Asked<'t, T::Input>,
        firsts: &mut std::slice::Iter<'_, Candidate>,
        tally: &Tally,
    ) -> Result<Value, InferError> {
        let Inference { task, engine, times, .. } = *self.inference;
        let worker = worker(&mut self.worker, self.inference)?;
        let mut answers = Vec::new();
        for (case, first) in asked.cases.iter().zip(firsts) {
            let answer = worker.answer(engine, case, &asked.rules, first);
            tally.count(&answer);
            let mut record = case.about.clone();
            record.extend(task.record(case, &answer.output));
            record.extend(fields(&answer, times));
            answers.push(record);
        }
        let mut record = Map::from_iter([("line".to_owned(), json!(asked.line.number))]);
        record.extend(asked.line.id().map(|id| ("id".to_owned(), id.clone())));
        match (T::IS_ONE_A_LINE, answers.pop()) {
            (true, Some(answer)) => record.extend(answer),
            (_, last) => {
                answers.extend(last);
                record.insert("answers".to_owned(), json!(answers));
            }
        }
        Ok(Value::Object(record))
    }
}

fn worker<'w, 't, T: Task>(
    place: &'w mut Option<Worker<'t, T>>,
    inference: &Inference<'t, T>,
) -> Result<&'w mut Worker<'t, T>, UnknownGroup> {
    Ok(match place {
        Some(worker) => worker,
        none => none.insert(Worker::new(inference.task, &inference.config, &inference.limits)?),
    })
}

/// What a record says of an answer beside its output.
fn fields(answer: &Answer, times: bool) -> Map<String, Value> {
    let Answer { status, g_before, g_after, steps, passes, faults, engine, .. } = answer;
    let mut fields = Map::new();
    let mut say = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    say("status", json!(status));
    say("g_before", short(*g_before));
    say("g_after", short(*g_after));
    say("steps", json!(steps.unwrap_or(0)));
    say("passes", json!(passes));
    say("engine", json!(engine));
    if let Some(note) = answer.note {
        say("note", json!(note));
    }
    if times {
        say("milliseconds", json!((answer.elapsed.as_secs_f64() * 1e6).round() / 1e3));
    }
    if !faults.is_empty() {
        let fault = |f: &Fault| {
            let Fault { at, cost, message } = f;
            json!({"start": at.start, "end": at.end, "cost": short(*cost), "message": message})
        };
        say("faults", faults.iter().map(fault).collect());
    }
    fields
}

/// A number with as few digits as tell it apart; what is none is `null`.
fn short(value: f32) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, |value| json!(value))
}

/// The record of a line that could not be worked on.
fn bad_record(number: u64, id: Option<Value>, error: &InferError) -> Value {
    let message = match error {
        InferError::Line { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    let mut record = Map::from_iter([("line".to_owned(), json!(number))]);
    record.extend(id.map(|id| ("id".to_owned(), id)));
    record.insert("status".to_owned(), json!("bad-line"));
    record.insert("error".to_owned(), json!(message));
    Value::Object(record)
}
