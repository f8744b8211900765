//! When a search has to stop looking.

use std::time::{Duration, Instant};

/// The time since a search began, and how much of it there is.
pub(super) struct Clock {
    started: Instant,
    deadline: Option<Duration>,
}

impl Clock {
    /// Starts now.
    pub(super) fn start(deadline: Option<Duration>) -> Self {
        Clock { started: Instant::now(), deadline }
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= self.started.elapsed())
    }
}
