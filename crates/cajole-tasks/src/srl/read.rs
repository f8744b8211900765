//! Any file with roles, by its name.

use std::path::Path;

use super::error::RoleError;
use super::sentence::Sentence;
use super::{conll2012, jsonl};
use crate::treebank::read::{Format, bare_name, text_of};
use crate::treebank::{Corpus, Located, Problem, ReadError};

/// Reads the sentences of a file, with their trees cleaned (see
/// [`clean`](crate::treebank::clean())). Names end in `.jsonl`, `.conll` or `_conll`, with or
/// without `.gz`.
///
/// # Errors
/// If the file as a whole is of no use. What is wrong with single sentences is listed in the
/// corpus.
pub fn read(path: &Path) -> Result<Corpus<Sentence>, ReadError> {
    const KIND: &str = "a file with roles ends in .jsonl, .conll or _conll";
    let format = Format::of(&bare_name(path));
    if !matches!(format, Some(Format::Jsonl | Format::Conll2012)) {
        return Err(ReadError::UnknownFormat { path: path.to_owned(), kind: KIND });
    }
    let text = text_of(path)?;
    let found: Box<dyn Iterator<Item = Result<Located<Sentence>, RoleError>>> = match format {
        Some(Format::Conll2012) => Box::new(conll2012::sentences(&text)),
        _ => Box::new(jsonl::sentences(&text)),
    };
    let named = |RoleError { line, fault }| Problem::new(path, line, &fault);
    Corpus::collect(path, found.map(|found| found.map(|found| found.item).map_err(named)))
}
