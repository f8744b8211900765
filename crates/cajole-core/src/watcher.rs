//! A caller that waits for one input: it gets every decode, and may leave.

use crate::model::Symbol;
use crate::trace::Step;

/// Someone who waits for the output of one input.
pub trait Watcher: Sync {
    /// Whether nobody waits any more. The input then ends before its next step, as
    /// [`Stop::Cancelled`](crate::Stop::Cancelled); others in the same set continue.
    fn has_left(&self) -> bool {
        false
    }

    /// Called with each decode as soon as its violation is known.
    fn decoded(&self, step: &Step, output: &[Symbol]) {
        let _ = (step, output);
    }
}
