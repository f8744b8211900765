//! An output as its own journal: how far it is complete, and what its records say.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::atomic::Ordering;

use flate2::bufread::{GzDecoder, MultiGzDecoder};
use serde::Deserialize;
use serde::de::IntoDeserializer;

use crate::answer::Status;
use crate::infer::Tally;

/// Where the last complete line ends, and that line with its line break, if there is one.
pub(crate) fn last_record(file: &mut File) -> io::Result<(u64, Option<Vec<u8>>)> {
    const BLOCK: u64 = 64 << 10;
    let length = file.seek(SeekFrom::End(0))?;
    let (mut start, mut tail) = (length, Vec::new());
    loop {
        let end = tail.iter().rposition(|&b| b == b'\n');
        let begin = end.and_then(|end| tail[..end].iter().rposition(|&b| b == b'\n'));
        match (begin, end) {
            (Some(begin), Some(end)) => {
                return Ok((start + end as u64 + 1, Some(tail[begin + 1..=end].to_vec())));
            }
            (None, Some(end)) if start == 0 => {
                return Ok((end as u64 + 1, Some(tail[..=end].to_vec())));
            }
            (_, None) if start == 0 => return Ok((0, None)),
            _ => {}
        }
        let block = BLOCK.min(start);
        start -= block;
        let mut bytes = vec![0; block as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        bytes.append(&mut tail);
        tail = bytes;
    }
}

/// Where the last complete member ends, and its last line with its line break, if there is one.
pub(crate) fn last_member(file: &mut File) -> io::Result<(u64, Option<Vec<u8>>)> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Counted { inner: BufReader::new(file), count: 0 };
    let (mut end, mut last) = (0, None);
    while !bytes.fill_buf()?.is_empty() {
        let mut text = Vec::new();
        // A member that cannot be unpacked was being written when the run ended.
        if GzDecoder::new(&mut bytes).read_to_end(&mut text).is_err() {
            break;
        }
        end = bytes.count;
        let lines = text.strip_suffix(b"\n").unwrap_or(&text);
        let begin = lines.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        last = Some(text[begin..].to_vec());
        // Not ours: our members hold whole lines, and what follows this one would not begin a line.
        if !text.ends_with(b"\n") {
            break;
        }
    }
    Ok((end, last))
}

/// Counts the bytes read from a reader.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(to)?;
        self.count += n as u64;
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.count += n as u64;
        self.inner.consume(n);
    }
}

/// Counts the records up to `end`.
pub(crate) fn tally(file: &mut File, end: u64, is_gz: bool) -> io::Result<Tally> {
    let tally = Tally::default();
    if end == 0 {
        return Ok(tally); // an empty file is not gzipped
    }
    file.seek(SeekFrom::Start(0))?;
    let bytes = BufReader::new(file.take(end));
    let mut records: Box<dyn BufRead> = match is_gz {
        true => Box::new(BufReader::new(MultiGzDecoder::new(bytes))),
        false => Box::new(bytes),
    };
    let mut line = Vec::new();
    while 0 < records.read_until(b'\n', &mut line)? {
        if let Ok(record) = serde_json::from_slice(&line) {
            count(&record, &tally);
        }
        line.clear();
    }
    Ok(tally)
}

/// The counted fields of a record, or of one of its answers.
#[derive(Deserialize)]
struct Written<'r> {
    #[serde(borrow)]
    status: Option<Cow<'r, str>>,
    g_before: Option<f32>,
    #[serde(borrow)]
    answers: Option<Vec<Written<'r>>>,
}

fn count(record: &Written<'_>, tally: &Tally) {
    let is_bad = record.status.as_deref() == Some("bad-line");
    tally.bad.fetch_add(u64::from(is_bad), Ordering::Relaxed);
    let answers = record.answers.as_deref().unwrap_or(std::slice::from_ref(record));
    for answer in answers.iter().filter(|_| !is_bad) {
        let status: Result<Status, serde::de::value::Error> =
            Status::deserialize(answer.status.as_deref().unwrap_or_default().into_deserializer());
        if let Ok(status) = status {
            // A measure that is not finite is written as null.
            tally.count(status, answer.g_before.unwrap_or(f32::NAN));
        }
    }
}
