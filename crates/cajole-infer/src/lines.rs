//! From lines to records: the one way behind `infer`, `parse`, `tag`, the service and Python.
//!
//! [`Answering::answer`] takes some lines and gives a [`Record`] for each. It takes many lines at a
//! time, so that the first pass reads the weights once for all of them and outputs that violate
//! their rules are repaired in step. The record of a line does not depend on the others.

use std::sync::Arc;

use cajole_core::UnknownParameter;
use cajole_rules::Rules;

use crate::answer::Answer;
use crate::case::Case;
use crate::driver::Driver;
use crate::input::Input;
use crate::line::{Line, LineError};
use crate::record::{Answered, Record};
use crate::settings::Settings;
use crate::solver::Solver;
use crate::task::Task;
use crate::traced::Traced;
use crate::waiter::{Waiter, Watched};

/// One thread's share of answering lines.
pub struct Answering<'t> {
    rules: Option<Arc<Rules>>,
    driver: Driver<'t>,
}

/// A line that was read: its inputs, the rules on them, and who waits for the record.
struct Read {
    cases: Vec<Case>,
    rules: Arc<Rules>,
    waiter: Option<Arc<dyn Waiter>>,
}

impl<'t> Answering<'t> {
    /// For outputs that must satisfy `rules`, except those of lines that bring their own.
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    pub fn new(
        task: &'t dyn Task,
        rules: Option<Arc<Rules>>,
        settings: &Settings,
    ) -> Result<Self, UnknownParameter> {
        Answering::with_memory(task, rules, settings, task.solver())
    }

    /// Like [`Answering::new`], with memory that is reused.
    pub(crate) fn with_memory(
        task: &'t dyn Task,
        rules: Option<Arc<Rules>>,
        settings: &Settings,
        memory: Box<dyn Solver + 't>,
    ) -> Result<Self, UnknownParameter> {
        let driver = Driver::with_memory(task, settings, memory)?;
        Ok(Answering { rules, driver })
    }

    /// The memory, for reuse.
    pub(crate) fn into_memory(self) -> Box<dyn Solver + 't> {
        self.driver.into_memory()
    }

    /// Answers lines, in order. A bad line costs only its own record.
    pub fn answer(&mut self, lines: Vec<Result<Line, (u64, LineError)>>) -> Vec<Record> {
        let mut records = Vec::with_capacity(lines.len());
        let mut read = Vec::with_capacity(lines.len());
        let is_one = self.driver.task.is_one_a_line();
        for line in lines {
            let (number, id, result) = match line {
                Ok(line) => {
                    let line = line.with_max_tokens(self.driver.settings.max_tokens);
                    (line.number, line.id().cloned(), self.read(&line))
                }
                Err((number, error)) => (number, None, Err(error)),
            };
            let (answers, inputs) = match result {
                Ok(inputs) => (Ok(Vec::new()), Some(inputs)),
                Err(error) => (Err(error), None),
            };
            records.push(Record { line: number, id, answers, is_one });
            read.push(inputs);
        }
        self.fill(&read, &mut records);
        records
    }

    /// Answers the inputs of the lines that were read, each in the record of its line.
    fn fill(&mut self, read: &[Option<Read>], records: &mut [Record]) {
        let task = self.driver.task;
        let mut watched = Vec::new();
        for read in read.iter().flatten() {
            for (answer, case) in read.cases.iter().enumerate() {
                let waiter = read.waiter.as_deref();
                let rules = &*read.rules;
                watched.push(waiter.map(|waiter| Watched { task, case, rules, answer, waiter }));
            }
        }
        let mut inputs: Vec<Input<'_>> = Vec::with_capacity(watched.len());
        for (line, read) in read.iter().flatten().enumerate() {
            for case in &read.cases {
                let input = Input::new(case, &read.rules, line);
                inputs.push(match &watched[inputs.len()] {
                    Some(watched) => input.awaited(watched, watched.until()),
                    None => input,
                });
            }
        }
        let mut answers = self.driver.answer(&mut inputs).into_iter();
        for (read, record) in read.iter().zip(records) {
            let (Some(read), Ok(of_line)) = (read, &mut record.answers) else { continue };
            for (case, answer) in read.cases.iter().zip(answers.by_ref()) {
                of_line.push(self.answered(case, read, answer));
            }
        }
    }

    /// Reads a line: its inputs and its rules.
    fn read(&self, line: &Line) -> Result<Read, LineError> {
        line.check_fields()?;
        let own = line.rules(self.driver.task.vocabulary())?;
        let rules = own.or_else(|| self.rules.clone()).ok_or(LineError::NoRules)?;
        let cases = self.driver.task.cases(line, &rules)?;
        Ok(Read { cases, rules, waiter: line.waiter.clone() })
    }

    fn answered(&self, case: &Case, read: &Read, answer: Answer) -> Answered {
        let Driver { task, settings, .. } = &self.driver;
        let mut fields = task.about(case);
        fields.extend(task.record(case, &answer.output));
        // Nobody reads the trace if the waiter has left, and long ones take long to make.
        let has_left = read.waiter.as_ref().is_some_and(|waiter| waiter.has_left());
        let is_traced = settings.traces && !has_left;
        let trace = is_traced
            .then(|| Traced::new(*task, case, &read.rules, &answer, &settings.config.moves))
            .flatten();
        Answered { answer, fields, trace, says_log_prob: settings.log_probs }
    }
}
