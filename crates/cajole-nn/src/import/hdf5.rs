//! HDF5 files, as TensorFlow-era projects publish their weights.
//!
//! The format is read by the `hdf5-reader` crate, which is Rust throughout and checks every
//! length against the file. Should it panic all the same, that too becomes an error here: a
//! damaged download must not take the program down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use hdf5_reader::error::{Error, Result as ReaderResult};
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
        let file = guarded(path, || Hdf5File::from_vec_with_options(bytes, options))?;
        Ok(Hdf5 { path: path.to_owned(), file })
    }

    /// The dataset `name`, a path with slashes.
    ///
    /// # Errors
    /// If it is not there, is damaged, or holds no floating-point numbers.
    pub fn dataset(&self, name: &str) -> Result<Tensor, ImportError> {
        let path = &self.path;
        let dataset = catch(path, || self.file.dataset(name))?.map_err(|e| match e {
            Error::DatasetNotFound(_) | Error::GroupNotFound(_) => missing(path, name),
            other => damaged(path, other),
        })?;
        let array = match dataset.dtype() {
            Datatype::FloatingPoint { size: 8, .. } => {
                guarded(path, || dataset.read_array::<f64>())?.mapv(|v| v as f32)
            }
            Datatype::FloatingPoint { size: 4, .. } => {
                guarded(path, || dataset.read_array::<f32>())?
            }
            other => return Err(damaged(path, format!("{name:?} holds {other:?}"))),
        };
        Ok(Tensor { shape: array.shape().to_vec(), values: array.into_iter().collect() })
    }

    /// The dataset `name`, which has to have this shape.
    ///
    /// # Errors
    /// As [`Hdf5::dataset`], and if the shape is another.
    pub fn dataset_of(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ImportError> {
        let tensor = self.dataset(name)?;
        check_shape(&self.path, name, &tensor.shape, shape)?;
        Ok(tensor.values)
    }
}

fn guarded<T>(path: &Path, read: impl FnOnce() -> ReaderResult<T>) -> Result<T, ImportError> {
    catch(path, read)?.map_err(|e| damaged(path, e))
}

fn catch<T>(path: &Path, read: impl FnOnce() -> T) -> Result<T, ImportError> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| damaged(path, "the HDF5 reader gave up"))
}
