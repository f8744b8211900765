//! Reports progress without knowing who listens.

/// An observer of a long-running job.
pub trait Watch: Sync {
    /// Reports a result on a line of its own.
    fn say(&self, line: &str);

    /// Starts a stage of work with `length` steps.
    fn begin(&self, what: &str, length: u64);

    /// `done` steps are finished; `note` is an interim result.
    fn advance(&self, done: u64, note: &str);

    /// Ends the stage.
    fn end(&self);
}

/// Ignores everything.
pub struct Silent;

impl Watch for Silent {
    fn say(&self, _line: &str) {}
    fn begin(&self, _what: &str, _length: u64) {}
    fn advance(&self, _done: u64, _note: &str) {}
    fn end(&self) {}
}

/// Calls a function whenever a step is finished, and ignores everything else.
pub struct OnAdvance<F>(pub F);

impl<F: Fn() + Sync> Watch for OnAdvance<F> {
    fn say(&self, _line: &str) {}
    fn begin(&self, _what: &str, _length: u64) {}
    fn advance(&self, _done: u64, _note: &str) {
        (self.0)();
    }
    fn end(&self) {}
}
