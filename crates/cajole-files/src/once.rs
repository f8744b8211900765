//! A file that is written once, from its beginning to its end.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::FileError;
use crate::identity::{FileId, stream_to};
use crate::reads::Reads;
use crate::whole::Whole;

/// A file that appears when it is complete. It never replaces one with other contents, unless the user
/// said that it may.
pub struct Once {
    path: PathBuf,
    file: Whole,
    reads: Reads,
    overwrites: bool,
}

impl Once {
    /// Begins a file. What the run reads is never replaced; another file is if `overwrites` is set.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn begin(path: &Path, reads: Reads, overwrites: bool) -> Result<Once, FileError> {
        let file = Whole::begin(path).map_err(FileError::io(path))?;
        Ok(Once { path: path.to_owned(), file, reads, overwrites })
    }

    /// Lets the file appear, unless there is one with the same contents.
    ///
    /// # Errors
    /// If there is one with other contents that may not be replaced, or the file cannot be completed.
    pub fn finish(self) -> Result<(), FileError> {
        let Once { path, mut file, reads, overwrites } = self;
        let io = || FileError::io(&path);
        if fs::metadata(&path).is_err() {
            return match file.create() {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(FileError::Taken { path })
                }
                created => created.map_err(io()),
            };
        }
        if file.holds_what(&path).map_err(io())? {
            return Ok(());
        }
        claim(&path, &reads, overwrites)?;
        file.replace().map_err(io())
    }
}

impl Write for Once {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Checks that a file can be written, before any work is done for it.
///
/// # Errors
/// If one is there and may not be replaced, is read by the run, or is where a standard stream goes.
pub fn claim(path: &Path, reads: &Reads, overwrites: bool) -> Result<(), FileError> {
    let Ok(meta) = fs::metadata(path) else { return Ok(()) };
    reads.check(path)?;
    if let Some(stream) = FileId::of_path(path).and_then(|id| stream_to(&id)) {
        return Err(FileError::Stream { path: path.to_owned(), stream });
    }
    match overwrites && meta.is_file() {
        true => Ok(()),
        false => Err(FileError::Taken { path: path.to_owned() }),
    }
}
