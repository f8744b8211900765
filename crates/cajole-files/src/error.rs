//! Why a file cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the file system on a file or a folder. Other errors hold it, so that it reads the same
/// wherever it occurs.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}", path = path.display())]
pub struct IoError {
    /// The file or folder.
    pub path: PathBuf,
    /// The error that the file system gave.
    pub source: io::Error,
}

impl IoError {
    /// For `map_err`: attaches `path` to an error of the file system.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> IoError + use<> {
        let path = path.to_owned();
        move |source| IoError { path, source }
    }
}

/// Why a file cannot be written, or an output not be resumed. Whatever the reason, what was there is
/// as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// An error of the file system.
    #[error(transparent)]
    Io(#[from] IoError),
    /// It is something that the run reads.
    #[error(
        "{path} is the same file as {read}, which is read: name another output",
        path = path.display()
    )]
    Read {
        /// The file that would be written.
        path: PathBuf,
        /// The name by which it is read.
        read: String,
    },
    /// It is where a standard stream is redirected to.
    #[error("{path} is {stream} too: name another output", path = path.display())]
    Stream {
        /// The file that would be written.
        path: PathBuf,
        /// The stream.
        stream: &'static str,
    },
    /// It is a pipe, a device or a folder.
    #[error(
        "{path} is no regular file; without --out, records go to standard output",
        path = path.display()
    )]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// An output exists, and no flag says what to do about it.
    #[error("{path} exists: --resume goes on with it, --overwrite begins anew", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file exists in the place of one that would be written.
    #[error(
        "{path} exists, and would be replaced: --overwrite allows that, or name another output",
        path = path.display()
    )]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// A file has the name of the note beside an output, and is none.
    #[error(
        "{note} is in the place of the note about {path}, and is no such note, or a damaged one: move \
         it, or name another output",
        note = note.display(),
        path = path.display()
    )]
    ForeignNote {
        /// The output.
        path: PathBuf,
        /// The file.
        note: PathBuf,
    },
    /// Nothing says which run an output belongs to.
    #[error(
        "{path} cannot be resumed: {note} is missing, which says what run it is the output of; \
         --overwrite begins anew",
        path = path.display(),
        note = note.display()
    )]
    NoNote {
        /// The output.
        path: PathBuf,
        /// The note that is missing.
        note: PathBuf,
    },
    /// An output belongs to a run over something else, or with other settings.
    #[error(
        "{path} is the output of {a_run} run, and this has changed since: {what}; --overwrite begins \
         anew",
        path = path.display(),
        a_run = if *is_finished { "a finished" } else { "an unfinished" }
    )]
    OtherRun {
        /// The output.
        path: PathBuf,
        /// The names of the changed inputs and settings.
        what: String,
        /// Whether that run came to its end.
        is_finished: bool,
    },
    /// Another run is writing to it.
    #[error("{path} is being written by another run: wait for its end, or name another", path = path.display())]
    Locked {
        /// The file or folder.
        path: PathBuf,
    },
    /// An output was removed or replaced while it was written.
    #[error(
        "{path} was removed or replaced while it was being written: what stands there now is not the \
         output of this run",
        path = path.display()
    )]
    Gone {
        /// The output.
        path: PathBuf,
    },
}

impl FileError {
    /// The same under the name that the user gave the file.
    pub(crate) fn named(mut self, name: &Path) -> FileError {
        if let FileError::Read { path, .. } = &mut self {
            name.clone_into(path);
        }
        self
    }

    /// For `map_err`: attaches `path` to an error of the file system.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> FileError + use<> {
        let attach = IoError::at(path);
        move |source| FileError::Io(attach(source))
    }
}
