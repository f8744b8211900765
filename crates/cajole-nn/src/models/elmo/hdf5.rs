//! HDF5 files, the format of ELMo's published weights.
//!
//! The `hdf5-reader` crate is pure Rust and checks every length against the file, so that a damaged
//! download is only an error.

use std::path::{Path, PathBuf};

use cajole_files::read_regular;
use hdf5_reader::error::Error;
use hdf5_reader::{Datatype, Hdf5File, OpenOptions};

use crate::import::{ImportError, Tensor, check_finite, check_shape, damaged, missing};

/// An HDF5 file, held in memory.
pub struct Hdf5 {
    path: PathBuf,
    file: Hdf5File,
}

impl Hdf5 {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read or is not HDF5.
    pub fn open(path: &Path) -> Result<Hdf5, ImportError> {
        Hdf5::from_bytes(path, read_regular(path)?)
    }

    /// Opens a file from its bytes; `path` is used in error messages.
    ///
    /// # Errors
    /// If it is not HDF5.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Hdf5, ImportError> {
        // Compressed datasets are larger than their file, but within limits.
        let largest = bytes.len().saturating_mul(64);
        let options = OpenOptions::default().with_max_read_bytes(largest);
        let file = Hdf5File::from_vec_with_options(bytes, options).map_err(|e| damaged(path, e))?;
        Ok(Hdf5 { path: path.to_owned(), file })
    }

    /// The dataset `name`, a path with slashes.
    ///
    /// # Errors
    /// If it is missing, damaged, or not floating-point.
    pub fn dataset(&self, name: &str) -> Result<Tensor, ImportError> {
        let path = &self.path;
        let dataset = self
            .file
            .dataset(name)
            .map_err(|e| if is_absence(&e) { missing(path, name) } else { damaged(path, e) })?;
        let array = match dataset.dtype() {
            Datatype::FloatingPoint { size: 4, .. } => dataset.read_array::<f32>(),
            Datatype::FloatingPoint { size: 8, .. } => {
                dataset.read_array::<f64>().map(|array| array.mapv(|v| v as f32))
            }
            other => return Err(damaged(path, format!("{name:?} holds {other:?}"))),
        };
        let array = array.map_err(|e| damaged(path, format!("{name:?}: {e}")))?;
        let shape = array.shape().to_vec();
        Ok(Tensor { shape, values: array.into_raw_vec_and_offset().0 })
    }

    /// The values of the dataset `name`, which must have this shape.
    ///
    /// # Errors
    /// As [`Hdf5::dataset`], or if the shape differs or a number is not finite.
    pub fn dataset_of(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ImportError> {
        let tensor = self.dataset(name)?;
        check_shape(&self.path, name, &tensor.shape, shape)?;
        check_finite(&self.path, name, &tensor.values)?;
        Ok(tensor.values)
    }
}

/// Whether the error means a missing dataset rather than a damaged file.
fn is_absence(mut error: &Error) -> bool {
    while let Error::Context { source, .. } = error {
        error = source;
    }
    matches!(error, Error::DatasetNotFound(_) | Error::GroupNotFound(_))
}
