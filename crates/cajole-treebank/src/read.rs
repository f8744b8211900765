//! Reads any treebank file; the name determines the format.

use std::path::{Path, PathBuf};

use cajole_files::limits::MOST_CORPUS_BYTES;
use cajole_files::{Located, TextError, text_of};

use super::clean::clean;
use super::corpus::{Corpus, Problem, Sentence};
use super::error::{Fault, TreeError};
use super::limits::{MOST_SENTENCES, MOST_WORDS};
use super::{conll2012, jsonl, penn};

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// It has too many sentences.
    #[error("{path} has more than {MOST_SENTENCES} sentences: split it", path = path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
    },
    /// A sentence is too long.
    #[error("{path}:{line}: a sentence of more than {MOST_WORDS} words", path = path.display())]
    LongSentence {
        /// The file.
        path: PathBuf,
        /// The line that is one too many, from 1.
        line: usize,
    },
    /// Its name does not end like any supported format.
    #[error("{path}: the name of {kind}, with or without .gz", path = path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What kind of file was expected, and how such names end.
        kind: &'static str,
    },
    /// It has no readable sentence.
    #[error("{path} has no sentence{}", first(problems), path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The malformed sentences.
        problems: Vec<Problem>,
    },
}

/// Reads the sentences of a file, with their trees cleaned (see [`clean`]).
///
/// Penn files do not name their sentences: an id is the file's stem and an index from 0, and the
/// genre is the stem; for GUM, the part after `GUM_`.
///
/// # Errors
/// If the file as a whole cannot be used. Problems with single trees are listed in the corpus.
pub fn read(path: &Path) -> Result<Corpus, ReadError> {
    const KIND: &str = "a treebank ends in .jsonl, .mrg, .ptb, .trees, .parse, .conll or _conll";
    let name = bare_name(path);
    let unknown = || ReadError::UnknownFormat { path: path.to_owned(), kind: KIND };
    let format = Format::of(&name).ok_or_else(unknown)?;
    let text = text_of(path, MOST_CORPUS_BYTES)?;
    let found: Box<dyn Iterator<Item = Result<Located<Sentence>, TreeError>>> = match format {
        Format::Jsonl => Box::new(jsonl::sentences(&text)),
        Format::Conll2012 => Box::new(conll2012::sentences(&text)),
        Format::Penn => Box::new(penn_sentences(&text, &name)),
    };
    let cleaned = found.map(|found| {
        let Located { line, item: Sentence { id, genre, tree } } = found?;
        let tree = clean(tree).ok_or_else(|| Fault::OnlyTraces.on(line))?;
        Ok(Sentence { id, genre, tree })
    });
    let named = |TreeError { line, fault }| Problem::new(path, line, &fault);
    Corpus::collect(path, cleaned.map(|found| found.map_err(named)))
}

impl<S> Corpus<S> {
    /// Separates sentences from problems.
    ///
    /// # Errors
    /// If there are no sentences, or too many.
    pub fn collect(
        path: &Path,
        found: impl Iterator<Item = Result<S, Problem>>,
    ) -> Result<Self, ReadError> {
        let (mut sentences, mut problems) = (Vec::new(), Vec::new());
        for found in found {
            if sentences.len() + problems.len() == MOST_SENTENCES {
                return Err(ReadError::TooMany { path: path.to_owned() });
            }
            match found {
                Ok(sentence) => sentences.push(sentence),
                Err(problem) => problems.push(problem),
            }
        }
        match sentences.is_empty() {
            true => Err(ReadError::Empty { path: path.to_owned(), problems }),
            false => Ok(Corpus { sentences, problems }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Conll2012,
    Penn,
}

impl Format {
    /// The format of a file, given its name without `.gz`.
    pub(crate) fn of(name: &str) -> Option<Self> {
        const ENDS: [(&str, Format); 7] = [
            (".jsonl", Format::Jsonl),
            (".conll", Format::Conll2012),
            ("_conll", Format::Conll2012),
            (".mrg", Format::Penn),
            (".ptb", Format::Penn),
            (".trees", Format::Penn),
            (".parse", Format::Penn),
        ];
        ENDS.into_iter().find_map(|(end, format)| name.ends_with(end).then_some(format))
    }
}

/// The sentences of a Penn file, given its name without `.gz`.
fn penn_sentences(
    text: &str,
    name: &str,
) -> impl Iterator<Item = Result<Located<Sentence>, TreeError>> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let genre = stem.strip_prefix("GUM_").unwrap_or(stem);
    // Malformed trees count too, so that the others keep their index.
    penn::trees(text).enumerate().map(move |(number, found)| {
        let Located { line, item: tree } = found?;
        let (id, genre) = (format!("{stem}/{number}"), genre.to_owned());
        Ok(Located { line, item: Sentence { id, genre, tree } })
    })
}

/// Whether a file is in a CoNLL-2012 column format rather than JSON lines, judging by its name.
pub fn is_columns(path: &Path) -> bool {
    Format::of(&bare_name(path)) == Some(Format::Conll2012)
}

/// The name of a file without `.gz`.
pub(crate) fn bare_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").unwrap_or(&name).to_owned()
}

/// The end of the message when every tree is malformed.
fn first(problems: &[Problem]) -> String {
    let Some(Problem { line, message, .. }) = problems.first() else { return String::new() };
    format!(
        " that can be read; the first of {} problems is on line {line}: {message}",
        problems.len()
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads a file with this name and content.
    fn read_as(name: &str, content: &[u8]) -> Result<Corpus, ReadError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        read(&path)
    }

    #[track_caller]
    fn check(name: &str, content: &[u8], id: &str, genre: &str) {
        for (name, content) in [(name.to_owned(), content), (format!("{name}.gz"), &gzip(content))]
        {
            let corpus = read_as(&name, content).unwrap();
            assert!(corpus.problems.is_empty());
            let [Sentence { id: found, genre: kind, tree }] = corpus.sentences.as_slice() else {
                panic!("{name} has one sentence, not {}", corpus.sentences.len());
            };
            assert_eq!((found.as_str(), kind.as_str()), (id, genre));
            assert_eq!(tree.to_string(), "(NP (DT a))", "{name} is cleaned");
        }
    }

    #[test]
    fn the_name_determines_the_format() {
        let penn = b"# x\n( (NP-SBJ-1 (DT a) (-NONE- *)))\n";
        check("GUM_news.ptb", penn, "GUM_news/0", "news");
        check("wsj_0001.mrg", penn, "wsj_0001/0", "wsj_0001");
        check("a.trees", penn, "a/0", "a");
        check("a.b.parse", penn, "a.b/0", "a.b");
        let json = br#"{"id":"x/7","genre":"email","tree":"(ROOT (NP-SBJ (DT a)))"}"#;
        check("ewt.dev.jsonl", json, "x/7", "email");
        let conll = b"#begin document (x)\nbn/x 0 0 a DT (TOP(NP-SBJ*)) -\n\n#end document\n";
        check("x.gold_conll", conll, "bn/x/0/0", "bn");
        check("x.v4_auto_conll", conll, "bn/x/0/0", "bn");
        check("x.conll", conll, "bn/x/0/0", "bn");
    }

    #[test]
    fn malformed_trees_are_listed_and_counted() {
        let corpus = read_as("a.ptb", b"(A b)\n(C)\n( (-NONE- *))\n(D e)\n").unwrap();
        let ids: Vec<_> = corpus.sentences.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["a/0", "a/3"]);
        let problems: Vec<_> = corpus.problems.iter().map(Problem::to_string).collect();
        assert_eq!(problems.len(), 2);
        assert!(problems[0].ends_with("a.ptb:2: (C) has neither a word nor children"));
        assert!(problems[1].ends_with("a.ptb:3: nothing is left of the tree without its traces"));
    }

    #[track_caller]
    fn check_refused(name: &str, content: &[u8], expected: &str) {
        let error = read_as(name, content).unwrap_err().to_string();
        assert!(error.contains(name), "{error} names the file");
        assert!(error.contains(expected), "{error} says {expected}");
    }

    #[test]
    fn unusable_files_are_rejected() {
        check_refused("a.txt", b"(A b)", "ends in .jsonl, .mrg");
        check_refused("a.gz", b"(A b)", "ends in .jsonl, .mrg");
        for name in ["a.ptb", "a.jsonl", "a.conll"] {
            check_refused(name, b"", "has no sentence");
            check_refused(name, b"\n \n", "has no sentence");
        }
        check_refused("a.ptb", b"# (A b)\n", "has no sentence");
        check_refused("a.ptb", b"\n(A)\n(B)", "the first of 2 problems is on line 2: (A) has");
        check_refused("a.ptb", b"(A b)\n(C \xff)", "a.ptb:2: not UTF-8, see byte 9");
        check_refused("a.ptb.gz", b"(A b)", "damaged or not gzipped");
        check_refused("a.ptb.gz", b"", "damaged or not gzipped");
        check_refused("a.ptb.gz", &gzip(b""), "has no sentence");
        let whole = gzip(&b"(A b)\n".repeat(100));
        check_refused("a.ptb.gz", &whole[..whole.len() - 3], "damaged or not gzipped");
        let missing = read(Path::new("no such folder/a.ptb")).unwrap_err();
        assert!(matches!(missing, ReadError::Text(TextError::Io(_))), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("b.ptb");
        fs::create_dir(&folder).unwrap();
        assert!(matches!(read(&folder), Err(ReadError::Text(TextError::Io(_)))));
    }

    #[test]
    fn all_gzip_members_are_read() {
        let members = [gzip(b"(A b)\n"), gzip(b"(C d)\n")].concat();
        assert_eq!(read_as("a.ptb.gz", &members).unwrap().sentences.len(), 2);
    }

    #[test]
    fn endless_sentences_end_in_an_error() {
        for found in [Ok(()), Err(Problem::new(Path::new("a"), 1, &"odd"))] {
            let endless = std::iter::repeat_with(|| found.clone());
            let error = Corpus::collect(Path::new("a.ptb"), endless).unwrap_err().to_string();
            assert_eq!(error, "a.ptb has more than 1000000 sentences: split it");
        }
    }

    #[test]
    fn column_formats_are_recognized_by_name() {
        for (name, expected) in
            [("a.gold_conll", true), ("b/a.conll.gz", true), ("conll.jsonl", false)]
        {
            assert_eq!(is_columns(Path::new(name)), expected, "{name}");
        }
    }
}
