//! Word vectors in GloVe format: a word and its numbers per line, optionally gzipped.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

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
pub enum VectorsError {
    /// It is missing, damaged or not text.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: std::io::Error,
    },
    /// A line that is not a word and as many numbers as on the first line.
    #[error("{path}:{line}: expected a word and {size} numbers, not {text:?}", path = path.display())]
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
    /// Reads a file of vectors.
    ///
    /// # Errors
    /// If it cannot be read, or a line has another format than the first.
    pub fn read(path: &Path) -> Result<Self, VectorsError> {
        let io = |source| VectorsError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let is_packed = path.extension().is_some_and(|e| e == "gz");
        let text: Box<dyn Read> =
            if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Vectors::from_reader(path, BufReader::new(text))
    }

    /// Reads vectors from text; errors call it `path`.
    ///
    /// # Errors
    /// See [`Vectors::read`].
    pub fn from_reader(path: &Path, text: impl BufRead) -> Result<Self, VectorsError> {
        let mut vectors = Vectors::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.map_err(|source| VectorsError::Io { path: path.to_owned(), source })?;
            let mut fields = line.split_ascii_whitespace();
            let word = fields.next();
            let before = vectors.values.len();
            vectors.values.extend(fields.map_while(|field| field.parse::<f32>().ok()));
            let size = vectors.values.len() - before;
            if i == 0 {
                vectors.size = size;
            }
            let n_fields = line.split_ascii_whitespace().count();
            match word {
                Some(word) if 0 < size && size == vectors.size && n_fields == size + 1 => {
                    vectors.words.push(word.to_owned());
                }
                _ => {
                    return Err(VectorsError::Line {
                        path: path.to_owned(),
                        line: i + 1,
                        size: vectors.size,
                        text: line.chars().take(60).collect(),
                    });
                }
            }
        }
        match vectors.words.is_empty() {
            true => Err(VectorsError::Empty { path: path.to_owned() }),
            false => Ok(vectors),
        }
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
        let vectors = read("the 0.5 -1\n, 2e-1 3\n").unwrap();
        assert_eq!((vectors.words, vectors.size), (vec!["the".to_owned(), ",".to_owned()], 2));
        assert_eq!(vectors.values, [0.5, -1.0, 0.2, 3.0]);
        for (text, line) in [("a 1 2\nb 1\n", ":2:"), ("a 1 x\n", ":1:"), ("a\n", ":1:")] {
            let error = read(text).unwrap_err();
            assert!(error.contains(line), "{text:?}: {error}");
        }
        assert!(read("").unwrap_err().contains("no word vectors"));
        assert!(Vectors::read(&folder.path().join("none")).is_err());
    }
}
