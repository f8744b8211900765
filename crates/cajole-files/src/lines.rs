//! Lines of limited length, cut out of bytes however these arrive.
//!
//! Of a line that is too long nothing is kept, so neither a large file nor one without line ends takes
//! more memory than a line may have. What a line means is for others to say: its encoding, a byte
//! order mark, blanks at its end.

use std::io::{self, BufRead};

/// Bytes of memory that are kept for the next line.
const ROOM: usize = 1 << 16;

/// How long lines may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineLimits {
    /// Bytes of a line without its end `\n`, beyond which it is skipped.
    pub most: usize,
    /// Bytes that are skipped of such a line; it is given up when it has not ended within these.
    pub skipped: u64,
}

/// How a line has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// It is within the limits.
    Whole,
    /// It is too long.
    TooLong,
    /// It is so long that it was given up before its end.
    Endless,
}

/// Cuts bytes into lines, which arrive in pieces or are read.
#[derive(Debug)]
pub struct LineSplitter {
    limits: LineLimits,
    /// The line so far, or nothing if it is too long.
    bytes: Vec<u8>,
    /// Bytes of the line so far, and those that were skipped.
    length: u64,
    number: u64,
    n_bytes: u64,
    /// Whether the line has ended, so that what follows belongs to the next.
    is_complete: bool,
}

impl LineSplitter {
    /// A splitter that has not seen any bytes.
    pub fn new(limits: LineLimits) -> LineSplitter {
        LineSplitter {
            limits,
            bytes: Vec::new(),
            length: 0,
            number: 0,
            n_bytes: 0,
            is_complete: true,
        }
    }

    /// Takes bytes off the front of a piece, up to the end of a line. If the piece does not end the
    /// line, all of it is taken, and the next piece goes on with the line.
    pub fn take(&mut self, piece: &mut &[u8]) -> Option<LineKind> {
        if piece.is_empty() {
            return None;
        }
        if self.is_complete {
            self.begin();
        }
        let most = self.limits.most as u64;
        if self.length <= most {
            // One byte past the limit shows that the line is too long, unless it is its end.
            let taken = up_to_line_end(piece, most + 1 - self.length);
            self.bytes.extend_from_slice(taken);
            self.go_on(piece, taken.len());
            if taken.ends_with(b"\n") {
                return self.end_as(LineKind::Whole);
            }
            if self.length <= most {
                return None;
            }
            self.bytes = Vec::new();
        }
        let before = self.length - (most + 1);
        let taken = up_to_line_end(piece, self.limits.skipped.saturating_sub(before));
        self.go_on(piece, taken.len());
        if before + taken.len() as u64 >= self.limits.skipped {
            return self.end_as(LineKind::Endless);
        }
        match taken.ends_with(b"\n") {
            true => self.end_as(LineKind::TooLong),
            false => None,
        }
    }

    /// Ends the last line, which has no `\n`; `None` if there is none.
    pub fn finish(&mut self) -> Option<LineKind> {
        match self.is_complete {
            true => None,
            false if self.length <= self.limits.most as u64 => self.end_as(LineKind::Whole),
            false => self.end_as(LineKind::TooLong),
        }
    }

    /// Reads the next line; `None` after the last.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(&mut self, reader: &mut impl BufRead) -> io::Result<Option<LineKind>> {
        loop {
            let piece = match reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece?,
            };
            if piece.is_empty() {
                return Ok(self.finish());
            }
            let mut rest = piece;
            let kind = self.take(&mut rest);
            let n_taken = piece.len() - rest.len();
            reader.consume(n_taken);
            if kind.is_some() {
                return Ok(kind);
            }
        }
    }

    /// Passes over the next line, however long it is. Returns whether there was one.
    ///
    /// # Errors
    /// If reading fails.
    pub fn skip(&mut self, reader: &mut impl BufRead) -> io::Result<bool> {
        let n_skipped = reader.skip_until(b'\n')?;
        if n_skipped > 0 {
            self.begin();
            self.is_complete = true;
            self.n_bytes += n_skipped as u64;
        }
        Ok(n_skipped > 0)
    }

    /// The bytes of the line if it is whole, with its end if it has one.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of the line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of all lines so far.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    fn begin(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(ROOM);
        self.length = 0;
        self.number += 1;
        self.is_complete = false;
    }

    fn go_on(&mut self, piece: &mut &[u8], n: usize) {
        *piece = &piece[n..];
        self.length += n as u64;
        self.n_bytes += n as u64;
    }

    fn end_as(&mut self, kind: LineKind) -> Option<LineKind> {
        self.is_complete = true;
        Some(kind)
    }
}

/// The bytes up to and with a line end, but at most `most`; all of these if there is none.
fn up_to_line_end(bytes: &[u8], most: u64) -> &[u8] {
    let within = match usize::try_from(most) {
        Ok(most) if most < bytes.len() => &bytes[..most],
        _ => bytes,
    };
    let mut rest = within;
    let n = rest.skip_until(b'\n').expect("memory can be read");
    &within[..n]
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use proptest::prelude::*;

    use super::*;

    type Lines = Vec<(u64, Result<Vec<u8>, LineKind>)>;

    fn line_of(kind: LineKind, bytes: &[u8]) -> Result<Vec<u8>, LineKind> {
        match kind {
            LineKind::Whole => Ok(bytes.to_vec()),
            kind => Err(kind),
        }
    }

    /// The lines of bytes that arrive in pieces.
    fn split<'p>(limits: LineLimits, pieces: impl IntoIterator<Item = &'p [u8]>) -> Lines {
        let mut splitter = LineSplitter::new(limits);
        let mut lines = Vec::new();
        for mut piece in pieces {
            while let Some(kind) = splitter.take(&mut piece) {
                lines.push((splitter.number(), line_of(kind, splitter.bytes())));
            }
            assert!(piece.is_empty());
        }
        if let Some(kind) = splitter.finish() {
            lines.push((splitter.number(), line_of(kind, splitter.bytes())));
        }
        assert_eq!(splitter.finish(), None);
        lines
    }

    /// The lines of a reader with a buffer of this size.
    fn read(limits: LineLimits, bytes: &[u8], buffer: usize) -> Lines {
        let mut splitter = LineSplitter::new(limits);
        let mut reader = BufReader::with_capacity(buffer, bytes);
        let mut lines = Vec::new();
        while let Some(kind) = splitter.read(&mut reader).unwrap() {
            lines.push((splitter.number(), line_of(kind, splitter.bytes())));
        }
        assert_eq!(splitter.n_bytes(), bytes.len() as u64);
        lines
    }

    const LIMITS: LineLimits = LineLimits { most: 3, skipped: 4 };

    #[test]
    fn lines_keep_their_ends() {
        let lines = split(LIMITS, [&b"a\r\n\nb"[..], b"c", b"", b"\nd"]);
        let expected: [&[u8]; 4] = [b"a\r\n", b"\n", b"bc\n", b"d"];
        assert_eq!(lines, (1..).zip(expected.map(|line| Ok(line.to_vec()))).collect::<Lines>());
        assert_eq!(split(LIMITS, [&b""[..]]), []);
        assert_eq!(split(LIMITS, [&b"\n"[..]]), [(1, Ok(b"\n".to_vec()))]);
    }

    #[test]
    fn a_long_line_costs_only_itself_unless_it_never_ends() {
        let whole = |text: &[u8]| Ok(text.to_vec());
        let (long, endless) = (Err(LineKind::TooLong), Err(LineKind::Endless));
        for (text, expected) in [
            ("xxx\nb", whole(b"xxx\n")),
            ("xxxx\nb", long.clone()),
            // The line end is skipped as well.
            ("xxxxxx\nb", long),
            ("xxxxxxx\nb", endless.clone()),
            ("xxxxxxxxxxxx", endless),
        ] {
            assert_eq!(split(LIMITS, [text.as_bytes()])[0], (1, expected), "{text}");
        }
        let lines = split(LIMITS, [&b"xxxxx\nb\n"[..]]);
        assert_eq!(lines[1], (2, whole(b"b\n")));
        for (text, expected) in [("xxx", whole(b"xxx")), ("xxxx", Err(LineKind::TooLong))] {
            assert_eq!(split(LIMITS, [text.as_bytes()]), [(1, expected)], "{text} at the end");
        }
        let strict = LineLimits { most: 3, skipped: 0 };
        assert_eq!(split(strict, [&b"xxx\n"[..]]), [(1, whole(b"xxx\n"))]);
        let mut splitter = LineSplitter::new(strict);
        let mut piece = &b"xxxxx"[..];
        assert_eq!(splitter.take(&mut piece), Some(LineKind::Endless));
        assert_eq!(piece, b"x", "nothing is read beyond what shows it");
    }

    #[test]
    fn a_long_line_takes_no_memory() {
        let mut splitter = LineSplitter::new(LineLimits { most: 3, skipped: u64::MAX });
        for _ in 0..1000 {
            assert_eq!(splitter.take(&mut &[b'x'; 1000][..]), None);
        }
        assert!(splitter.bytes.capacity() < 100);
        assert_eq!(splitter.take(&mut &b"x\n"[..]), Some(LineKind::TooLong));
        let mut splitter = LineSplitter::new(LineLimits { most: 1 << 30, skipped: 0 });
        let long = vec![b'x'; 1 << 20];
        assert_eq!(splitter.take(&mut &long[..]), None);
        assert_eq!(splitter.take(&mut &b"\na"[..]), Some(LineKind::Whole));
        assert_eq!(splitter.take(&mut &b"a"[..]), None);
        assert!(splitter.bytes.capacity() <= ROOM);
    }

    #[test]
    fn lines_are_passed_over_by_number() {
        let (mut splitter, mut bytes) = (LineSplitter::new(LIMITS), &b"a\nxxxxxxxxxxxxx\nc"[..]);
        assert!(splitter.skip(&mut bytes).unwrap() && splitter.skip(&mut bytes).unwrap());
        assert_eq!(splitter.read(&mut bytes).unwrap(), Some(LineKind::Whole));
        assert_eq!((splitter.number(), splitter.bytes()), (3, &b"c"[..]));
        assert!(!splitter.skip(&mut bytes).unwrap());
        assert_eq!(splitter.read(&mut bytes).unwrap(), None);
        assert_eq!((splitter.number(), splitter.n_bytes()), (3, 17));
    }

    #[test]
    fn an_interrupted_read_is_tried_again() {
        struct Interrupted(bool);
        impl Read for Interrupted {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                self.0 = !self.0;
                if self.0 {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                to[0] = b'x';
                Ok(1)
            }
        }
        let mut splitter = LineSplitter::new(LIMITS);
        let mut reader = BufReader::new(Interrupted(false).take(3));
        assert_eq!(splitter.read(&mut reader).unwrap(), Some(LineKind::Whole));
        assert_eq!(splitter.bytes(), b"xxx");
    }

    /// The definition: lines as `\n` separates them.
    fn by_definition(limits: LineLimits, bytes: &[u8]) -> Lines {
        let kept = limits.most + 1;
        let lines = bytes.split_inclusive(|&byte| byte == b'\n').map(|line| {
            let is_whole = line.strip_suffix(b"\n").unwrap_or(line).len() <= limits.most;
            match line.len().saturating_sub(kept) as u64 >= limits.skipped {
                _ if is_whole => Ok(line.to_vec()),
                true => Err(LineKind::Endless),
                false => Err(LineKind::TooLong),
            }
        });
        (1..).zip(lines).collect()
    }

    proptest! {
        #[test]
        fn pieces_and_buffers_make_no_difference(
            bytes in prop::collection::vec(prop::sample::select(b"xxxx\n\r".to_vec()), 0..60),
            cuts in prop::collection::vec(0..60usize, 0..6),
            buffer in 1..20usize,
            most in 1..6usize,
            skipped in 0..6u64,
        ) {
            let limits = LineLimits { most, skipped };
            let mut expected = by_definition(limits, &bytes);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
            let mut found = [split(limits, pieces), read(limits, &bytes, buffer)];
            // After a line that was given up, what is left of it counts as another.
            let endless = expected.iter().position(|(_, line)| *line == Err(LineKind::Endless));
            if let Some(at) = endless {
                expected.truncate(at + 1);
                found.iter_mut().for_each(|lines| lines.truncate(at + 1));
            }
            let [by_pieces, by_buffers] = found;
            prop_assert_eq!(&by_pieces, &expected);
            prop_assert_eq!(&by_buffers, &expected);
        }
    }
}
