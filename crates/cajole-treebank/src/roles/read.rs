//! Reads any file with roles; the name determines the format.

use std::path::Path;

use cajole_files::limits::MOST_CORPUS_BYTES;
use cajole_files::{Located, text_of};

use super::error::RoleError;
use super::sentence::Sentence;
use super::{conll2012, jsonl};
use crate::read::{Format, bare_name};
use crate::{Corpus, Problem, ReadError};

/// Reads the sentences of a file, with their trees cleaned (see [`clean`](crate::clean())). Names
/// must end in `.jsonl`, `.conll` or `_conll`, with or without `.gz`.
///
/// # Errors
/// If the file as a whole cannot be used. Problems with single sentences are listed in the corpus.
pub fn read(path: &Path) -> Result<Corpus<Sentence>, ReadError> {
    const KIND: &str = "a file with roles ends in .jsonl, .conll or _conll";
    let format = Format::of(&bare_name(path));
    if !matches!(format, Some(Format::Jsonl | Format::Conll2012)) {
        return Err(ReadError::UnknownFormat { path: path.to_owned(), kind: KIND });
    }
    let text = text_of(path, MOST_CORPUS_BYTES)?;
    let found: Box<dyn Iterator<Item = Result<Located<Sentence>, RoleError>>> = match format {
        Some(Format::Conll2012) => Box::new(conll2012::sentences(&text)),
        _ => Box::new(jsonl::sentences(&text)),
    };
    let named = |RoleError { line, fault }| Problem::new(path, line, &fault);
    Corpus::collect(path, found.map(|found| found.map(|found| found.item).map_err(named)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const GOOD: &str = r#"{"id":"a/0","genre":"x","tree":"(S (VB Go))","srl":[]}"#;

    #[test]
    fn problems_report_file_line_and_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let bad = GOOD.replace("[]", r#"[{"p":3,"lemma":"go","bio":"B-V"}]"#);
        fs::write(&path, format!("{GOOD}\n{bad}\n{GOOD}\n")).unwrap();
        let corpus = read(&path).unwrap();
        assert_eq!(corpus.sentences.len(), 2);
        let [problem] = corpus.problems.as_slice() else { panic!("one problem") };
        let expected = "a.jsonl:2: the predicate \"go\" is word 3, counted from 0, of only 1";
        assert!(problem.to_string().ends_with(expected), "{problem}");
    }

    #[test]
    fn unusable_files_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content, expected) in [
            ("a.ptb", "(A b)", "the name of a file with roles ends in .jsonl, .conll or _conll"),
            ("a.jsonl", "", "has no sentence"),
            ("a.conll", "\na b\n", "problems is on line 2: 2 columns of at least 12"),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(expected), "{error}");
        }
    }
}
