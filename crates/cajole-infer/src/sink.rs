//! Where records go, and how a killed run finds out how far it got.
//!
//! The output is its own journal. Every record carries the number of the line that it answers, and
//! records are written in that order; so the last complete record says where to resume, and
//! whatever comes after it was being written when the run ended. A gzipped output is a sequence of
//! members, each of some complete records: there, the last complete member counts.
//!
//! A note beside an unfinished output says what the run was about, so that nobody resumes it with
//! another network or other rules.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cajole_nn::checkpoint::write_atomically;
use cajole_tasks::changes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::Value;

use crate::journal::{count_bad, last_member, last_record};

/// Bytes of records that make a member of a gzipped output.
const MEMBER: usize = 256 << 10;

/// Where records are written.
pub struct Sink {
    to: Box<dyn Write + Send>,
    /// The next member of a gzipped output.
    member: Option<Vec<u8>>,
    /// The file of an unfinished run, and the note beside it.
    files: Option<(File, PathBuf)>,
}

/// What to do about an output that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone: an error.
    Keep,
    /// Resume it.
    Resume,
    /// Replace it.
    Replace,
}

/// Why an output cannot be written or resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// An error of the file system.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// It exists, and no flag says what to do about it.
    #[error("{path} exists: --resume goes on with it, --overwrite begins anew", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It belongs to a run over something else, or with other settings.
    #[error(
        "{path} is the output of an unfinished run, and this has changed since: {what}; --overwrite \
         begins anew",
        path = path.display()
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// What has changed.
        what: String,
    },
    /// Another run is writing to it.
    #[error("{path} is being written by another run: wait for its end, or name another file", path = path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// It answers lines that the input does not have.
    #[error(
        "{path} has a record of line {last}, and the input has {lines} lines: it is the output of \
         another input; --overwrite begins anew",
        path = path.display()
    )]
    Beyond {
        /// The file.
        path: PathBuf,
        /// The line of its last record.
        last: u64,
        /// How many lines there are.
        lines: u64,
    },
    /// Nothing says which run it belongs to, and lines are left.
    #[error(
        "{path} ends at line {last} of {lines}, and {note} is missing, which says what run it is the \
         output of; --overwrite begins anew",
        path = path.display(),
        note = note_of(path).display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The line of its last record.
        last: u64,
        /// How many lines there are.
        lines: u64,
    },
    /// Its last line is not a record.
    #[error("{path} does not end in a record of `cajole infer`: {end:?}", path = path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// The beginning of its last line.
        end: String,
    },
}

impl SinkError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> SinkError + use<> {
        let path = path.to_owned();
        move |source| SinkError::Io { path, source }
    }
}

/// An output that is about to be written.
pub struct Opened {
    /// Where records go.
    pub sink: Sink,
    /// The last line that is already answered.
    pub last: u64,
    /// How many of the lines up to there are bad.
    pub bad: u64,
}

impl Sink {
    /// Standard output, or anything else that cannot be resumed.
    pub fn of(to: impl Write + Send + 'static) -> Sink {
        Sink { to: Box::new(to), member: None, files: None }
    }

    /// A file, gzipped if its name ends in `.gz`, and how far it has been answered. `run` is what
    /// the run is about; `lines` is the number of the last line that is not blank, if that can be
    /// known.
    ///
    /// The file stays locked while it is written, and nothing in it changes unless it belongs to
    /// this run.
    ///
    /// # Errors
    /// If the file cannot be written, exists although it must not, or belongs to another run.
    pub fn open(
        path: &Path,
        existing: Existing,
        run: &Value,
        lines: Option<u64>,
    ) -> Result<Opened, SinkError> {
        let io = || SinkError::io(path);
        let is_gz = path.extension().is_some_and(|end| end == "gz");
        let note = note_of(path);
        let mut file = open_locked(path, existing)?;
        let is_resumed = existing == Existing::Resume && 0 < file.metadata().map_err(io())?.len();
        let (mut end, mut last, mut bad) = (0, 0, 0);
        if is_resumed {
            let is_known = check_note(&note, path, run)?;
            let record;
            (end, record) = match is_gz {
                false => last_record(&mut file).map_err(io())?,
                true => last_member(&mut file).map_err(io())?,
            };
            last = record.map(|line| number_of(path, &line)).transpose()?.unwrap_or(0);
            check_last(path, last, lines, is_known)?;
            bad = count_bad(&mut file, end, is_gz).map_err(io())?;
        }
        file.set_len(end).map_err(io())?;
        file.seek(SeekFrom::Start(end)).map_err(io())?;
        write_atomically(&note, format!("{run:#}\n").as_bytes()).map_err(SinkError::io(&note))?;
        let to = file.try_clone().map_err(io())?;
        let member = is_gz.then(Vec::new);
        Ok(Opened { sink: Sink { to: Box::new(to), member, files: Some((file, note)) }, last, bad })
    }

    /// Writes some complete records.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, records: &[u8]) -> io::Result<()> {
        // Where a member ends depends on its content alone, so that a resumed run writes the same
        // members.
        for record in records.split_inclusive(|&byte| byte == b'\n') {
            let Some(member) = &mut self.member else { return self.to.write_all(records) };
            member.extend_from_slice(record);
            if MEMBER <= member.len() {
                self.write_member()?;
            }
        }
        Ok(())
    }

    /// Ends the output: all of it is on disk, and the run is finished.
    ///
    /// # Errors
    /// If the rest cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        if self.member.as_ref().is_some_and(|member| !member.is_empty()) {
            self.write_member()?;
        }
        self.to.flush()?;
        let Some((file, note)) = self.files else { return Ok(()) };
        file.sync_all()?;
        fs::remove_file(note)
    }

    fn write_member(&mut self) -> io::Result<()> {
        let records = self.member.replace(Vec::new()).unwrap_or_default();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&records)?;
        self.to.write_all(&encoder.finish()?)
    }
}

/// The file as it is, or empty if it is new; locked until it is closed.
fn open_locked(path: &Path, existing: Existing) -> Result<File, SinkError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.create_new(existing == Existing::Keep);
    let file = options.open(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => SinkError::Exists { path: path.to_owned() },
        _ => SinkError::Io { path: path.to_owned(), source },
    })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(SinkError::Locked { path: path.to_owned() }),
        // A file system without locks cannot reveal other runs.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Whether the last record can belong to this run.
fn check_last(path: &Path, last: u64, lines: Option<u64>, is_known: bool) -> Result<(), SinkError> {
    let path = path.to_owned();
    match lines {
        Some(lines) if lines < last => Err(SinkError::Beyond { path, last, lines }),
        Some(lines) if !is_known && last < lines => Err(SinkError::Unknown { path, last, lines }),
        _ => Ok(()),
    }
}

/// The file that says what an unfinished run is about.
fn note_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".run.json");
    name.into()
}

/// Compares with the note of the unfinished run. Returns whether there is one: a finished run
/// leaves no note.
fn check_note(note: &Path, path: &Path, run: &Value) -> Result<bool, SinkError> {
    let text = match fs::read_to_string(note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        text => text.map_err(SinkError::io(note))?,
    };
    // A note that was cut off says nothing about its run, which had not written anything yet.
    let Ok(before) = serde_json::from_str::<Value>(&text) else { return Ok(false) };
    match changes(&before, run) {
        none if none.is_empty() => Ok(true),
        some => Err(SinkError::OtherRun { path: path.to_owned(), what: some.join(", ") }),
    }
}

/// The number of the line that a record answers; the record must be a complete line.
fn number_of(path: &Path, record: &[u8]) -> Result<u64, SinkError> {
    #[derive(Deserialize)]
    struct Record {
        line: u64,
    }
    let end = || String::from_utf8_lossy(record.trim_ascii_end()).chars().take(60).collect();
    let line = record.strip_suffix(b"\n").and_then(|record| serde_json::from_slice(record).ok());
    line.map(|Record { line }| line)
        .ok_or_else(|| SinkError::NoRecord { path: path.to_owned(), end: end() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(line: u64) -> String {
        format!("{{\"line\":{line},\"text\":\"{}\"}}\n", "x".repeat(line as usize % 50))
    }

    /// Cuts an output off at every byte, resumes, and compares with the complete output.
    fn cut_everywhere(name: &str, records: u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let run = json!({"rule": "r"});
        let write = |existing, from: Option<u64>| {
            let Opened { mut sink, last, .. } = Sink::open(&path, existing, &run, None).unwrap();
            assert!(from.is_none_or(|from| last <= from));
            for line in last + 1..=records {
                sink.write(record(line).as_bytes()).unwrap();
                if line % 3 == 0 && sink.member.is_some() {
                    sink.write_member().unwrap();
                }
            }
            sink.finish().unwrap();
        };
        write(Existing::Keep, None);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            write(Existing::Resume, Some(records));
            assert!(fs::read(&path).unwrap() == whole, "cut at {cut}");
        }
        assert!(!note_of(&path).exists());
    }

    #[test]
    fn an_output_that_was_cut_off_anywhere_is_gone_on_with() {
        cut_everywhere("out.jsonl", 9);
        cut_everywhere("out.jsonl.gz", 7);
    }

    #[test]
    fn long_records_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let long = format!("{{\"line\":7,\"text\":\"{}\"}}\n", "x".repeat(200_000));
        fs::write(&path, record(6) + &long + "{\"li").unwrap();
        let opened = Sink::open(&path, Existing::Resume, &json!({}), None).unwrap();
        assert_eq!(opened.last, 7);
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, record(6).len() + long.len());
    }

    #[test]
    fn records_do_not_run_into_those_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl.gz");
        let packed = |text: &str| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let open = |members: &[Vec<u8>]| {
            fs::write(&path, members.concat()).unwrap();
            Sink::open(&path, Existing::Resume, &json!({}), None).map(|opened| opened.last)
        };
        let (whole, unended) = (packed(&record(1)), packed("{\"line\":2}"));
        assert_eq!(open(&[whole.clone(), packed(&record(2))]).unwrap(), 2);
        for members in [vec![unended.clone()], vec![whole.clone(), unended.clone()]] {
            let error = open(&members).unwrap_err().to_string();
            assert!(error.contains("{\\\"line\\\":2}"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), members.concat(), "it is left alone");
        }
        assert!(open(&[unended, whole]).is_err(), "not even in the middle");
    }

    #[test]
    fn two_runs_do_not_write_to_one_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let open = |existing| Sink::open(&path, existing, &json!({}), None);
        let mut first = open(Existing::Keep).unwrap();
        first.sink.write(record(1).as_bytes()).unwrap();
        for existing in [Existing::Resume, Existing::Replace] {
            let error = open(existing).err().unwrap().to_string();
            assert!(error.contains("out.jsonl is being written by another run"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), record(1), "it is left alone");
        drop(first);
        assert_eq!(open(Existing::Resume).unwrap().last, 1);
    }

    #[test]
    fn a_record_beyond_the_input_and_one_of_nobody_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let open = |lines| Sink::open(&path, Existing::Resume, &json!({}), Some(lines));
        let text = record(1) + "{\"line\":3,\"status\":\"bad-line\"}\n";
        fs::write(&path, &text).unwrap();
        let error = open(2).err().unwrap().to_string();
        assert!(error.contains("a record of line 3, and the input has 2 lines"), "{error}");
        let error = open(4).err().unwrap().to_string();
        assert!(error.contains("ends at line 3 of 4") && error.contains(".run.json"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "it is left alone");
        let opened = open(3).unwrap();
        assert_eq!((opened.last, opened.bad), (3, 1));
    }

    #[test]
    fn what_is_there_is_neither_lost_nor_mixed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let open = |existing, rule: &str| Sink::open(&path, existing, &json!({"rule": rule}), None);
        let Opened { mut sink, last, .. } = open(Existing::Resume, "a").unwrap();
        assert_eq!(last, 0);
        sink.write(record(1).as_bytes()).unwrap();
        drop(sink);
        assert!(matches!(open(Existing::Keep, "a"), Err(SinkError::Exists { .. })));
        let error = open(Existing::Resume, "b").err().unwrap().to_string();
        assert!(error.contains("has changed since: rule;"), "{error}");
        assert_eq!(open(Existing::Resume, "a").unwrap().last, 1);
        assert_eq!(open(Existing::Replace, "b").unwrap().last, 0);
        fs::write(&path, "something else\n").unwrap();
        let error = open(Existing::Resume, "b").err().unwrap().to_string();
        assert!(error.contains("\"something else\""), "{error}");
    }
}
