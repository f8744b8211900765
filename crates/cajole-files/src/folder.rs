//! A folder that a run writes to, file by file.
//!
//! A file that is written [once](Folder::put) never replaces one with other contents, unless the user
//! said that it may: a resumed run writes the same bytes again. Files that change while the run goes
//! on, such as its state, are [claimed](Folder::claim) when it begins and are the run's own from then
//! on.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{FileError, IoError};
use crate::once::{Once, claim};
use crate::reads::Reads;

/// A folder that this run alone writes to, for as long as the value lives.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    reads: Reads,
    /// Whether files of other contents may be replaced.
    overwrites: AtomicBool,
    _lock: Option<File>,
}

impl Folder {
    /// Creates a folder if necessary, and locks it. Nothing in it is replaced.
    ///
    /// # Errors
    /// If it cannot be created, or another run writes to it.
    pub fn create(path: &Path) -> Result<Folder, FileError> {
        Folder::open(path, Reads::default(), false)
    }

    /// Creates a folder if necessary, and locks it against other runs. What the run reads is never
    /// replaced; other files are if `overwrites` is set.
    ///
    /// # Errors
    /// If it cannot be created, or another run writes to it.
    pub fn open(path: &Path, reads: Reads, overwrites: bool) -> Result<Folder, FileError> {
        fs::create_dir_all(path).map_err(FileError::io(path))?;
        // If folders cannot be opened or locked, other runs cannot be detected.
        let lock = File::open(path).ok();
        if let Some(Err(TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
            return Err(FileError::Locked { path: path.to_owned() });
        }
        let overwrites = AtomicBool::new(overwrites);
        Ok(Folder { path: path.to_owned(), reads, overwrites, _lock: lock })
    }

    /// A folder within, locked on its own.
    ///
    /// # Errors
    /// If it cannot be created, or another run writes to it.
    pub fn within(&self, name: impl AsRef<Path>) -> Result<Folder, FileError> {
        Folder::open(&self.path.join(name), self.reads.clone(), self.overwrites())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether files of other contents may be replaced.
    pub fn overwrites(&self) -> bool {
        self.overwrites.load(Ordering::Relaxed)
    }

    /// Allows that files of other contents are replaced: the user said so when the run began.
    pub fn allow_overwriting(&self) {
        self.overwrites.store(true, Ordering::Relaxed);
    }

    /// Checks that files of these names can be written, before any work is done for them.
    ///
    /// # Errors
    /// If one is there and may not be replaced, or is read by the run.
    pub fn claim<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), FileError> {
        for name in names {
            claim(&self.path.join(name), &self.reads, self.overwrites())?;
        }
        Ok(())
    }

    /// Writes a file that is written once. It appears when it is complete.
    ///
    /// # Errors
    /// If there is one with other contents that may not be replaced, or it cannot be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.put_all(name, bytes)
    }

    /// Copies a file into the folder, under the same rules as [`Folder::put`].
    ///
    /// # Errors
    /// If it cannot be read, or under the same conditions.
    pub fn copy(&self, name: &str, from: &Path) -> Result<(), FileError> {
        self.put_all(name, File::open(from).map_err(FileError::io(from))?)
    }

    /// Replaces a file that this run has claimed.
    ///
    /// # Errors
    /// If it is read by the run, or cannot be written.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.path.join(name);
        self.reads.check(&path)?;
        crate::replace_whole(&path, bytes).map_err(FileError::io(&path))
    }

    /// Removes a file that this run has claimed, if it is there.
    ///
    /// # Errors
    /// If it is read by the run, or cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        let path = self.path.join(name);
        self.reads.check(&path)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(IoError { path, source: error }.into())
            }
            _ => Ok(()),
        }
    }

    fn put_all(&self, name: &str, mut contents: impl Read) -> Result<(), FileError> {
        let path = self.path.join(name);
        let mut file = Once::begin(&path, self.reads.clone(), self.overwrites())?;
        io::copy(&mut contents, &mut file).map_err(FileError::io(&path))?;
        file.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path, overwrites: bool) -> Folder {
        Folder::open(path, Reads::default(), overwrites).unwrap()
    }

    #[test]
    fn a_file_is_written_once_unless_the_user_says_otherwise() {
        let at = tempfile::tempdir().unwrap();
        let read = || fs::read_to_string(at.path().join("a")).unwrap();
        let keeping = folder(at.path(), false);
        keeping.claim(["a"]).unwrap();
        keeping.put("a", b"one").unwrap();
        keeping.put("a", b"one").unwrap();
        assert!(matches!(keeping.put("a", b"two"), Err(FileError::Taken { .. })));
        assert!(matches!(keeping.claim(["a"]), Err(FileError::Taken { .. })));
        assert_eq!(read(), "one");
        keeping.allow_overwriting();
        keeping.claim(["a"]).unwrap();
        keeping.put("a", b"two").unwrap();
        assert_eq!(read(), "two");
        fs::create_dir(at.path().join("b")).unwrap();
        assert!(keeping.claim(["b"]).is_err(), "a folder is never replaced");
    }

    #[test]
    fn what_is_read_is_not_replaced_even_on_purpose() {
        let at = tempfile::tempdir().unwrap();
        fs::write(at.path().join("read"), "precious").unwrap();
        let mut reads = Reads::default();
        reads.add_folder(at.path());
        let folder = Folder::open(at.path(), reads, true).unwrap();
        assert!(folder.claim(["read"]).is_err());
        assert!(folder.put("read", b"other").is_err());
        assert!(folder.replace("read", b"other").is_err());
        assert!(folder.remove("read").is_err());
        assert_eq!(fs::read_to_string(at.path().join("read")).unwrap(), "precious");
    }

    #[test]
    fn one_run_at_a_time() {
        let at = tempfile::tempdir().unwrap();
        let first = folder(at.path(), false);
        let second = Folder::open(at.path(), Reads::default(), false);
        assert!(matches!(second, Err(FileError::Locked { .. })));
        drop(first);
        folder(at.path(), false);
    }

    #[test]
    fn copies_are_compared_by_content() {
        let at = tempfile::tempdir().unwrap();
        let from = at.path().join("from");
        fs::write(&from, vec![7; 200_000]).unwrap();
        let to = folder(&at.path().join("to"), false);
        to.copy("file", &from).unwrap();
        to.copy("file", &from).unwrap();
        to.copy("file", &to.join("file")).unwrap();
        fs::write(&from, vec![7; 199_999]).unwrap();
        assert!(matches!(to.copy("file", &from), Err(FileError::Taken { .. })));
        assert_eq!(fs::read(to.join("file")).unwrap(), vec![7; 200_000]);
    }
}
