//! A file that a run appends records to, and that a later run may resume.
//!
//! [`Output::open`] finds everything that can go wrong and changes nothing; [`Output::begin`] then
//! empties the file, or cuts off a record that a kill has left unfinished. In between, whoever knows
//! the format says how far the file is complete.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{FileError, IoError};
use crate::identity::{FileId, stream_to};
use crate::note::{Beside, Note, note_of};
use crate::reads::Reads;
use crate::whole::resolved;

/// How to treat an output that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone: an error.
    Keep,
    /// Resume it.
    Resume,
    /// Replace it.
    Replace,
}

/// The output of a run, locked against other runs.
#[derive(Debug)]
pub struct Output {
    /// Its name in messages.
    name: PathBuf,
    /// Where it is. If the name is a link, this is the file that it leads to.
    path: PathBuf,
    file: File,
    /// The inputs and settings of the run.
    run: Value,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its first bytes are records of this run.
    Resumes,
    /// It is about to be emptied.
    Empties,
    /// It has been created, and is removed if nothing begins.
    New,
    /// It is being written.
    Begun,
}

impl Output {
    /// Opens and locks an output. `run` is what the run is about; `changes` names what differs
    /// between two of them. Nothing in the file changes.
    ///
    /// # Errors
    /// If the file cannot be written, is read by the run, exists although it must not, or belongs to
    /// another run.
    pub fn open(
        name: &Path,
        existing: Existing,
        run: &Value,
        reads: &Reads,
        changes: impl Fn(&Value, &Value) -> Vec<String>,
    ) -> Result<Output, FileError> {
        let io = || FileError::io(name);
        let path = resolved(name).map_err(io())?;
        let note = note_of(&path);
        for (shown, path) in [(name, &path), (note.as_path(), &note)] {
            reads.check(path).map_err(|error| error.named(shown))?;
            if let Some(stream) = FileId::of_path(path).and_then(|id| stream_to(&id)) {
                return Err(FileError::Stream { path: shown.to_owned(), stream });
            }
        }
        let is_there = match fs::metadata(&path) {
            Ok(meta) if meta.is_file() => true,
            Ok(_) => return Err(FileError::NotRegular { path: name.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(source) => return Err(IoError { path: name.to_owned(), source }.into()),
        };
        if is_there && existing == Existing::Keep {
            return Err(FileError::Exists { path: name.to_owned() });
        }
        let before = Note::read(&note)?;
        if matches!(before, Beside::Foreign) && (existing != Existing::Replace || note.is_dir()) {
            return Err(FileError::ForeignNote { path: name.to_owned(), note });
        }
        let file = open_locked(name, &path, is_there)?;
        let stage = if is_there { Stage::Empties } else { Stage::New };
        let mut output = Output { name: name.to_owned(), path, file, run: run.clone(), stage };
        if existing == Existing::Resume && 0 < output.len()? {
            output.stage = Stage::Resumes;
            match before {
                Beside::Note(before) => {
                    let what = changes(&before.run, run);
                    if !what.is_empty() {
                        let (path, what) = (name.to_owned(), what.join(", "));
                        let is_finished = before.is_finished;
                        return Err(FileError::OtherRun { path, what, is_finished });
                    }
                }
                _ => return Err(FileError::NoNote { path: name.to_owned(), note }),
            }
        }
        Ok(output)
    }

    /// Its name in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Whether the file holds records of this run, so that [`Output::begin`] needs to know how far.
    pub fn is_resumed(&self) -> bool {
        self.stage == Stage::Resumes
    }

    /// The file, to see how far it is complete.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Keeps the first `end` bytes of the file, and appends from there on.
    ///
    /// # Errors
    /// If the note cannot be written, which leaves the file as it was, or the file cannot be.
    pub fn begin(mut self, end: u64) -> Result<Output, FileError> {
        let note = note_of(&self.path);
        let staged = Note { is_finished: false, run: self.run.clone() }.staged(&note)?;
        self.file.set_len(end).map_err(IoError::at(&self.name))?;
        self.file.seek(SeekFrom::Start(end)).map_err(IoError::at(&self.name))?;
        // A kill before this leaves an empty file, which any run may begin, or one that is resumed.
        staged.replace().map_err(FileError::io(&note))?;
        self.stage = Stage::Begun;
        Ok(self)
    }

    /// Ends the output: all of it is on disk, and its note says so.
    ///
    /// # Errors
    /// If the rest cannot be written, or the file is no longer where it was.
    pub fn finish(self) -> Result<(), FileError> {
        self.file.sync_all().map_err(FileError::io(&self.name))?;
        let here = FileId::of_path(&self.path);
        if here.is_none() || here != FileId::of_file(&self.file, &self.path) {
            // The note beside it, if there is one, is another run's.
            return Err(FileError::Gone { path: self.name.clone() });
        }
        let note = note_of(&self.path);
        let staged = Note { is_finished: true, run: self.run.clone() }.staged(&note)?;
        staged.replace().map_err(FileError::io(&note))
    }

    fn len(&self) -> Result<u64, FileError> {
        Ok(self.file.metadata().map_err(FileError::io(&self.name))?.len())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.stage == Stage::New {
            // Nothing can be done if it cannot be removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file as it is, or empty if it is new; locked until it is closed.
fn open_locked(name: &Path, path: &Path, is_there: bool) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(!is_there);
    let file = options.open(path).map_err(FileError::io(name))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(FileError::Locked { path: name.to_owned() }),
        // A file system without locks cannot reveal other runs.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn open(path: &Path, existing: Existing, run: &Value) -> Result<Output, FileError> {
        let changes = |a: &Value, b: &Value| if a == b { vec![] } else { vec!["rule".to_owned()] };
        Output::open(path, existing, run, &Reads::default(), changes)
    }

    fn write(path: &Path, existing: Existing, run: &Value, bytes: &str) -> Result<(), FileError> {
        let mut output = open(path, existing, run)?.begin(0)?;
        output.write_all(bytes.as_bytes()).map_err(FileError::io(path))?;
        output.finish()
    }

    #[test]
    fn a_finished_output_knows_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let (run, other) = (json!({"rule": 1}), json!({"rule": 2}));
        write(&path, Existing::Keep, &run, "record\n").unwrap();
        assert!(open(&path, Existing::Resume, &run).unwrap().is_resumed());
        let error = open(&path, Existing::Resume, &other).unwrap_err().to_string();
        assert!(error.contains("a finished run, and this has changed since: rule"), "{error}");
        assert!(matches!(open(&path, Existing::Keep, &run), Err(FileError::Exists { .. })));
        write(&path, Existing::Replace, &other, "others\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "others\n");
        fs::remove_file(note_of(&path)).unwrap();
        let error = open(&path, Existing::Resume, &other).unwrap_err().to_string();
        assert!(error.contains("out.run.json is missing"), "{error}");
    }

    #[test]
    fn nothing_is_emptied_before_the_note_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "precious").unwrap();
        fs::create_dir(note_of(&path)).unwrap();
        for existing in [Existing::Keep, Existing::Resume, Existing::Replace] {
            assert!(write(&path, existing, &json!({}), "x").is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        }
        let new = folder.path().join("new");
        fs::write(note_of(&new), "my own").unwrap();
        for existing in [Existing::Keep, Existing::Resume] {
            let error = write(&new, existing, &json!({}), "x").unwrap_err().to_string();
            assert!(error.contains("new.run.json is in the place of the note"), "{error}");
        }
        assert!(!new.exists(), "what was not begun is not there");
        assert_eq!(fs::read_to_string(note_of(&new)).unwrap(), "my own");
    }

    #[cfg(unix)]
    #[test]
    fn the_note_is_beside_the_file_that_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("out", path("link")).unwrap();
        write(&path("link"), Existing::Keep, &json!(1), "record\n").unwrap();
        assert!(path("out").is_file() && path("out.run.json").is_file());
        assert!(!path("link.run.json").exists());
        assert!(open(&path("out"), Existing::Resume, &json!(2)).is_err());
        assert!(open(&path("link"), Existing::Resume, &json!(1)).unwrap().is_resumed());
    }

    #[test]
    fn a_file_that_was_removed_meanwhile_takes_no_note_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let first = open(&path, Existing::Keep, &json!(1)).unwrap().begin(0).unwrap();
        fs::remove_file(&path).unwrap();
        let second = open(&path, Existing::Keep, &json!(2)).unwrap().begin(0).unwrap();
        assert!(matches!(first.finish(), Err(FileError::Gone { .. })));
        drop(second);
        let note = fs::read_to_string(note_of(&path)).unwrap();
        assert!(note.contains("\"run\": 2") && note.contains("false"), "{note}");
    }

    #[test]
    fn what_is_read_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["in", "out.run.json"] {
            fs::write(path(name), "precious").unwrap();
            let mut reads = Reads::default();
            reads.add(&path(name));
            for existing in [Existing::Keep, Existing::Resume, Existing::Replace] {
                let out = path(if name == "in" { "in" } else { "out" });
                let opened = Output::open(&out, existing, &json!({}), &reads, |_, _| vec![]);
                let error = opened.unwrap_err().to_string();
                assert!(error.contains("is the same file as"), "{error}");
            }
            assert_eq!(fs::read_to_string(path(name)).unwrap(), "precious");
        }
    }
}
