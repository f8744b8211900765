//! From lines to records: the one function behind `infer`, `parse`, `tag`, a service and Python.
//!
//! [`Answering::answer`] takes some lines and gives a [`Record`] for each. It takes many lines at a
//! time, so that the first pass reads the weights once for all of them and outputs that violate
//! their rules are repaired in step. The record of a line does not depend on the others.

use std::sync::Arc;

use cajole_core::{Candidate, Constraint, Failure, UnknownParameter, Workspace};
use cajole_rules::{Cache, RuleText, Rules};
use serde_json::Value;

use crate::attempt::{g_of, own};
use crate::engine::{Answer, Status};
use crate::line::{Line, LineError};
pub use crate::record::{Answered, Record, faults_json};
use crate::settings::Settings;
use crate::task::{Case, Task};
pub use crate::traced::Traced;
use crate::waiter::{Awaited, Waiter};
use crate::worker::{Failing, First, Worker};

/// One thread's share of answering lines.
pub struct Answering<'t, T: Task> {
    task: &'t T,
    rules: Option<&'t Rules>,
    settings: &'t Settings,
    worker: Worker<'t, T>,
    traces: bool,
    log_probs: bool,
}

/// What the outputs of a line must satisfy.
enum LineRules<'t> {
    /// The rules of the run.
    Usual(&'t Rules),
    /// Rules that the line brought.
    Own(Arc<Rules>),
}

impl LineRules<'_> {
    fn get(&self) -> &Rules {
        match self {
            LineRules::Usual(rules) => rules,
            LineRules::Own(rules) => rules,
        }
    }
}

/// A line that was read.
struct Asked<'t, I> {
    /// Its inputs.
    cases: Vec<Case<I>>,
    /// The rules they are under.
    rules: LineRules<'t>,
    /// Who waits for it.
    waiter: Option<Arc<dyn Waiter>>,
}

/// One input, the rules it is under, and who waits for it.
type One<'a, T> = (&'a Case<<T as Task>::Input>, &'a Rules, Option<Awaited<'a, T>>);

impl<I> Asked<'_, I> {
    /// Each of its inputs.
    fn each<'a, T: Task<Input = I>>(&'a self, task: &'a T) -> impl Iterator<Item = One<'a, T>> {
        let (rules, waiter) = (self.rules.get(), self.waiter.as_deref());
        self.cases.iter().enumerate().map(move |(answer, case)| {
            let awaited = waiter.map(|waiter| Awaited { task, case, rules, answer, waiter });
            (case, rules, awaited)
        })
    }
}

impl<'t, T: Task> Answering<'t, T> {
    /// For outputs that must satisfy `rules`, except those of lines that bring their own.
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    pub fn new(
        task: &'t T,
        rules: Option<&'t Rules>,
        settings: &'t Settings,
    ) -> Result<Self, UnknownParameter> {
        Answering::within(task, rules, settings, Workspace::new(task.model()))
    }

    /// The same, reusing memory.
    pub(crate) fn within(
        task: &'t T,
        rules: Option<&'t Rules>,
        settings: &'t Settings,
        workspace: Workspace<T::Model>,
    ) -> Result<Self, UnknownParameter> {
        let worker = Worker::within(task, settings, workspace)?;
        Ok(Answering { task, rules, settings, worker, traces: false, log_probs: false })
    }

    /// The memory, for reuse.
    pub(crate) fn into_workspace(self) -> Workspace<T::Model> {
        self.worker.into_workspace()
    }

    /// Also gives the trace of every repair.
    #[must_use]
    pub fn with_traces(self, traces: bool) -> Self {
        Answering { traces, ..self }
    }

    /// Also reports how probable the network finds every output.
    #[must_use]
    pub fn with_log_probs(self, log_probs: bool) -> Self {
        Answering { log_probs, ..self }
    }

    /// Answers lines, in order. A bad line costs only its own record.
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
            let answers = asked.map(|Asked { cases, rules, waiter }| {
                // Nobody reads the trace if the waiter has left, and long ones take long to make.
                let traces = self.traces && !waiter.is_some_and(|waiter| waiter.has_left());
                let answers = answers.by_ref().take(cases.len());
                let both = cases.into_iter().zip(answers);
                both.map(|(case, answer)| self.answered(&case, rules.get(), answer, traces))
                    .collect()
            });
            Record { line, id, answers, is_one: T::IS_ONE_A_LINE }
        });
        records.collect()
    }

    /// Reads a line: its inputs and its rules.
    fn read(&self, line: &Line) -> Result<Asked<'t, T::Input>, LineError> {
        line.check_fields()?;
        let rules = match line.constraint() {
            Some(own) => LineRules::Own(own_rules(self.task, own)?),
            None => LineRules::Usual(self.rules.ok_or(LineError::NoRules)?),
        };
        let cases = self.task.cases(line, rules.get())?;
        Ok(Asked { cases, rules, waiter: line.waiter.clone() })
    }

    /// The answer to every input of these lines, in order.
    fn repaired(&mut self, asked: &[Result<Asked<'t, T::Input>, LineError>]) -> Vec<Answer> {
        let task = self.task;
        let lines = asked.iter().filter_map(|asked| asked.as_ref().ok()).enumerate();
        let all = lines.flat_map(|(line, asked)| asked.each(task).map(move |of| (line, of)));
        let (lines, of): (Vec<usize>, Vec<_>) = all.unzip();
        let cases: Vec<&Case<T::Input>> = of.iter().map(|(case, ..)| *case).collect();
        let until = |i: usize| of[i].2.as_ref().and_then(Awaited::until);
        let firsts = self.worker.firsts(&cases, &lines, until);
        let mut answers: Vec<Answer> =
            of.iter().zip(&firsts).map(|((case, rules, _), f)| first((case, rules), f)).collect();
        let mut n_failing = vec![0; asked.len()];
        let failed = lines.iter().zip(&answers).filter(|(_, answer)| is_failing(answer));
        failed.for_each(|(&line, _)| n_failing[line] += 1);
        let failing = |i: usize| {
            let (case, rules, awaited) = &of[i];
            let first = firsts[i].as_ref().ok().filter(|_| is_failing(&answers[i]))?;
            let First { output, used } = first;
            let (line, among) = (lines[i], n_failing[lines[i]]);
            let awaited = awaited.as_ref();
            let failing = Failing { case, first: output, line, used: *used, among, awaited };
            Some((i, (failing, *rules)))
        };
        let (which, failing): (Vec<usize>, Vec<_>) = (0..of.len()).filter_map(failing).unzip();
        let repaired = self.worker.repair_all(self.settings.engine, &failing);
        which.into_iter().zip(repaired).for_each(|(i, answer)| answers[i] = answer);
        if self.log_probs {
            let all = cases.into_iter().zip(&mut answers);
            self.worker.judge(all.filter(|(_, answer)| answer.failure.is_none()).collect());
        }
        answers
    }

    fn answered(
        &self,
        case: &Case<T::Input>,
        rules: &Rules,
        answer: Answer,
        traces: bool,
    ) -> Answered {
        let mut fields = self.task.about(case);
        fields.extend(self.task.record(case, &answer.output));
        let moves = &self.settings.config.moves;
        let trace = traces.then(|| Traced::of(self.task, case, rules, &answer, moves));
        let trace = trace.flatten();
        Answered { answer, fields, trace, says_log_prob: self.log_probs }
    }
}

/// The rules that a line brings, compiled once for all lines that bring the same.
pub(crate) fn own_rules<T: Task>(task: &T, value: &Value) -> Result<Arc<Rules>, LineError> {
    Ok(Cache::shared().compile(&RuleText::of_json(value)?, task.vocabulary())?)
}

/// The network's own output as an answer: final, if it satisfies or cannot be measured.
fn first<I>((case, rules): (&Case<I>, &Rules), first: &Result<First, Failure>) -> Answer {
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
