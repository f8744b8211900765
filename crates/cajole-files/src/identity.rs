//! Which file a name, a descriptor or a standard stream stands for.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// A file, whatever its name: device and inode, or the full path where there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    #[cfg(unix)]
    at: (u64, u64),
    #[cfg(not(unix))]
    at: std::path::PathBuf,
}

#[cfg(unix)]
impl FileId {
    fn of(meta: &Metadata) -> FileId {
        use std::os::unix::fs::MetadataExt;
        FileId { at: (meta.dev(), meta.ino()) }
    }

    /// The regular file of this name; `None` for anything else.
    pub(crate) fn of_path(path: &Path) -> Option<FileId> {
        std::fs::metadata(path).ok().filter(Metadata::is_file).map(|meta| FileId::of(&meta))
    }

    /// The regular file behind a descriptor, which was opened by this name.
    pub(crate) fn of_file(file: &File, _path: &Path) -> Option<FileId> {
        file.metadata().ok().filter(Metadata::is_file).map(|meta| FileId::of(&meta))
    }

    /// The regular file that a stream is redirected from or to.
    pub(crate) fn of_stream(stream: &impl std::os::fd::AsFd) -> Option<FileId> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        FileId::of_file(&file, Path::new(""))
    }
}

#[cfg(not(unix))]
impl FileId {
    /// The regular file of this name; `None` for anything else.
    pub(crate) fn of_path(path: &Path) -> Option<FileId> {
        std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        path.canonicalize().ok().map(|at| FileId { at })
    }

    /// The regular file behind a descriptor, which was opened by this name.
    pub(crate) fn of_file(_file: &File, path: &Path) -> Option<FileId> {
        FileId::of_path(path)
    }

    /// Streams have no names.
    pub(crate) fn of_stream<S>(_stream: &S) -> Option<FileId> {
        None
    }
}

/// The name of the standard stream that writes to this file, if one does.
pub(crate) fn stream_to(id: &FileId) -> Option<&'static str> {
    if FileId::of_stream(&io::stdout()).as_ref() == Some(id) {
        return Some("standard output");
    }
    (FileId::of_stream(&io::stderr()).as_ref() == Some(id)).then_some("standard error")
}

/// The name of the standard stream that writes to the file of this name, if one does. A command that
/// reads the file would read what it writes itself, without end.
pub fn is_standard_stream(path: &Path) -> Option<&'static str> {
    FileId::of_path(path).and_then(|id| stream_to(&id))
}

/// The name of the standard stream that writes to the file that standard input is redirected from, if
/// one does.
pub fn stdin_is_written() -> Option<&'static str> {
    FileId::of_stream(&io::stdin()).and_then(|id| stream_to(&id))
}
