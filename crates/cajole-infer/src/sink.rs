//! Where records go, and how a killed run finds out how far it got.
//!
//! The output is its own journal. Every record carries the number of the line that it answers, and
//! records are written in that order; so the last complete record says where to resume, and
//! whatever comes after it was being written when the run ended. A gzipped output is a sequence of
//! members, each of some complete records: there, the last complete member counts.
//!
//! A note beside the output says what the run is about, so that nobody resumes it with another network
//! or other rules: see [`cajole_files::Output`].

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cajole_files::{FileError, Output, Reads};
use cajole_tasks::changes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::Value;

use crate::infer::Tally;
use crate::journal::{last_member, last_record, tally};

pub use cajole_files::Existing;

/// Bytes of records that make a member of a gzipped output.
const MEMBER: usize = 256 << 10;

/// How every record begins, and so what a kill leaves of one.
const RECORD_BEGINS: &[u8] = b"{\"line\":";

/// How every member of a gzipped output begins.
const MEMBER_BEGINS: &[u8] = &[0x1f, 0x8b, 8, 0];

/// Where records are written.
pub struct Sink {
    to: To,
    /// The next member of a gzipped output.
    member: Option<Vec<u8>>,
}

enum To {
    Stream(Box<dyn Write + Send>),
    File(Output),
}

/// Why an output cannot be written or resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The file cannot be opened or written, or belongs to another run.
    #[error(transparent)]
    File(#[from] FileError),
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
    /// Its last line is not a record.
    #[error(
        "{path} does not end in a record of `cajole infer`: {end:?}; --overwrite begins anew",
        path = path.display()
    )]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// The beginning of its last line.
        end: String,
    },
}

/// An output that is about to be written.
pub struct Opened {
    /// Where records go.
    pub sink: Sink,
    /// The last line that is already answered.
    pub last: u64,
    /// The counts of the records up to there.
    pub tally: Tally,
}

impl Opened {
    /// Standard output, or anything else that cannot be resumed.
    pub fn stream(to: impl Write + Send + 'static) -> Opened {
        Opened { sink: Sink::of(to), last: 0, tally: Tally::default() }
    }
}

impl Sink {
    /// Standard output, or anything else that cannot be resumed.
    pub fn of(to: impl Write + Send + 'static) -> Sink {
        Sink { to: To::Stream(Box::new(to)), member: None }
    }

    /// A file, gzipped if its name ends in `.gz`, and how far it has been answered. `run` is what
    /// the run is about, and `reads` what it reads; `lines` is the number of the last line that is
    /// not blank, if that can be known.
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
        reads: &Reads,
        lines: Option<u64>,
    ) -> Result<Opened, SinkError> {
        let io = || FileError::io(path);
        let is_gz = path.as_os_str().as_encoded_bytes().ends_with(b".gz");
        let mut output = Output::open(path, existing, run, reads, changes)?;
        let (mut end, mut last, mut before) = (0, 0, Tally::default());
        if output.is_resumed() {
            let (file, record);
            file = output.file();
            (end, record) = match is_gz {
                false => last_record(file).map_err(io())?,
                true => last_member(file).map_err(io())?,
            };
            check_torn(path, file, end, is_gz)?;
            last = record.map(|line| number_of(path, &line)).transpose()?.unwrap_or(0);
            if let Some(lines) = lines.filter(|lines| *lines < last) {
                return Err(SinkError::Beyond { path: path.to_owned(), last, lines });
            }
            before = tally(file, end, is_gz).map_err(io())?;
            before.lines = last.into();
        }
        let to = To::File(output.begin(end)?);
        let sink = Sink { to, member: is_gz.then(Vec::new) };
        Ok(Opened { sink, last, tally: before })
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
    pub fn finish(mut self) -> Result<(), SinkError> {
        let mut rest = Ok(());
        if self.member.as_ref().is_some_and(|member| !member.is_empty()) {
            rest = self.write_member();
        }
        let rest = rest.and_then(|()| self.to.flush());
        rest.map_err(FileError::io(&self.to.name()))?;
        match self.to {
            To::Stream(_) => Ok(()),
            To::File(output) => Ok(output.finish()?),
        }
    }

    fn write_member(&mut self) -> io::Result<()> {
        let records = self.member.replace(Vec::new()).unwrap_or_default();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&records)?;
        self.to.write_all(&encoder.finish()?)
    }
}

impl To {
    fn name(&self) -> PathBuf {
        match self {
            To::Stream(_) => PathBuf::from("standard output"),
            To::File(output) => output.name().to_owned(),
        }
    }
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            To::Stream(stream) => stream.write(bytes),
            To::File(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            To::Stream(stream) => stream.flush(),
            To::File(output) => output.flush(),
        }
    }
}

/// The bytes after the last complete record are cut off, so they must be the beginning of one.
fn check_torn(path: &Path, file: &mut File, end: u64, is_gz: bool) -> Result<(), SinkError> {
    let begins = if is_gz { MEMBER_BEGINS } else { RECORD_BEGINS };
    let mut torn = Vec::new();
    file.seek(SeekFrom::Start(end))
        .and_then(|_| file.take(64).read_to_end(&mut torn))
        .map_err(FileError::io(path))?;
    match begins.iter().zip(&torn).all(|(expected, found)| expected == found) {
        true => Ok(()),
        false => Err(no_record(path, &torn)),
    }
}

/// The number of the line that a record answers; the record must be a complete line.
fn number_of(path: &Path, record: &[u8]) -> Result<u64, SinkError> {
    #[derive(Deserialize)]
    struct Record {
        line: u64,
    }
    let line = record.strip_suffix(b"\n").and_then(|record| serde_json::from_slice(record).ok());
    line.map(|Record { line }| line).ok_or_else(|| no_record(path, record))
}

fn no_record(path: &Path, end: &[u8]) -> SinkError {
    let end = String::from_utf8_lossy(end.trim_ascii_end()).chars().take(60).collect();
    SinkError::NoRecord { path: path.to_owned(), end }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicU64;

    use cajole_files::note_of;
    use serde_json::json;

    use super::*;

    fn open(
        path: &Path,
        existing: Existing,
        run: &Value,
        lines: Option<u64>,
    ) -> Result<Opened, SinkError> {
        Sink::open(path, existing, run, &Reads::default(), lines)
    }

    /// A file as a killed run would have left it, with its note.
    fn leave(path: &Path, bytes: &[u8]) {
        drop(open(path, Existing::Replace, &json!({}), None));
        fs::write(path, bytes).unwrap();
    }

    fn record(line: u64) -> String {
        format!("{{\"line\":{line},\"text\":\"{}\"}}\n", "x".repeat(line as usize % 50))
    }

    /// Cuts an output off at every byte, resumes, and compares with the complete output.
    fn cut_everywhere(name: &str, records: u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let run = json!({"rule": "r"});
        let write = |existing, from: Option<u64>| {
            let Opened { mut sink, last, .. } = open(&path, existing, &run, None).unwrap();
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
        assert!(note_of(&path).exists(), "it says what run the output is of");
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
        leave(&path, (record(6) + &long + "{\"li").as_bytes());
        let opened = open(&path, Existing::Resume, &json!({}), None).unwrap();
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
            leave(&path, &members.concat());
            open(&path, Existing::Resume, &json!({}), None).map(|opened| opened.last)
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
        let open = |existing| open(&path, existing, &json!({}), None);
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
        let open = |lines| open(&path, Existing::Resume, &json!({}), Some(lines));
        let text = record(1) + "{\"line\":3,\"status\":\"bad-line\"}\n";
        fs::write(&path, &text).unwrap();
        let error = open(4).err().unwrap().to_string();
        assert!(error.contains("out.jsonl.run.json is missing"), "{error}");
        leave(&path, text.as_bytes());
        let error = open(2).err().unwrap().to_string();
        assert!(error.contains("a record of line 3, and the input has 2 lines"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "it is left alone");
        let opened = open(4).unwrap();
        assert_eq!((opened.last, Tally::get(&opened.tally.bad)), (3, 1));
    }

    #[test]
    fn what_is_there_is_neither_lost_nor_mixed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let open = |existing, rule: &str| open(&path, existing, &json!({"rule": rule}), None);
        let Opened { mut sink, last, .. } = open(Existing::Resume, "a").unwrap();
        assert_eq!(last, 0);
        sink.write(record(1).as_bytes()).unwrap();
        drop(sink);
        let kept = open(Existing::Keep, "a");
        assert!(matches!(kept, Err(SinkError::File(FileError::Exists { .. }))));
        let error = open(Existing::Resume, "b").err().unwrap().to_string();
        assert!(error.contains("has changed since: rule;"), "{error}");
        assert_eq!(open(Existing::Resume, "a").unwrap().last, 1);
        assert_eq!(open(Existing::Replace, "b").unwrap().last, 0);
        // Whole lines, no line at all, and what follows a record.
        for other in ["something else\n", "precious", "\n", "{\"line\":1}\nprecious"] {
            fs::write(&path, other).unwrap();
            let error = open(Existing::Resume, "b").err().unwrap().to_string();
            assert!(error.contains("does not end in a record"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), other, "it is left alone");
        }
    }

    #[test]
    fn a_resumed_run_counts_what_was_done_before() {
        let folder = tempfile::tempdir().unwrap();
        let answers = concat!(
            r#"{"line":1,"status":"satisfied","g_before":2.0}"#,
            "\n",
            r#"{"line":3,"answers":[{"status":"timed-out","g_before":1.5},{"status":"satisfied","g_before":0.0}]}"#,
            "\n",
            r#"{"line":4,"status":"unmeasured","g_before":null}"#,
            "\n",
            r#"{"line":6,"status":"bad-line","error":"no"}"#,
            "\n",
        );
        for name in ["out.jsonl", "out.jsonl.gz"] {
            let path = folder.path().join(name);
            let mut sink = open(&path, Existing::Keep, &json!({}), None).unwrap().sink;
            sink.write(answers.as_bytes()).unwrap();
            sink.finish().unwrap();
            let Opened { tally, .. } = open(&path, Existing::Resume, &json!({}), None).unwrap();
            let Tally { lines, inputs, failures, converted, timed_out, unmeasured, bad } = tally;
            let counts = [lines, inputs, failures, converted, timed_out, unmeasured, bad];
            assert_eq!(counts.map(AtomicU64::into_inner), [6, 4, 2, 1, 1, 1, 1], "{name}");
        }
    }
}
