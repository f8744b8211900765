//! The note beside an output, which says what run it is the output of.
//!
//! It stays when the run is finished, so that nobody resumes a finished output with other inputs or
//! rules and takes old answers for new ones. A note is recognised by its content: any other file of
//! that name belongs to the user.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::{FileError, IoError};
use crate::whole::Whole;

/// The first field of every note, by which it is recognised.
const MARK: (&str, &str) = ("cajole", "what run the file beside this note is the output of");

/// The contents of a note.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    /// Whether the run came to its end.
    pub(crate) is_finished: bool,
    /// The inputs and settings of the run.
    pub(crate) run: Value,
}

/// The file in the place of a note, if any.
#[derive(Debug)]
pub(crate) enum Beside {
    Nothing,
    Note(Note),
    /// A file that is no note, or a folder.
    Foreign,
}

/// The place of the note about an output.
pub fn note_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".run.json");
    name.into()
}

impl Note {
    /// Reads what stands in the place of a note.
    pub(crate) fn read(path: &Path) -> Result<Beside, FileError> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Beside::Nothing),
            Err(source) => return Err(IoError { path: path.to_owned(), source }.into()),
            Ok(meta) if !meta.is_file() => return Ok(Beside::Foreign),
            Ok(_) => {}
        }
        let bytes = fs::read(path).map_err(FileError::io(path))?;
        Ok(Note::parse(&bytes).map_or(Beside::Foreign, Beside::Note))
    }

    fn parse(bytes: &[u8]) -> Option<Note> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let is_ours = value.get(MARK.0)?.as_str()? == MARK.1;
        let is_finished = value.get("finished")?.as_bool()?;
        let run = value.get("run")?.clone();
        is_ours.then_some(Note { is_finished, run })
    }

    /// The note as a file that only has to appear.
    pub(crate) fn staged(&self, path: &Path) -> Result<Whole, FileError> {
        let Note { is_finished, run } = self;
        let value = json!({MARK.0: MARK.1, "finished": is_finished, "run": run});
        let staged = Whole::begin(path).and_then(|mut file| {
            file.write_all(format!("{value:#}\n").as_bytes())?;
            file.prepare()?;
            Ok(file)
        });
        staged.map_err(FileError::io(path))
    }
}
