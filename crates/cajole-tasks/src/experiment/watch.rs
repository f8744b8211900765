//! How an experiment tells what it is doing, without knowing who listens.

/// Someone who follows a long piece of work.
pub trait Watch: Sync {
    /// A result worth a line of its own.
    fn say(&self, line: &str);

    /// A stretch of work with `length` parts begins.
    fn begin(&self, what: &str, length: u64);

    /// `done` of the parts are finished; `note` is what can be said so far.
    fn advance(&self, done: u64, note: &str);

    /// The stretch is over.
    fn end(&self);
}

/// Nobody.
pub struct Silent;

impl Watch for Silent {
    fn say(&self, _line: &str) {}
    fn begin(&self, _what: &str, _length: u64) {}
    fn advance(&self, _done: u64, _note: &str) {}
    fn end(&self) {}
}
