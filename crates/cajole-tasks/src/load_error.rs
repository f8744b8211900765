//! Why a checkpoint cannot be used, or training cannot continue.

use std::path::PathBuf;

use cajole_files::{FileError, IoError, TextError};
use cajole_nn::checkpoint::CheckpointError;
use cajole_nn::import::ImportError;

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The weights are unusable.
    #[error(transparent)]
    Weights(#[from] CheckpointError),
    /// Imported weights in the folder are unusable.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A text file is missing or cannot be read.
    #[error(transparent)]
    Read(#[from] TextError),
    /// A file is missing or cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// `config.json` is malformed.
    #[error("{path}: {source}", path = path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The JSON error, with its position.
        source: serde_json::Error,
    },
    /// A file cannot be written, or may not be replaced.
    #[error(transparent)]
    Files(#[from] FileError),
    /// The size of a vocabulary disagrees with the architecture.
    #[error("{path} has {entries} entries, but the network has {expected}", path = path.display())]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// How many entries it has.
        entries: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A network has too few output symbols for its task.
    #[error("{path}: {n_symbols} output symbols, of at least {least}", path = path.display())]
    FewSymbols {
        /// The file that says so.
        path: PathBuf,
        /// How many there are.
        n_symbols: usize,
        /// How many there must be.
        least: usize,
    },
    /// An entry of a vocabulary is invalid.
    #[error("{path}:{line}: the entry {entry:?} {why}", path = path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The entry.
        entry: String,
        /// What is wrong with it.
        why: String,
    },
    /// A tag list is invalid.
    #[error("{path}: {source}", path = path.display())]
    Tags {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: cajole_core::constraints::TagSetError,
    },
    /// The folder contains an unfinished training run with other settings.
    #[error(
        "{path} belongs to an unfinished run, and this has changed since: {what}; name another \
         folder, or begin anew with --overwrite",
        path = path.display()
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The names of what has changed.
        what: String,
    },
    /// Weights have overflowed in training.
    #[error(
        "training diverged in epoch {epoch}: the tensor {tensor:?} has {value}; nothing of this epoch \
         is kept, try a smaller training.step-size"
    )]
    Diverged {
        /// The epoch.
        epoch: usize,
        /// The first tensor with such a weight.
        tensor: String,
        /// The weight.
        value: f32,
    },
    /// The settings describe a network that is too large.
    #[error("the network would have {weights} weights; the limit is 2³²")]
    TooManyWeights {
        /// How many weights it would have.
        weights: usize,
    },
    /// Any other reason, for tasks of your own.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// The checkpoint is for another task.
    #[error("{path} is a checkpoint for the task {task:?}, not {expected:?}", path = path.display())]
    OtherTask {
        /// The file.
        path: PathBuf,
        /// Its task.
        task: String,
        /// The expected task.
        expected: &'static str,
    },
}

impl LoadError {
    /// Any other reason: a message, or an error of your own.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        LoadError::Other(error.into())
    }
}
