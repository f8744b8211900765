//! From lines to records: the one function behind `infer`, `parse`, `tag`, a service and Python.
//!
//! [`Answering::answer`] takes some lines and gives a [`Record`] for each. Lines are taken many at a
//! time, so that the first pass reads the weights once for all of them and outputs that violate their
//! rules are repaired in step. The record of a line does not depend on the others.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use cajole_core::{Candidate, Constraint, Failure, Fault, Symbol, UnknownParameter};
use cajole_report::CaseStudy;
use cajole_rules::Rules;
use serde_json::{Map, Value, json};

use crate::attempt::{g_of, own};
use crate::engine::{Answer, Status};
use crate::line::{Line, LineError};
use crate::study::study;
use crate::task::{Case, Task};
use crate::worker::{Failing, First, Settings, Worker};

/// Rules of lines' own that are kept by a thread.
const KEPT_RULES: usize = 256;

/// What became of one line.
#[derive(Debug)]
pub struct Record {
    /// Its number, from 1.
    pub line: u64,
    /// The `id` that the line has.
    pub id: Option<Value>,
    /// One answer for each input of the line, or why there is none.
    pub answers: Result<Vec<Answered>, LineError>,
    /// Whether a line of this task is one input.
    is_one: bool,
}

/// The answer to one input, with what its record says.
#[derive(Debug)]
pub struct Answered {
    /// What became of it.
    pub answer: Answer,
    /// What the task says of input and output, such as the predicate, the text and the tree.
    pub fields: Map<String, Value>,
    /// Its trace, where asked for.
    pub trace: Option<Traced>,
}

/// Every decode of one input.
#[derive(Debug)]
pub struct Traced {
    /// How many weights were free to move.
    pub moving: usize,
    /// The decodes, as records have them: figures, output and faults.
    pub steps: Vec<Map<String, Value>>,
    /// Those worth showing, as a table.
    pub study: CaseStudy,
}

impl Record {
    /// As a JSON object; with times, if asked for.
    pub fn to_json(&self, times: bool) -> Value {
        let mut record = Map::from_iter([("line".to_owned(), json!(self.line))]);
        record.extend(self.id.clone().map(|id| ("id".to_owned(), id)));
        match &self.answers {
            Err(error) => {
                record.insert("status".to_owned(), json!("bad-line"));
                record.insert("error".to_owned(), json!(error.to_string()));
            }
            Ok(answers) => {
                let mut answers: Vec<_> = answers.iter().map(|a| a.to_json(times)).collect();
                match (self.is_one, answers.pop()) {
                    (true, Some(answer)) => record.extend(answer),
                    (_, last) => {
                        answers.extend(last);
                        record.insert("answers".to_owned(), json!(answers));
                    }
                }
            }
        }
        Value::Object(record)
    }
}

impl Answered {
    fn to_json(&self, times: bool) -> Map<String, Value> {
        let Answer { status, g_before, g_after, steps, passes, faults, engine, .. } = &self.answer;
        let mut fields = self.fields.clone();
        let mut say = |key: &str, value: Value| fields.insert(key.to_owned(), value);
        say("status", json!(status));
        say("g_before", short(*g_before));
        say("g_after", short(*g_after));
        say("steps", json!(steps.unwrap_or(0)));
        say("passes", json!(passes));
        say("engine", json!(engine));
        if let Some(note) = self.answer.note {
            say("note", json!(note));
        }
        if let Some(failure) = &self.answer.failure {
            say("error", json!(failure.to_string()));
        }
        if times {
            say("milliseconds", milliseconds(self.answer.elapsed));
        }
        if !faults.is_empty() {
            say("faults", faults_json(faults));
        }
        if let Some(trace) = &self.trace {
            say("trace", trace.to_json(times));
        }
        fields
    }
}

impl Traced {
    fn to_json(&self, times: bool) -> Value {
        let mut steps = self.steps.clone();
        if !times {
            steps.iter_mut().for_each(|step| drop(step.shift_remove("milliseconds")));
        }
        json!({ "moving": self.moving, "steps": steps })
    }
}

/// Positions count from 0, and `end` is the one after the last.
fn faults_json(faults: &[Fault]) -> Value {
    let fault = |f: &Fault| {
        let Fault { at, cost, message } = f;
        json!({"start": at.start, "end": at.end, "cost": short(*cost), "message": message})
    };
    faults.iter().map(fault).collect()
}

fn milliseconds(elapsed: Duration) -> Value {
    json!((elapsed.as_secs_f64() * 1e6).round() / 1e3)
}

/// A number with as few digits as tell it apart; what is not finite is `null`.
fn short(value: f32) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, |value| json!(value))
}

/// One thread's share of answering lines.
pub struct Answering<'t, T: Task> {
    task: &'t T,
    rules: Option<&'t Rules<'t>>,
    settings: &'t Settings,
    worker: Worker<'t, T>,
    traces: bool,
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

impl<'t> LineRules<'t> {
    fn get(&self) -> &Rules<'t> {
        match self {
            LineRules::Usual(rules) => rules,
            LineRules::Own(rules) => rules,
        }
    }
}

/// The inputs of a line, and the rules they are under.
type Asked<'t, I> = (Vec<Case<I>>, LineRules<'t>);

impl<'t, T: Task> Answering<'t, T> {
    /// For outputs that have to satisfy `rules`, but for those of lines that bring their own.
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    pub fn new(
        task: &'t T,
        rules: Option<&'t Rules<'t>>,
        settings: &'t Settings,
    ) -> Result<Self, UnknownParameter> {
        let worker = Worker::new(task, settings)?;
        let own_rules = HashMap::new();
        Ok(Answering { task, rules, settings, worker, traces: false, own_rules })
    }

    /// Also gives the trace of every repair.
    #[must_use]
    pub fn with_traces(self, traces: bool) -> Self {
        Answering { traces, ..self }
    }

    /// Answers lines, in order. A line that cannot be worked on costs its own record only.
    pub fn answer(&mut self, lines: Vec<Result<Line, (u64, LineError)>>) -> Vec<Record> {
        let mut heads = Vec::new();
        let mut asked: Vec<Result<Asked<'t, T::Input>, LineError>> = Vec::new();
        for line in lines {
            match line {
                Ok(line) => {
                    let line = line.with_max_tokens(self.settings.limits.max_tokens);
                    heads.push((line.number, line.id().cloned()));
                    asked.push(self.read(&line));
                }
                Err((number, error)) => {
                    heads.push((number, None));
                    asked.push(Err(error));
                }
            }
        }
        let mut answers = self.repaired(&asked).into_iter();
        let records = heads.into_iter().zip(asked).map(|((line, id), asked)| {
            let answers = asked.map(|(cases, rules)| {
                let answers = answers.by_ref().take(cases.len());
                let both = cases.into_iter().zip(answers);
                both.map(|(case, answer)| self.answered(case, rules.get(), answer)).collect()
            });
            Record { line, id, answers, is_one: T::IS_ONE_A_LINE }
        });
        records.collect()
    }

    /// What a line asks for.
    fn read(&mut self, line: &Line) -> Result<Asked<'t, T::Input>, LineError> {
        line.check_fields()?;
        let rules = match line.constraint() {
            Some(own) => LineRules::Own(self.own_rules(own)?),
            None => LineRules::Usual(self.rules.ok_or(LineError::NoRules)?),
        };
        Ok((self.task.cases(line, rules.get())?, rules))
    }

    /// The rules that a line brings, compiled once for all lines that bring the same.
    fn own_rules(&mut self, value: &Value) -> Result<Rc<Rules<'t>>, LineError> {
        let text = value.to_string();
        if let Some(known) = self.own_rules.get(&text) {
            return Ok(known.clone());
        }
        let rules = Rc::new(Rules::of_json(value, self.task.vocabulary())?);
        if KEPT_RULES <= self.own_rules.len() {
            self.own_rules.clear();
        }
        self.own_rules.insert(text, rules.clone());
        Ok(rules)
    }

    /// The answer to every input of these lines, in order.
    fn repaired(&mut self, asked: &[Result<Asked<'t, T::Input>, LineError>]) -> Vec<Answer> {
        let lines = asked.iter().filter_map(|asked| asked.as_ref().ok()).enumerate();
        let all = lines.flat_map(|(line, (cases, rules))| {
            cases.iter().map(move |case| (line, (case, rules.get())))
        });
        let (lines, of): (Vec<usize>, Vec<_>) = all.unzip();
        let cases: Vec<&Case<T::Input>> = of.iter().map(|(case, _)| *case).collect();
        let firsts = self.worker.firsts(&cases, &lines);
        let mut answers: Vec<Answer> =
            of.iter().zip(&firsts).map(|(of, f)| first(*of, f)).collect();
        let mut n_failing = vec![0; asked.len()];
        let failed = lines.iter().zip(&answers).filter(|(_, answer)| is_failing(answer));
        failed.for_each(|(&line, _)| n_failing[line] += 1);
        let failing = |i: usize| {
            let (case, rules) = of[i];
            let first = firsts[i].as_ref().ok().filter(|_| is_failing(&answers[i]))?;
            let First { output, used } = first;
            let among = n_failing[lines[i]];
            Some((i, (Failing { case, first: output, used: *used, among }, rules)))
        };
        let (which, failing): (Vec<usize>, Vec<_>) = (0..of.len()).filter_map(failing).unzip();
        let repaired = self.worker.repair_all(self.settings.engine, &failing);
        which.into_iter().zip(repaired).for_each(|(i, answer)| answers[i] = answer);
        answers
    }

    fn answered(&self, mut case: Case<T::Input>, rules: &Rules<'_>, answer: Answer) -> Answered {
        let mut fields = std::mem::take(&mut case.about);
        fields.extend(self.task.record(&case, &answer.output));
        let trace = self.traces.then(|| self.traced(&case, rules, &answer)).flatten();
        Answered { answer, fields, trace }
    }

    /// The trace of an answer: of the network's own output, a single decode.
    fn traced(&self, case: &Case<T::Input>, rules: &Rules<'_>, answer: &Answer) -> Option<Traced> {
        let study = study(self.task, "step by step".to_owned(), case, rules, answer)?;
        let row = |at: (usize, usize), y: &[Symbol], figures: [f32; 3], passes: usize| {
            let [g, log_prob, distance] = figures.map(short);
            let mut row = Map::from_iter(
                [
                    ("attempt", json!(at.0)),
                    ("iteration", json!(at.1)),
                    ("g", g),
                    ("log_prob", log_prob),
                    ("distance", distance),
                    ("passes", json!(passes)),
                ]
                .map(|(key, value)| (key.to_owned(), value)),
            );
            row.extend(self.task.record(case, y));
            let faults = rules.explain(&case.subject, y);
            if !faults.is_empty() {
                row.insert("faults".to_owned(), faults_json(&faults));
            }
            row
        };
        let Some(trace) = &answer.trace else {
            let log_prob = answer.log_prob.unwrap_or(f32::NAN);
            let own = row((0, 0), &answer.output, [answer.g_after, log_prob, 0.0], 0);
            return Some(Traced { moving: 0, steps: vec![own], study });
        };
        let steps = trace.steps().iter().map(|step| {
            let figures = [step.g, step.log_prob, step.distance];
            let at = (step.attempt, step.iteration);
            let mut row = row(at, trace.output(step), figures, step.passes);
            row.insert("milliseconds".to_owned(), milliseconds(step.elapsed));
            row
        });
        Some(Traced { moving: trace.moving, steps: steps.collect(), study })
    }
}

/// The network's own output as an answer: final, if it satisfies or cannot be measured.
fn first<I>((case, rules): (&Case<I>, &Rules<'_>), first: &Result<First, Failure>) -> Answer {
    match first {
        Ok(late) if late.is_late() => Answer {
            status: Status::TimedOut,
            log_prob: None,
            ..own("network", &late.output, f32::NAN)
        },
        Ok(First { output: first, .. }) => {
            let mut answer = own("network", first, g_of(rules, case, first));
            if answer.status == Status::Unmeasured {
                answer.faults = rules.explain(&case.subject, &first.output);
            }
            answer
        }
        Err(failure) => Answer {
            status: Status::Failed,
            failure: Some(failure.clone()),
            log_prob: None,
            ..own("network", &Candidate::default(), f32::NAN)
        },
    }
}

fn is_failing(answer: &Answer) -> bool {
    answer.status == Status::Unchanged
}
