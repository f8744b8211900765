//! Weights that other programs have written: Hugging Face folders, and what any import needs.
//!
//! The files are untrusted: nothing in them is executed, memory use is bounded by the file size, and
//! malformed bytes are only ever an error. Other formats are those of the crate `cajole-import`, which
//! few need and which takes long to compile.

pub mod huggingface;
pub mod placing;

use std::path::{Path, PathBuf};

use cajole_files::IoError;

/// A row-major tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The dimensions; empty for a scalar.
    pub shape: Vec<usize>,
    /// As many as the product of the dimensions.
    pub values: Vec<f32>,
}

/// Why weights could not be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Truncated, or in another format.
    #[error("{path} is damaged or of another format: {problem}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The file asks for something other than tensors.
    #[error("{path} asks for {what}, which reading tensors does not need", path = path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The Python name or the instruction.
        what: String,
    },
    /// Something is missing from the file.
    #[error("{path} has no {name:?}", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The tensor, dataset or file within the archive.
        name: String,
    },
    /// A tensor has the wrong shape.
    #[error("{path}: {name:?} has shape {found:?}, not {expected:?}", path = path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The tensor or dataset.
        name: String,
        /// What the network needs.
        expected: Vec<usize>,
        /// What the file has.
        found: Vec<usize>,
    },
    /// A weight is not a finite number.
    #[error(
        "{path}: {name:?} has {value} at {at}; weights must be finite",
        path = path.display()
    )]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor or dataset.
        name: String,
        /// The position of the first such weight, row after row.
        at: usize,
        /// The weight.
        value: f32,
    },
    /// A tensor the network does not use.
    #[error("{path}: {name:?}, of shape {found:?}, has no place in the network", path = path.display())]
    Surplus {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A format that this build was made without.
    #[error(
        "{path}: this build reads no {format}: cargo build --release --features import",
        path = path.display()
    )]
    NotBuilt {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
    },
    /// Invalid or unsupported settings.
    #[error("{path}: {problem}", path = path.display())]
    Options {
        /// The file.
        path: PathBuf,
        /// The setting and its value.
        problem: String,
    },
}

/// Checks that all numbers of a tensor are finite.
///
/// # Errors
/// If one is not.
pub fn check_finite(path: &Path, name: &str, values: &[f32]) -> Result<(), ImportError> {
    let Some(at) = values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
    let (path, name) = (path.to_owned(), name.to_owned());
    Err(ImportError::NotFinite { path, name, at, value: values[at] })
}

/// Compares the shape of a tensor with what a network expects.
///
/// # Errors
/// If they differ.
pub fn check_shape(
    path: &Path,
    name: &str,
    found: &[usize],
    expected: &[usize],
) -> Result<(), ImportError> {
    if found == expected {
        return Ok(());
    }
    Err(ImportError::Shape {
        path: path.to_owned(),
        name: name.to_owned(),
        expected: expected.to_vec(),
        found: found.to_vec(),
    })
}

/// The error that a file is truncated or of another format.
pub fn damaged(path: &Path, problem: impl ToString) -> ImportError {
    ImportError::Damaged { path: path.to_owned(), problem: problem.to_string() }
}

/// The error that a file lacks a tensor, a dataset or a file within.
pub fn missing(path: &Path, name: &str) -> ImportError {
    ImportError::Missing { path: path.to_owned(), name: name.to_owned() }
}
