//! Backend failures.

use std::fmt::Display;

/// A model or decoder call failed: a GPU ran out of memory, a callback raised an exception.
///
/// It ends the input it belongs to, with [`Stop::Failed`](crate::Stop::Failed). Other inputs
/// continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BackendError(String);

impl BackendError {
    /// A failure with this message.
    pub fn new(message: impl Display) -> Self {
        BackendError(message.to_string())
    }
}
