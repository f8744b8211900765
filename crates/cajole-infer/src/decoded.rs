//! The network's own outputs for many inputs, and what an engine makes of those that violate.
//!
//! Comparisons, evaluations and experiments are tables over this: what they measure is the code that
//! answers lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cajole_core::corpus::{BATCH, in_parallel};
use cajole_core::{Constraint, Symbol, UnknownParameter};
use cajole_rules::Rules;
use cajole_tasks::Watch;

use crate::answer::{Answer, Status};
use crate::case::Case;
use crate::driver::Driver;
use crate::input::Input;
use crate::settings::Settings;
use crate::task::Task;

/// Inputs that a thread takes at a time.
const LOT: usize = 3 * BATCH;

/// An input with the rules on it, and the network's own output.
#[derive(Clone)]
pub struct Decoded {
    /// The input.
    pub case: Case,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The network's own output, as an answer.
    pub own: Answer,
}

impl Decoded {
    /// An output of the network's that is known, under these rules.
    pub fn known(case: Case, rules: Arc<Rules>, output: Vec<Symbol>, log_prob: f32) -> Self {
        let g = rules.check(&case.subject, &output).total();
        Decoded { case, rules, own: Answer::own(output, Some(log_prob), g) }
    }

    /// Whether the network's own output violates the rules.
    pub fn is_failure(&self) -> bool {
        self.own.is_failing()
    }
}

/// Decodes inputs, each with its rules, on all threads.
///
/// # Errors
/// If the settings name parameters that the network does not have.
pub fn decode(
    task: &dyn Task,
    settings: &Settings,
    inputs: Vec<(Case, Arc<Rules>)>,
    watch: &dyn Watch,
) -> Result<Vec<Decoded>, UnknownParameter> {
    let own = in_lots(task, settings, &inputs, watch, |driver, lot| {
        let each = lot.iter().enumerate();
        let mut inputs: Vec<Input<'_>> =
            each.map(|(i, (case, rules))| Input::new(case, rules, i)).collect();
        driver.own_outputs(&mut inputs)
    })?;
    let both = inputs.into_iter().zip(own);
    Ok(both.map(|((case, rules), own)| Decoded { case, rules, own }).collect())
}

/// The answers to failures, by the engine of the settings. Each has all the time there is.
///
/// # Errors
/// If the settings name parameters that the network does not have.
pub fn repair(
    task: &dyn Task,
    settings: &Settings,
    failures: &[&Decoded],
    watch: &dyn Watch,
) -> Result<Vec<Answer>, UnknownParameter> {
    in_lots(task, settings, failures, watch, |driver, lot| {
        let each = lot.iter().enumerate();
        let mut inputs: Vec<Input<'_>> =
            each.map(|(i, failure)| Input::new(&failure.case, &failure.rules, i)).collect();
        let own: Vec<Answer> = lot.iter().map(|failure| failure.own.clone()).collect();
        driver.repair_failures(&mut inputs, own)
    })
}

/// Works on inputs in lots, on all threads, each with a driver.
fn in_lots<T: Sync>(
    task: &dyn Task,
    settings: &Settings,
    all: &[T],
    watch: &dyn Watch,
    work: impl Fn(&mut Driver<'_>, &[T]) -> Vec<Answer> + Sync,
) -> Result<Vec<Answer>, UnknownParameter> {
    task.check(settings)?;
    let (done, satisfied) = (AtomicU64::new(0), AtomicU64::new(0));
    let lots: Vec<&[T]> = all.chunks(LOT).collect();
    let answers = in_parallel(
        lots.len(),
        || Driver::new(task, settings),
        |driver, i| {
            let answers = match driver {
                Ok(driver) => work(driver, lots[i]),
                Err(_) => return Vec::new(), // the settings were checked
            };
            let n_satisfied = answers.iter().filter(|a| a.status == Status::Satisfied).count();
            let satisfied =
                n_satisfied as u64 + satisfied.fetch_add(n_satisfied as u64, Ordering::Relaxed);
            let n = answers.len() as u64;
            let done = n + done.fetch_add(n, Ordering::Relaxed);
            watch.advance(done, &format!("{satisfied} satisfy"));
            answers
        },
    );
    Ok(answers.into_iter().flatten().collect())
}
