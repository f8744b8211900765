//! One input of a batch: a case, the rules on it, and how much may be spent on it.

use std::time::{Duration, Instant};

use cajole_core::{Cancel, Wanted, Watcher};
use cajole_rules::Rules;

use crate::case::Case;
use crate::time::Time;

/// One input of a batch, as the driver works on it.
pub struct Input<'a> {
    /// The input.
    pub case: &'a Case,
    /// The rules on its output.
    pub rules: &'a Rules,
    /// The number of its line in the batch: the inputs of a line share its time.
    pub line: usize,
    /// The same rules as the core's searches query them.
    pub(crate) wanted: Wanted<'a>,
    /// How much of its line's time was used up by the first pass.
    pub(crate) used: Duration,
    /// The time that is left for its repair.
    pub(crate) time: Time,
}

impl<'a> Input<'a> {
    /// An input under these rules, on the line of this number.
    pub fn new(case: &'a Case, rules: &'a Rules, line: usize) -> Self {
        let wanted = Wanted::new(&case.subject, rules);
        let time = Time { until: None, left: None };
        Input { case, rules, line, wanted, used: Duration::ZERO, time }
    }

    /// With a caller that waits for it, until this instant.
    #[must_use]
    pub(crate) fn awaited(mut self, watcher: &'a dyn Watcher, until: Option<Instant>) -> Self {
        self.wanted.watcher = Some(watcher);
        self.wanted.until = until;
        self
    }

    /// Prepares for a plan: nothing is known yet, and `left` is all the time there is.
    pub(crate) fn begin(&mut self, left: Option<Duration>, cancel: &Cancel) {
        let until = if self.wanted.has_left() { Some(Instant::now()) } else { self.wanted.until };
        self.time = Time { until, left };
        self.wanted.until = until;
        self.wanted.targets = None;
        self.wanted.cancel = Some(cancel.clone());
    }
}
