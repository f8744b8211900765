//! Word vectors in GloVe format: a word and its numbers per line, optionally gzipped.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use cajole_files::limits::MOST_VECTORS_BYTES;
use cajole_files::{Lines, Located, TextError, excerpt};

/// Words with their vectors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    /// The words.
    pub words: Vec<String>,
    /// Their vectors, concatenated.
    pub values: Vec<f32>,
    /// The dimension.
    pub size: usize,
}

/// Why a vector file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorsError {
    /// It is missing, damaged, too large or not text.
    #[error(transparent)]
    Read(#[from] TextError),
    /// A line that is not a word and as many numbers as on the first line.
    #[error("{path}:{line}: expected a word and {size} finite numbers, not {text:?}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The expected dimension.
        size: usize,
        /// The beginning of the line.
        text: String,
    },
    /// It is empty.
    #[error("{path} holds no word vectors", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl Vectors {
    /// Reads a file of vectors, line by line. If a word has several vectors, the first is kept.
    ///
    /// # Errors
    /// If it cannot be read, or a line has another format than the first.
    pub fn read(path: &Path) -> Result<Self, VectorsError> {
        let mut lines = Lines::open(path, MOST_VECTORS_BYTES)?;
        let (mut vectors, mut known) = (Vectors::default(), HashSet::new());
        while let Some(Located { line, item: text }) = lines.next()? {
            let before = vectors.values.len();
            let Some(word) = vectors.add(text, line == 1) else {
                return Err(VectorsError::Line {
                    path: path.to_owned(),
                    line,
                    size: vectors.size,
                    text: excerpt(text),
                });
            };
            match known.insert(word.to_owned()) {
                true => vectors.words.push(word.to_owned()),
                false => vectors.values.truncate(before),
            }
        }
        match vectors.words.is_empty() {
            true => Err(VectorsError::Empty { path: path.to_owned() }),
            false => Ok(vectors),
        }
    }

    /// Adds the numbers of a line and returns its word; `None` if the line is malformed. The first
    /// line determines how many there are.
    fn add<'l>(&mut self, line: &'l str, is_first: bool) -> Option<&'l str> {
        let mut fields = line.split_ascii_whitespace();
        let word = fields.next()?;
        let before = self.values.len();
        for field in fields {
            self.values.push(field.parse().ok().filter(|value: &f32| value.is_finite())?);
        }
        let size = self.values.len() - before;
        if is_first {
            self.size = size;
        }
        (0 < size && size == self.size).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_must_have_the_same_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.txt");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            Vectors::read(&path).map_err(|e| e.to_string())
        };
        let vectors = read("the 0.5 -1\n, 2e-1 3\nthe 7 7\n").unwrap();
        assert_eq!((vectors.words, vectors.size), (vec!["the".to_owned(), ",".to_owned()], 2));
        assert_eq!(vectors.values, [0.5, -1.0, 0.2, 3.0]);
        for (text, line) in
            [("a 1 2\nb 1\n", ":2:"), ("a 1 x\n", ":1:"), ("a\n", ":1:"), ("a 1\nb nan\n", ":2:")]
        {
            let error = read(text).unwrap_err();
            assert!(error.contains(line), "{text:?}: {error}");
        }
        assert!(read("").unwrap_err().contains("no word vectors"));
        assert!(Vectors::read(&folder.path().join("none")).is_err());
    }
}
