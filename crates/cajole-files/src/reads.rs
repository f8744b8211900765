//! The files that a run reads, by device and inode.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::FileError;
use crate::identity::FileId;

thread_local! {
    /// The files that [`Reads::during`] has seen so far, if it runs on this thread.
    static SEEN: RefCell<Option<Reads>> = const { RefCell::new(None) };
}

/// Standard input in messages.
const STDIN: &str = "standard input";

/// The files that a run reads. Nothing is ever written to them.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    files: Vec<(PathBuf, FileId)>,
}

/// Opens a file to read it. [`Reads::during`] notes it.
///
/// # Errors
/// If it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    SEEN.with_borrow_mut(|seen| {
        if let Some(seen) = seen {
            seen.push(path, FileId::of_file(&file, path));
        }
    });
    Ok(file)
}

/// Standard input, to read it. [`Reads::during`] notes the file that it is redirected from.
pub fn stdin() -> io::Stdin {
    let stdin = io::stdin();
    SEEN.with_borrow_mut(|seen| {
        if let Some(seen) = seen {
            seen.push(Path::new(STDIN), FileId::of_stream(&stdin));
        }
    });
    stdin
}

impl Reads {
    /// Runs `load`, and returns also which files it [opened](open) on this thread: a folder may hold
    /// files that nobody reads.
    pub fn during<T>(load: impl FnOnce() -> T) -> (T, Reads) {
        let outer = SEEN.replace(Some(Reads::default()));
        let loaded = load();
        let seen = SEEN.replace(outer).unwrap_or_default();
        SEEN.with_borrow_mut(|outer| {
            if let Some(outer) = outer {
                outer.extend(&seen);
            }
        });
        (loaded, seen)
    }

    /// The files that the [`Reads::during`] on this thread has seen so far.
    pub fn so_far() -> Reads {
        SEEN.with_borrow(Clone::clone).unwrap_or_default()
    }

    /// Notes a file that a program reads which the run starts, as if it were [opened](open) here.
    pub fn note(path: &Path) {
        SEEN.with_borrow_mut(|seen| seen.iter_mut().for_each(|seen| seen.add(path)));
    }

    /// Adds a file, if there is one of this name.
    pub fn add(&mut self, path: &Path) {
        self.push(path, FileId::of_path(path));
    }

    /// Adds the files in a folder, but not those in folders within. Whoever reads them hears of it if
    /// there is no such folder.
    pub fn add_folder(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.for_each(|entry| self.add(&entry.path()));
    }

    /// Adds all files of another list.
    pub fn extend(&mut self, others: &Reads) {
        for (path, id) in &others.files {
            self.push(path, Some(id.clone()));
        }
    }

    /// The names of the files, each once, in alphabetical order. Standard input has none.
    pub fn paths(&self) -> Vec<&Path> {
        let named = self.files.iter().map(|(path, _)| path.as_path());
        let mut paths: Vec<&Path> = named.filter(|path| *path != Path::new(STDIN)).collect();
        paths.sort_unstable();
        paths
    }

    /// An error if `path` is one of the files, by whatever name.
    ///
    /// # Errors
    /// If it is.
    pub fn check(&self, path: &Path) -> Result<(), FileError> {
        let Some(id) = FileId::of_path(path) else { return Ok(()) };
        match self.files.iter().find(|(_, read)| *read == id) {
            None => Ok(()),
            Some((read, _)) => {
                Err(FileError::Read { path: path.to_owned(), read: read.display().to_string() })
            }
        }
    }

    fn push(&mut self, path: &Path, id: Option<FileId>) {
        let Some(id) = id else { return };
        if !self.files.iter().any(|(known, read)| *read == id && known == path) {
            self.files.push((path.to_owned(), id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["read", "unread"] {
            fs::write(path(name), "x").unwrap();
        }
        fs::hard_link(path("read"), path("hard")).unwrap();
        let (_, reads) = Reads::during(|| open(&path("read")).unwrap());
        assert_eq!(reads.paths(), [path("read")]);
        assert!(reads.check(&path("unread")).is_ok());
        assert!(reads.check(&path("absent")).is_ok());
        for name in ["read", "hard", "./read"] {
            let error = reads.check(&path(name)).unwrap_err().to_string();
            assert!(error.contains("is the same file as"), "{name}: {error}");
        }
    }

    #[test]
    fn an_outer_list_has_what_an_inner_one_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read");
        fs::write(&path, "x").unwrap();
        let (inner, outer) = Reads::during(|| Reads::during(|| open(&path).unwrap()).1);
        assert_eq!(inner.paths(), outer.paths());
        assert_eq!(Reads::during(|| Reads::note(&path)).1.paths(), outer.paths());
        assert_eq!(Reads::during(|| ()).1.paths(), Vec::<&Path>::new());
    }
}
