//! Networks that emit one symbol at a time, as searches see them.
//!
//! Greedy, beam, masked, best-first and sampling search are written against this interface, so any
//! backend gets all of them. A pass has rows: first one per input, then one per hypothesis. `B`
//! inputs, `R` rows, `V` symbols.
//!
//! 1. [`begin`](Stepper::begin): encode the inputs; one row each.
//! 2. [`step`](Stepper::step): extend every row by a symbol; get the log-probabilities of the next.
//! 3. [`reorder`](Stepper::reorder): choose the rows to continue.
//! 4. [`mark`](Stepper::mark): locate a recorded log-probability, for the backward pass.

use crate::backend_error::BackendError;
use crate::model::{Mark, Model, Pass, Symbol};

/// Whether a pass is recorded for a backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// It replaces the current recording.
    Kept,
    /// It leaves the current recording untouched and needs the memory of one step only.
    None,
}

/// A network `p(y | x) = Π_t p(y_t | y_<t, x)` that can be run step by step.
pub trait Stepper: Model {
    /// `V`: number of symbols, including the end symbol.
    fn n_symbols(&self) -> usize;

    /// The end symbol. It also serves as the start symbol.
    fn end(&self) -> Symbol;

    /// Length limit of an output for `x`, including its end symbol.
    fn cap(&self, x: &Self::Input) -> usize;

    /// Encodes the inputs, each under its own weights. Row `i` belongs to input `i`.
    ///
    /// # Errors
    /// If the backend fails.
    fn begin(
        &self,
        scratch: &mut Self::Scratch,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError>;

    /// Extends row `i` by `symbols[i]`, initially the end symbol, and writes the log-probabilities
    /// `(R, V)` of the next symbols.
    ///
    /// # Errors
    /// If the backend fails.
    fn step(
        &self,
        scratch: &mut Self::Scratch,
        set: &[Pass<'_, Self>],
        symbols: &[Symbol],
        log_probs: &mut Vec<f32>,
    ) -> Result<(), BackendError>;

    /// Continues with these rows, in this order. A row may be chosen several times, or not at all.
    ///
    /// # Errors
    /// If the backend fails.
    fn reorder(&self, scratch: &mut Self::Scratch, rows: &[u32]) -> Result<(), BackendError>;

    /// Where the last step recorded `log p` of `symbol` in `row`.
    fn mark(&self, scratch: &Self::Scratch, row: usize, symbol: Symbol) -> Mark;

    /// Saves every current row; saved rows are numbered from 0 since `begin`. Only in unrecorded
    /// passes.
    ///
    /// # Errors
    /// If the backend fails.
    fn save(&self, scratch: &mut Self::Scratch) -> Result<(), BackendError>;

    /// Continues with these saved rows.
    ///
    /// # Errors
    /// If the backend fails.
    fn recall(&self, scratch: &mut Self::Scratch, saved: &[u32]) -> Result<(), BackendError>;
}
