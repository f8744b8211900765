//! The time of a search for one input.
//!
//! Some searches work on the inputs of a set one after another, others on all at once. Only the search
//! knows when it begins with an input: that is when it first asks whether time is up.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A clock that runs from the first look at it.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    within: Option<Duration>,
    /// The first look, and the last.
    looks: Cell<Option<(Instant, Instant)>>,
}

impl Clock {
    pub(crate) fn new(within: Option<Duration>) -> Self {
        Clock { within, looks: Cell::default() }
    }

    /// Whether time is up.
    pub(crate) fn is_up(&self) -> bool {
        let Some(within) = self.within else { return false };
        let now = Instant::now();
        let first = self.looks.get().map_or(now, |(first, _)| first);
        self.looks.set(Some((first, now)));
        within <= now - first
    }

    /// From the first look to the last.
    pub(crate) fn took(&self) -> Duration {
        self.looks.get().map_or(Duration::ZERO, |(first, last)| last - first)
    }
}
