//! Imports published weights: Hugging Face folders, PyTorch checkpoints, AllenNLP archives, HDF5 files.
//!
//! Published networks come as Python pickles and as HDF5. Both become named [`Tensor`]s of `f32`;
//! mapping them to parameters is up to the network. The files are untrusted: nothing in them is
//! executed, memory use is bounded by the file size, and malformed bytes are only ever an error.
//!
//! Hugging Face folders are always read; everything else needs the feature `import`, because few need
//! it and its readers take long to compile.

#[cfg(feature = "import")]
pub mod allennlp;
#[cfg_attr(not(feature = "import"), path = "no_hdf5.rs")]
pub mod hdf5;
pub mod huggingface;
#[cfg(feature = "import")]
mod pickle;
mod placing;
#[cfg(feature = "import")]
pub mod torch;
#[cfg(feature = "import")]
pub mod torch_transformer;

use std::collections::BTreeMap;
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

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

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

/// The tensor `name` of the file `path`.
///
/// # Errors
/// If it is missing, has another shape, or holds a number that is not finite.
pub fn expect<'t>(
    tensors: &'t Tensors,
    path: &Path,
    name: &str,
    shape: &[usize],
) -> Result<&'t Tensor, ImportError> {
    let tensor = tensors.get(name).ok_or_else(|| missing(path, name))?;
    check_shape(path, name, &tensor.shape, shape)?;
    check_finite(path, name, &tensor.values)?;
    Ok(tensor)
}

fn check_finite(path: &Path, name: &str, values: &[f32]) -> Result<(), ImportError> {
    let Some(at) = values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
    let (path, name) = (path.to_owned(), name.to_owned());
    Err(ImportError::NotFinite { path, name, at, value: values[at] })
}

fn check_shape(
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

pub(crate) fn damaged(path: &Path, problem: impl ToString) -> ImportError {
    ImportError::Damaged { path: path.to_owned(), problem: problem.to_string() }
}

fn missing(path: &Path, name: &str) -> ImportError {
    ImportError::Missing { path: path.to_owned(), name: name.to_owned() }
}
