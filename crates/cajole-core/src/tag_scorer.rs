//! Networks that tag every position of the input, as searches see them.
//!
//! Tags are independent of each other given the input, so one pass yields the log-probabilities of
//! all outputs at once. Searches choose among them without running the network again. `T`
//! positions, `V` tags.

use crate::backend_error::BackendError;
use crate::model::{Mark, Model, Pass, Symbol};
use crate::stepper::Recording;

/// A network `p(y | x) = Π_t p(y_t | x)`.
pub trait TagScorer: Model {
    /// `V`.
    fn n_tags(&self) -> usize;

    /// Runs the network over the inputs, each under its own weights. Input `i` has place `i`.
    ///
    /// # Errors
    /// If the backend fails.
    fn read(
        &self,
        scratch: &mut Self::Scratch,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError>;

    /// Writes the log-probabilities `(T, V)` of the input at `place` in the last pass of this kind;
    /// none if its deadline cut the pass off.
    fn scores(
        &self,
        scratch: &Self::Scratch,
        recording: Recording,
        place: usize,
        scores: &mut Vec<f32>,
    );

    /// Where the recording holds `log p` of `tag` at position `t` of the input at `place`.
    fn mark(&self, scratch: &Self::Scratch, place: usize, t: usize, tag: Symbol) -> Mark;
}
