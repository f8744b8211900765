//! Lines of a file or of standard input, each with its number.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, IsTerminal, stdin};
use std::path::Path;

use anyhow::{Context, anyhow};
use cajole_tasks::treebank::read::text_of;

/// The lines of one source, in order. What cannot be read ends it; a line that is no text does not.
pub(crate) struct Lines {
    /// What the source is called in messages.
    pub(crate) name: String,
    reader: Box<dyn BufRead>,
    number: usize,
    chunk: usize,
}

impl Lines {
    /// Lines that are worked on together: bounds memory, and keeps all cores busy.
    pub(crate) const CHUNK: usize = 64;

    /// Those of standard input. Someone who types wants an answer to every line.
    pub(crate) fn typed() -> Self {
        let chunk = if stdin().is_terminal() { 1 } else { Lines::CHUNK };
        let (name, reader) = ("standard input".to_owned(), Box::new(BufReader::new(stdin())));
        Lines { name, reader, number: 0, chunk }
    }

    /// Those of a file; it may be gzipped.
    pub(crate) fn of(path: &Path) -> anyhow::Result<Self> {
        let cannot = || format!("cannot read {}", path.display());
        let reader: Box<dyn BufRead> = match path.extension().is_some_and(|end| end == "gz") {
            true => Box::new(Cursor::new(text_of(path).with_context(cannot)?)),
            false => Box::new(BufReader::new(File::open(path).with_context(cannot)?)),
        };
        Ok(Lines { name: path.display().to_string(), reader, number: 0, chunk: Lines::CHUNK })
    }

    /// The next few, each with its number, from 1; none at the end.
    pub(crate) fn some(&mut self) -> anyhow::Result<Vec<Line>> {
        let mut lines = Vec::new();
        while lines.len() < self.chunk {
            let mut line = Vec::new();
            let read = self.reader.read_until(b'\n', &mut line);
            if read.with_context(|| format!("cannot read {}", self.name))? == 0 {
                break;
            }
            self.number += 1;
            let text = String::from_utf8(line).map_err(|_| anyhow!("the line is not UTF-8"));
            // Some editors begin a file with a byte order mark.
            let text = text.map(|text| text.trim_start_matches('\u{feff}').to_owned());
            lines.push((self.number, text));
        }
        Ok(lines)
    }
}

/// A line with its number.
pub(crate) type Line = (usize, anyhow::Result<String>);
