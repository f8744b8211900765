//! HDF5 files, in which ELMo's weights are published.
//!
//! The format is read by the `hdf5-reader` crate, which is Rust throughout and checks every length
//! against the file, so that a damaged download is an error and no more.

use std::path::{Path, PathBuf};

use hdf5_reader::error::Error;
use hdf5_reader::{Datatype, Hdf5File, OpenOptions};

use super::{ImportError, Tensor, check_shape, damaged, missing, read_file};

/// An HDF5 file, held in memory.
pub struct Hdf5 {
    path: PathBuf,
    file: Hdf5File,
}

impl Hdf5 {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read or is no HDF5.
    pub fn open(path: &Path) -> Result<Hdf5, ImportError> {
        Hdf5::from_bytes(path, read_file(path)?)
    }

    /// Opens a file that has been read; errors call it `path`.
    ///
    /// # Errors
    /// If it is no HDF5.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Hdf5, ImportError> {
        // Compressed datasets are larger than their file, but not without end.
        let largest = bytes.len().saturating_mul(64);
        let options = OpenOptions::default().with_max_read_bytes(largest);
        let file = Hdf5File::from_vec_with_options(bytes, options).map_err(|e| damaged(path, e))?;
        Ok(Hdf5 { path: path.to_owned(), file })
    }

    /// The dataset `name`, a path with slashes.
    ///
    /// # Errors
    /// If it is not there, is damaged, or holds no floating-point numbers.
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

    /// The numbers of the dataset `name`, which has to have this shape.
    ///
    /// # Errors
    /// As [`Hdf5::dataset`], and if the shape is another.
    pub fn dataset_of(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ImportError> {
        let tensor = self.dataset(name)?;
        check_shape(&self.path, name, &tensor.shape, shape)?;
        Ok(tensor.values)
    }
}

/// Whether the file is whole but lacks what was asked for.
fn is_absence(mut error: &Error) -> bool {
    while let Error::Context { source, .. } = error {
        error = source;
    }
    matches!(error, Error::DatasetNotFound(_) | Error::GroupNotFound(_))
}
