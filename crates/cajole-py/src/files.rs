//! Files that a Python program writes as the commands write theirs.

use std::io::Write;
use std::path::PathBuf;

use cajole_files::{FileError, Once, Reads, claim};
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::error::with_causes;

/// A file that appears when it is complete.
///
/// It never replaces what is in `reads`, and other files only if `overwrite` is set.
#[pyclass(module = "cajole._native")]
pub(crate) struct WholeFile {
    path: PathBuf,
    file: Option<Once>,
}

#[pymethods]
impl WholeFile {
    #[new]
    #[pyo3(signature = (path, *, reads, overwrite = false))]
    fn new(path: PathBuf, reads: Vec<PathBuf>, overwrite: bool) -> PyResult<Self> {
        let mut known = Reads::default();
        reads.iter().for_each(|path| known.add(path));
        claim(&path, &known, overwrite).map_err(file_error)?;
        let file = Once::begin(&path, known, overwrite).map_err(file_error)?;
        Ok(WholeFile { path, file: Some(file) })
    }

    /// Appends some bytes.
    fn write(&mut self, bytes: &[u8]) -> PyResult<()> {
        let file = self.file.as_mut().ok_or_else(finished)?;
        file.write_all(bytes).map_err(|error| file_error(FileError::io(&self.path)(error)))
    }

    /// Lets the file appear.
    fn finish(&mut self) -> PyResult<()> {
        self.file.take().ok_or_else(finished)?.finish().map_err(file_error)
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the file is finished")
}

fn file_error(error: FileError) -> PyErr {
    let text = with_causes(&error);
    match error {
        FileError::Taken { .. } => PyFileExistsError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}
