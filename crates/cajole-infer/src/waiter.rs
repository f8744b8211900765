//! A caller that waits for the record of a line: how long, whether still, and whether it wants
//! steps.
//!
//! Lines of a file have no waiter. A request to a service has one: a client may have a deadline, hang
//! up, or watch.

use std::fmt;
use std::time::Instant;

use cajole_core::{Constraint, Step, Symbol, Watcher};
use cajole_rules::Rules;
use serde_json::{Map, Value};

use crate::case::Case;
use crate::task::Task;
use crate::traced;

/// Someone who waits for the record of one line.
pub trait Waiter: fmt::Debug + Send + Sync {
    /// When to settle for the best output so far.
    fn until(&self) -> Option<Instant> {
        None
    }

    /// Whether nobody waits any more: the line is given up between two steps.
    fn has_left(&self) -> bool {
        false
    }

    /// Whether to report steps.
    fn watches(&self) -> bool {
        false
    }

    /// Called with each step of the `answer`-th input of the line, as traces have it.
    fn step(&self, answer: usize, step: Map<String, Value>) {
        let _ = (answer, step);
    }
}

/// One input of a line that someone waits for.
pub(crate) struct Watched<'a> {
    pub(crate) task: &'a dyn Task,
    pub(crate) case: &'a Case,
    pub(crate) rules: &'a Rules,
    /// Which input of its line it is.
    pub(crate) answer: usize,
    pub(crate) waiter: &'a dyn Waiter,
}

impl Watched<'_> {
    /// When to give up.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.waiter.until()
    }
}

impl Watcher for Watched<'_> {
    fn has_left(&self) -> bool {
        self.waiter.has_left()
    }

    fn decoded(&self, step: &Step, output: &[Symbol]) {
        if self.waiter.watches() {
            let faults = self.rules.explain(&self.case.subject, output);
            self.waiter
                .step(self.answer, traced::step(self.task, self.case, output, &faults, step));
        }
    }
}
