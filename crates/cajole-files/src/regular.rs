//! Regular files: what is read whole must have an end.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::IoError;
use crate::reads::open;

/// A regular file that has been opened to be read. [`Reads::during`](crate::Reads::during) notes it.
#[derive(Debug)]
pub struct RegularFile {
    path: PathBuf,
    file: File,
    len: u64,
}

impl RegularFile {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be opened, or is a folder, a pipe or a device ([`io::ErrorKind::InvalidInput`]).
    pub fn open(path: &Path) -> Result<RegularFile, IoError> {
        let opened = || {
            // Opening a pipe would wait for a program that writes to it.
            length(&fs::metadata(path)?)?;
            let file = open(path)?;
            let len = length(&file.metadata()?)?;
            Ok(RegularFile { path: path.to_owned(), file, len })
        };
        opened().map_err(IoError::at(path))
    }

    /// The number of its bytes when it was opened.
    #[expect(clippy::len_without_is_empty, reason = "whether it is empty is not asked")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Its bytes from here to its end.
    ///
    /// # Errors
    /// If it cannot be read, or memory does not suffice.
    pub fn read_all(mut self) -> Result<Vec<u8>, IoError> {
        let mut bytes = Vec::new();
        let mut read = || {
            bytes.try_reserve_exact(usize::try_from(self.len).unwrap_or(usize::MAX))?;
            self.file.read_to_end(&mut bytes)
        };
        read().map_err(IoError::at(&self.path))?;
        Ok(bytes)
    }
}

impl Read for RegularFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

/// The bytes of a regular file.
///
/// # Errors
/// If it cannot be read, or is a folder, a pipe or a device.
pub fn read_regular(path: &Path) -> Result<Vec<u8>, IoError> {
    RegularFile::open(path)?.read_all()
}

/// The length of a regular file.
fn length(about: &Metadata) -> io::Result<u64> {
    match about.is_file() {
        true => Ok(about.len()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reads;

    #[test]
    fn a_file_is_read_whole_and_noted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        fs::write(&path, "contents").unwrap();
        let (bytes, reads) = Reads::during(|| read_regular(&path).unwrap());
        assert_eq!(bytes, b"contents");
        assert_eq!(reads.paths(), [&path]);
        let mut file = RegularFile::open(&path).unwrap();
        assert_eq!(file.len(), 8);
        file.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(file.read_all().unwrap(), b"tents");
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = read_regular(&folder.path().join("absent")).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("absent: "), "{error}");
        let error = read_regular(folder.path()).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_not_read() {
        let error = read_regular(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero: not a regular file");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_waits_for_the_other_end_of_a_pipe() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let error = read_regular(&path).unwrap_err();
        assert_eq!(error.source.to_string(), "not a regular file");
    }
}
