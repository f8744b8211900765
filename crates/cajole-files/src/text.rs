//! The text of a file, plain or gzipped, within the [limits](crate::limits).

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::IoError;
use crate::limits::{MOST_BYTES_OF_LINE, MOST_EXPANSION, UNPACKED_BYTES};
use crate::lines::{LineKind, LineLimits, LineSplitter};
use crate::place::Located;
use crate::reads::open;

/// Why a file cannot be read as text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// It is missing or cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Its name ends in `.gz`, but it cannot be decompressed.
    #[error("{path} is damaged or not gzipped: {source}", path = path.display())]
    Gzip {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// It is too large.
    #[error("{path} holds more than {most} bytes of text: split it", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        most: u64,
    },
    /// A line is too long.
    #[error("{path}:{line}: a line of more than {MOST_BYTES_OF_LINE} bytes", path = path.display())]
    LongLine {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// It is gzipped and holds suspiciously much.
    #[error(
        "{path} holds more than {MOST_EXPANSION} times its size: if you trust it, unpack it first",
        path = path.display()
    )]
    Expands {
        /// The file.
        path: PathBuf,
    },
    /// It is not UTF-8.
    #[error("{path}:{line}: not UTF-8, see byte {offset} of the file", path = path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The offset of the first invalid byte, from 0.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
}

/// Some editors begin a file with a byte order mark, which is not part of its text.
const MARK: char = '\u{feff}';

/// The text of a file, decompressed if its name ends in `.gz`, without a byte order mark.
///
/// # Errors
/// If it cannot be read or decompressed, holds more than `most` bytes, has a line of more than
/// [`MOST_BYTES_OF_LINE`], or is not UTF-8.
pub fn text_of(path: &Path, most: u64) -> Result<String, TextError> {
    let mut lines = Lines::open(path, most)?;
    let mut text = String::new();
    while let Some(line) = lines.whole()? {
        text.push_str(line);
    }
    Ok(text)
}

/// The lines of a file, one at a time, decompressed if its name ends in `.gz`, without a byte order
/// mark.
pub struct Lines {
    path: PathBuf,
    reader: BufReader<Unpacked>,
    lines: LineSplitter,
    /// Bytes that the file may hold.
    most: u64,
}

impl Lines {
    /// Opens a file that may hold up to `most` bytes of text.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path, most: u64) -> Result<Self, TextError> {
        /// A line that is too long makes the file unusable, so nothing is skipped. Its limit has room
        /// for the end `\r\n`, and for one byte that shows that the line is too long.
        const LIMITS: LineLimits = LineLimits { most: MOST_BYTES_OF_LINE + 2, skipped: 0 };
        let file = open(path).map_err(IoError::at(path))?;
        let unpacked = match path.extension().is_some_and(|end| end == "gz") {
            true => Unpacked::Packed(Box::new(MultiGzDecoder::new(Counted { file, count: 0 }))),
            false => Unpacked::Plain(file),
        };
        let (reader, lines) = (BufReader::new(unpacked), LineSplitter::new(LIMITS));
        Ok(Lines { path: path.to_owned(), reader, lines, most })
    }

    /// The next line, without its end; `None` after the last.
    ///
    /// # Errors
    /// If it cannot be read or decompressed, is too long, or is not UTF-8, or if the file is too
    /// large.
    #[expect(clippy::should_implement_trait, reason = "the line is borrowed")]
    pub fn next(&mut self) -> Result<Option<Located<&str>>, TextError> {
        let line = self.lines.number() as usize + 1;
        let whole = self.whole()?;
        let item = whole.map(|whole| &whole[..without_end(whole.as_bytes()).len()]);
        Ok(item.map(|item| Located { line, item }))
    }

    /// The next line, with its end.
    fn whole(&mut self) -> Result<Option<&str>, TextError> {
        let before = self.lines.n_bytes();
        let read = self.lines.read(&mut self.reader);
        let Some(kind) = read.map_err(|error| self.unreadable(error))? else { return Ok(None) };
        let (path, line) = (|| self.path.clone(), self.lines.number() as usize);
        let (bytes, n_bytes) = (self.lines.bytes(), self.lines.n_bytes());
        if n_bytes > self.most {
            return Err(TextError::TooLarge { path: path(), most: self.most });
        }
        if kind != LineKind::Whole || without_end(bytes).len() > MOST_BYTES_OF_LINE {
            return Err(TextError::LongLine { path: path(), line });
        }
        if self.reader.get_ref().is_bomb(n_bytes) {
            return Err(TextError::Expands { path: path() });
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if line == 1 => Ok(Some(text.strip_prefix(MARK).unwrap_or(text))),
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let offset = before as usize + error.valid_up_to();
                Err(TextError::NotUtf8 { path: path(), offset, line })
            }
        }
    }

    fn unreadable(&self, source: io::Error) -> TextError {
        let path = self.path.clone();
        match self.reader.get_ref() {
            Unpacked::Plain(_) => IoError { path, source }.into(),
            Unpacked::Packed(_) => TextError::Gzip { path, source },
        }
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    match line {
        [line @ .., b'\r', b'\n'] | [line @ .., b'\n'] => line,
        line => line,
    }
}

/// The text of a file, which may be packed.
enum Unpacked {
    Plain(File),
    Packed(Box<MultiGzDecoder<Counted>>),
}

impl Unpacked {
    /// Whether a file that held `n_bytes` so far is much smaller than that.
    fn is_bomb(&self, n_bytes: u64) -> bool {
        match self {
            Unpacked::Plain(_) => false,
            Unpacked::Packed(bytes) => {
                let packed = bytes.get_ref().count;
                n_bytes > UNPACKED_BYTES && n_bytes > MOST_EXPANSION.saturating_mul(packed)
            }
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacked::Plain(file) => file.read(buffer),
            Unpacked::Packed(bytes) => bytes.read(buffer),
        }
    }
}

/// A file of which `count` bytes have been read.
struct Counted {
    file: File,
    count: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.file.read(buffer)?;
        self.count += n_read as u64;
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Checks the text of a file, plain and gzipped, or the end of the error.
    #[track_caller]
    fn check(content: &[u8], most: u64, expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [("a", content), ("a.gz", &gzip(content))] {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            let error = |error: TextError| error.to_string().replace(path.to_str().unwrap(), "");
            let found = text_of(&path, most).map_err(error);
            assert_eq!(found.as_deref().map_err(String::as_str), expected);
        }
    }

    #[test]
    fn text_is_verbatim() {
        for text in ["", "a", "a\n", "\na\r\n\r\n é"] {
            check(text.as_bytes(), 100, Ok(text));
        }
    }

    #[test]
    fn one_byte_order_mark_at_the_start_is_no_text() {
        check("\u{feff}(A b)\n\u{feff}".as_bytes(), 100, Ok("(A b)\n\u{feff}"));
        check("\u{feff}\u{feff}a".as_bytes(), 100, Ok("\u{feff}a"));
        check("\u{feff}".as_bytes(), 100, Ok(""));
        check(b"\xef\xbb\xbfa\n\xff", 100, Err(":2: not UTF-8, see byte 5 of the file"));
    }

    #[test]
    fn limits_apply_after_decompression() {
        check(b"(A b)", 5, Ok("(A b)"));
        check(b"(A b)", 4, Err(" holds more than 4 bytes of text: split it"));
        check(b"a\n\nb\xff", 9, Err(":3: not UTF-8, see byte 4 of the file"));
        let longest = "x".repeat(MOST_BYTES_OF_LINE);
        let text = format!("{longest}\r\n{longest}");
        check(text.as_bytes(), u64::MAX, Ok(&text));
        for end in ["x", "x\n", " \r\n", "\rx"] {
            let text = format!("a\n{longest}{end}");
            check(text.as_bytes(), u64::MAX, Err(":2: a line of more than 1048576 bytes"));
        }
    }

    #[test]
    fn a_bomb_is_refused_long_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gz");
        fs::write(&path, gzip(&b"(A b)\n".repeat(8 << 20))).unwrap();
        let mut lines = Lines::open(&path, u64::MAX).unwrap();
        let mut n_bytes = 0;
        let error = loop {
            match lines.next() {
                Ok(line) => n_bytes += line.unwrap().item.len() as u64 + 1,
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("more than 100 times its size"), "{error}");
        // The decompressor reads 32 KB at a time, which count at once.
        assert!(n_bytes <= 2 * UNPACKED_BYTES, "{n_bytes}");
    }
}
