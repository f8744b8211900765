//! Lines of a file or of standard input, each with its number, however many there are.
//!
//! Nothing is read ahead, and lines have a maximum length, so neither a large file nor a file
//! without line ends takes more memory than a few lines.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use cajole_files::{LineKind, LineLimits, LineSplitter};
use flate2::bufread::MultiGzDecoder;

use crate::limits::{ENDLESS_LINE_BYTES, MAX_LINE_BYTES};
use crate::line::LineError;

/// The lines of one source, in order; gzipped or not.
pub struct Source {
    /// The name of the source in messages.
    pub name: String,
    reader: BufReader<Box<dyn Read + Send>>,
    lines: LineSplitter,
    max_bytes: usize,
}

/// A line with its number, from 1.
pub type Numbered<E = BadLine> = (u64, Result<String, E>);

/// Where lines come from, one after the other.
pub trait Lines: Send {
    /// The name of the source in messages.
    fn name(&self) -> &str;

    /// The next line, without its line end; `None` after the last.
    ///
    /// # Errors
    /// If reading fails. A bad line is not such an error.
    fn next(&mut self) -> io::Result<Option<Numbered<LineError>>>;

    /// Whether a line is available; if not, reading the next one may block.
    fn is_ready(&self) -> bool {
        true
    }
}

/// Lines in memory.
#[derive(Debug, Default)]
pub struct Listed {
    /// Their name in messages.
    pub name: String,
    /// The lines, in order.
    pub lines: VecDeque<Numbered<LineError>>,
}

impl Lines for Listed {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(&mut self) -> io::Result<Option<Numbered<LineError>>> {
        Ok(self.lines.pop_front())
    }
}

/// Why a line is not text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadLine {
    /// Its bytes are in no known encoding.
    #[error("the line is not UTF-8")]
    NotText,
    /// It is too long.
    #[error("the line is longer than {most} bytes; --max-line-bytes allows more")]
    TooLong {
        /// The most bytes that a line may have.
        most: usize,
    },
}

impl Lines for Source {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(&mut self) -> io::Result<Option<Numbered<LineError>>> {
        let line = self.line()?;
        Ok(line.map(|(number, text)| (number, text.map_err(LineError::from))))
    }

    fn is_ready(&self) -> bool {
        self.has_line()
    }
}

impl Source {
    /// The lines of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> io::Result<Source> {
        Source::of(path.display().to_string(), cajole_files::open(path)?)
    }

    /// The lines of standard input.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn stdin() -> io::Result<Source> {
        Source::of("standard input".to_owned(), cajole_files::stdin())
    }

    /// The lines of any reader; input that begins like a gzipped file is unpacked.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(name: String, bytes: impl Read + Send + 'static) -> io::Result<Source> {
        let bytes: Box<dyn Read + Send> = Box::new(bytes);
        let mut reader = BufReader::with_capacity(1 << 16, bytes);
        if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
            reader = BufReader::with_capacity(1 << 16, Box::new(MultiGzDecoder::new(reader)));
        }
        Ok(Source { name, reader, lines: splitter(MAX_LINE_BYTES), max_bytes: MAX_LINE_BYTES })
    }

    /// Takes lines of at most this many bytes, instead of [`MAX_LINE_BYTES`].
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> Source {
        Source { lines: splitter(max_bytes), max_bytes, ..self }
    }

    /// Whether a line is available; if not, [`Source::line`] may have to wait for whoever writes
    /// it.
    pub fn has_line(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// The next line, without its line end; `None` after the last.
    ///
    /// # Errors
    /// If reading fails, or a line does not end within [`ENDLESS_LINE_BYTES`]. A line that is not
    /// text is not such an error.
    pub fn line(&mut self) -> io::Result<Option<Numbered>> {
        let Some(kind) = self.lines.read(&mut self.reader)? else { return Ok(None) };
        let number = self.lines.number();
        let text = match kind {
            LineKind::Whole => text_of(self.lines.bytes()),
            LineKind::TooLong => Err(BadLine::TooLong { most: self.max_bytes }),
            LineKind::Endless => {
                let problem = format!(
                    "line {number} does not end within {ENDLESS_LINE_BYTES} bytes: this is no file \
                     of lines"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
        };
        Ok(Some((number, text)))
    }

    /// Skips the lines up to number `last`.
    ///
    /// # Errors
    /// If reading fails.
    pub fn skip_to(&mut self, last: u64) -> io::Result<()> {
        while self.lines.number() < last && self.lines.skip(&mut self.reader)? {}
        Ok(())
    }

    /// The number of the last line that is not blank, 0 if there is none; reads all remaining
    /// lines.
    ///
    /// # Errors
    /// If reading fails.
    pub fn last_line(mut self) -> io::Result<u64> {
        let mut last = 0;
        while let Some((number, text)) = self.line()? {
            if !text.is_ok_and(|text| text.trim().is_empty()) {
                last = number;
            }
        }
        Ok(last)
    }

    /// The number of remaining lines; reads them all.
    ///
    /// # Errors
    /// If reading fails.
    pub fn count(mut self) -> io::Result<u64> {
        let before = self.lines.number();
        self.skip_to(u64::MAX)?;
        Ok(self.lines.number() - before)
    }
}

fn splitter(max_bytes: usize) -> LineSplitter {
    LineSplitter::new(LineLimits { most: max_bytes, skipped: ENDLESS_LINE_BYTES as u64 })
}

/// The text of a line, without its end. Some editors begin a file with a byte order mark.
fn text_of(line: &[u8]) -> Result<String, BadLine> {
    let text = std::str::from_utf8(line).map_err(|_| BadLine::NotText)?;
    Ok(text.trim_start_matches('\u{feff}').trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn source(bytes: &[u8]) -> Source {
        Source::of("here".to_owned(), io::Cursor::new(bytes.to_vec())).unwrap()
    }

    fn all(mut source: Source) -> Vec<Numbered> {
        std::iter::from_fn(|| source.line().unwrap()).collect()
    }

    #[test]
    fn lines_have_numbers_and_no_ends() {
        let lines = all(source(b"\xef\xbb\xbfa\r\n\nb\xff\nlast"));
        let text = |s: &str| Ok(s.to_owned());
        assert_eq!(
            lines,
            [(1, text("a")), (2, text("")), (3, Err(BadLine::NotText)), (4, text("last"))]
        );
        assert!(all(source(b"")).is_empty());
    }

    #[test]
    fn a_line_without_end_costs_only_itself() {
        let mut bytes = vec![b'x'; MAX_LINE_BYTES + 5];
        bytes.extend(b"\nnext\n");
        let lines = all(source(&bytes));
        let most = MAX_LINE_BYTES;
        assert_eq!(lines, [(1, Err(BadLine::TooLong { most })), (2, Ok("next".to_owned()))]);
        assert!(all(source(&bytes).with_max_bytes(most + 5))[0].1.is_ok());
        // Exactly as long as allowed.
        let mut bytes = vec![b'x'; MAX_LINE_BYTES];
        bytes.push(b'\n');
        assert!(all(source(&bytes))[0].1.is_ok());
    }

    #[test]
    fn a_line_that_never_ends_is_an_error() {
        let mut source = Source::of("zeros".to_owned(), io::repeat(0)).unwrap();
        let error = source.line().unwrap_err().to_string();
        assert!(error.contains("line 1 does not end within 536870912 bytes"), "{error}");
    }

    #[test]
    fn what_is_gzipped_is_read_all_the_same() {
        let mut gz = Vec::new();
        for part in ["a\nb\n", "c\n"] {
            let mut encoder = GzEncoder::new(&mut gz, Compression::fast());
            encoder.write_all(part.as_bytes()).unwrap();
            encoder.finish().unwrap();
        }
        assert_eq!(all(source(&gz)), all(source(b"a\nb\nc\n")));
        assert_eq!(source(&gz).count().unwrap(), 3);
        let mut cut = source(&gz[..gz.len() - 5]);
        assert!((0..4).any(|_| cut.line().is_err()), "half a file is an error, not an end");
    }

    /// Hands out one line at a time, like someone who types.
    struct Typist(Vec<&'static [u8]>);

    impl Read for Typist {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let Some(line) = self.0.pop() else { return Ok(0) };
            to[..line.len()].copy_from_slice(line);
            Ok(line.len())
        }
    }

    #[test]
    fn nobody_waits_for_what_is_not_there_yet() {
        let mut source = Source::of("typed".to_owned(), Typist(vec![b"c\n", b"a\nb\n"])).unwrap();
        assert!(source.has_line());
        assert_eq!(source.line().unwrap(), Some((1, Ok("a".to_owned()))));
        assert!(source.has_line());
        assert_eq!(source.line().unwrap(), Some((2, Ok("b".to_owned()))));
        assert!(!source.has_line());
        assert_eq!(source.line().unwrap(), Some((3, Ok("c".to_owned()))));
    }

    #[test]
    fn lines_are_passed_over_by_number() {
        let mut source = source(b"a\nb\nc\n");
        source.skip_to(2).unwrap();
        assert_eq!(source.line().unwrap(), Some((3, Ok("c".to_owned()))));
        source.skip_to(9).unwrap();
        assert_eq!(source.line().unwrap(), None);
    }
}
