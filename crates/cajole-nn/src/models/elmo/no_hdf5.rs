//! HDF5 files in a build without the feature `hdf5`: they are refused, so that a checkpoint with
//! ELMo says what it needs.

use std::convert::Infallible;
use std::path::Path;

use crate::import::{ImportError, Tensor};

/// An HDF5 file, of which there are none in this build.
pub struct Hdf5(Infallible);

impl Hdf5 {
    /// Opens a file.
    ///
    /// # Errors
    /// Always.
    pub fn open(path: &Path) -> Result<Hdf5, ImportError> {
        Hdf5::from_bytes(path, Vec::new())
    }

    /// Opens a file from its bytes; `path` is used in error messages.
    ///
    /// # Errors
    /// Always.
    pub fn from_bytes(path: &Path, _: Vec<u8>) -> Result<Hdf5, ImportError> {
        Err(ImportError::NotBuilt { path: path.to_owned(), format: "HDF5" })
    }

    /// The dataset `name`, a path with slashes.
    ///
    /// # Errors
    /// Never, as there is no file.
    pub fn dataset(&self, _name: &str) -> Result<Tensor, ImportError> {
        match self.0 {}
    }

    /// The values of the dataset `name`, which must have this shape.
    ///
    /// # Errors
    /// Never, as there is no file.
    pub fn dataset_of(&self, _name: &str, _shape: &[usize]) -> Result<Vec<f32>, ImportError> {
        match self.0 {}
    }
}
