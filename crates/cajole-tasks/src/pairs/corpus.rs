//! Pairs as JSON Lines: one object per line with `input` and `output`. Other fields are ignored.

use std::path::{Path, PathBuf};

use cajole_files::limits::MOST_CORPUS_BYTES;
use cajole_files::{Located, text_of, without_place};
use cajole_treebank::jsonl::rows;
use cajole_treebank::{Corpus, Problem, ReadError};
use serde::Deserialize;
use serde_json::Value;

use super::spelling::{Spelling, SpellingError};

/// An input and its gold output, as symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The input symbols.
    pub input: Vec<String>,
    /// The gold output symbols.
    pub output: Vec<String>,
}

/// The training and dev sets.
#[derive(Clone, Debug)]
pub struct Splits {
    /// The training set.
    pub train: Vec<Pair>,
    /// The dev set, evaluated after every epoch.
    pub dev: Vec<Pair>,
    /// Lines that were skipped.
    pub problems: Vec<Problem>,
}

/// Why a file of pairs cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairsError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] ReadError),
    /// It has no readable pair.
    #[error("{path} has no pair{}", first(problems), path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The malformed lines.
        problems: Vec<Problem>,
    },
}

impl Splits {
    /// Reads both files.
    ///
    /// # Errors
    /// If either is unusable.
    pub fn load(train: &Path, dev: &Path, spelling: Spelling) -> Result<Self, PairsError> {
        let (train, dev) = (read(train, spelling)?, read(dev, spelling)?);
        let problems = train.problems.into_iter().chain(dev.problems).collect();
        Ok(Splits { train: train.sentences, dev: dev.sentences, problems })
    }
}

/// Reads the pairs of a file, which may be gzipped; blank lines are skipped.
///
/// # Errors
/// If the file as a whole is unusable. Problems with single lines are listed in the corpus.
pub fn read(path: &Path, spelling: Spelling) -> Result<Corpus<Pair>, PairsError> {
    let text = text_of(path, MOST_CORPUS_BYTES).map_err(ReadError::from)?;
    let found = rows(&text).map(|Located { line, item }| {
        pair(item, spelling).map_err(|fault| Problem::new(path, line, &fault))
    });
    Corpus::collect(path, found).map_err(|error| match error {
        ReadError::Empty { path, problems } => PairsError::Empty { path, problems },
        other => other.into(),
    })
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("not a pair in JSON: {message}, at column {column}")]
    Json { message: String, column: usize },
    #[error("the {field} {source}")]
    Field { field: &'static str, source: SpellingError },
}

#[derive(Deserialize)]
struct Row {
    input: Value,
    output: Value,
}

fn pair(row: &str, spelling: Spelling) -> Result<Pair, Fault> {
    let Row { input, output } = serde_json::from_str(row)
        .map_err(|error| Fault::Json { message: without_place(&error), column: error.column() })?;
    let symbols = |field: &'static str, value: &Value| {
        spelling.symbols(value).map_err(|source| Fault::Field { field, source })
    };
    Ok(Pair { input: symbols("input", &input)?, output: symbols("output", &output)? })
}

/// The end of the message when every line is malformed.
fn first(problems: &[Problem]) -> String {
    let Some(Problem { line, message, .. }) = problems.first() else { return String::new() };
    let n = problems.len();
    format!(" that can be read; the first of {n} problems is on line {line}: {message}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"{"id": 7, "input": "a + b", "output": ["(", "a", ")"], "more": [{}]}"#;

    fn read_as(name: &str, content: &[u8], spelling: Spelling) -> Result<Corpus<Pair>, PairsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        read(&path, spelling)
    }

    #[test]
    fn text_and_lists_plain_and_packed() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(GOOD.as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        for (name, content) in [("a.jsonl", GOOD.as_bytes()), ("a.jsonl.gz", packed.as_slice())] {
            let corpus = read_as(name, content, Spelling::Words).unwrap();
            assert!(corpus.problems.is_empty());
            assert_eq!(corpus.sentences[0].input, ["a", "+", "b"]);
            assert_eq!(corpus.sentences[0].output, ["(", "a", ")"]);
        }
        let corpus = read_as("a", GOOD.as_bytes(), Spelling::Characters).unwrap();
        assert_eq!(corpus.sentences[0].input, ["a", " ", "+", " ", "b"]);
    }

    /// Puts a malformed line between two good ones, which must survive.
    #[track_caller]
    fn check(malformed: &str, expected: &str) {
        let text = format!("\u{feff}{GOOD}\n\n{malformed}\r\n{GOOD}");
        let corpus = read_as("a.jsonl", text.as_bytes(), Spelling::Words).unwrap();
        assert_eq!(corpus.sentences.len(), 2);
        let [problem] = corpus.problems.as_slice() else { panic!("one problem") };
        assert!(problem.to_string().ends_with(&format!("a.jsonl:3: {expected}")), "{problem}");
    }

    #[test]
    fn faults_report_file_line_and_value() {
        check("{", "not a pair in JSON: EOF while parsing an object, at column 1");
        check(r#"{"input":"a"}"#, "not a pair in JSON: missing field `output`, at column 13");
        let null = r#"{"input":"a","output":null}"#;
        check(null, "the output is null, neither text nor a list of texts");
        let blank = r#"{"input":["a","b c"],"output":""}"#;
        check(blank, "the input has the symbol \"b c\" at 1, which is no word");
    }

    #[test]
    fn unusable_files_are_rejected() {
        let refused =
            |content: &[u8]| read_as("a.jsonl", content, Spelling::Words).unwrap_err().to_string();
        assert!(refused(b"\n \n").ends_with("a.jsonl has no pair"));
        let expected = "the first of 2 problems is on line 1: not a pair in JSON";
        assert!(refused(b"[]\n{}").contains(expected));
        assert!(refused(b"\xff").contains("not UTF-8"));
        let missing = read(Path::new("nowhere.jsonl"), Spelling::Words).unwrap_err();
        assert!(missing.to_string().contains("nowhere.jsonl"));
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(any in ".{0,60}", input in "[\\[\\]\"a ,1{}]{0,9}") {
            let _ = pair(&any, Spelling::Words);
            let row = format!(r#"{{"input": {input}, "output": ""}}"#);
            if let Ok(found) = pair(&row, Spelling::Words) {
                prop_assert!(found.input.iter().all(|symbol| !symbol.is_empty()));
            }
        }
    }
}
