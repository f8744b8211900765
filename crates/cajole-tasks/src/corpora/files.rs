//! The data files of an experiment: named in its settings, relative to one folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use cajole_files::fingerprint_of;
use cajole_treebank::{Corpus, Problem, ReadError};
use serde::{Deserialize, Serialize};

use crate::words::{Vectors, VectorsError};

/// A hash of the content of each file, by its name in the settings.
pub type Contents = BTreeMap<String, String>;

/// A selection of the sentences in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Selection {
    /// The file, relative to the data folder.
    pub file: String,
    /// Selects only sentences whose id has this prefix.
    #[serde(default)]
    pub ids: String,
    /// Selects only sentences of CoNLL-2012's test documents.
    #[serde(default)]
    pub conll2012: bool,
    /// The domain of all these sentences; by default, each has that of its genre.
    #[serde(default)]
    pub domain: Option<String>,
}

/// Why a corpus cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A sentence file is unusable.
    #[error(transparent)]
    Sentences(#[from] ReadError),
    /// A vector file is unusable.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    /// A selection is empty.
    #[error(
        "no sentence of {path} has an id that begins with {ids:?}{}", mark(*conll2012),
        path = path.display()
    )]
    NoneSelected {
        /// The file.
        path: PathBuf,
        /// The id prefix.
        ids: String,
        /// Whether it should also be of CoNLL-2012.
        conll2012: bool,
    },
    /// A file is named, but no data folder is given.
    #[error(
        "no data folder is given: pass the one that holds {file} with --data or CAJOLE_DATA, or \
         run with --quick, which needs none"
    )]
    NoFolder {
        /// The first file that is needed.
        file: String,
    },
}

fn mark(conll2012: bool) -> &'static str {
    if conll2012 { " and the mark \"c12\": 1 (for roles)" } else { "" }
}

/// Reads the files of an experiment and collects their problems.
pub(crate) struct Files<'a> {
    /// The data folder.
    pub(crate) data: Option<&'a Path>,
    /// Malformed sentences that were skipped.
    pub(crate) problems: Vec<Problem>,
    /// What was in them.
    pub(crate) contents: Contents,
}

impl<'a> Files<'a> {
    /// Files relative to this folder.
    pub(crate) fn of(data: Option<&'a Path>) -> Self {
        Files { data, problems: Vec::new(), contents: Contents::new() }
    }

    /// Reads the selected sentences, one file after the other.
    ///
    /// # Errors
    /// If a file is unusable, or a selection is empty.
    pub(crate) fn read<T>(
        &mut self,
        selections: &[Selection],
        read: impl Fn(&Path) -> Result<Corpus<T>, ReadError>,
        is_selected: impl Fn(&T, &Selection) -> bool,
    ) -> Result<Vec<T>, CorpusError> {
        let mut all = Vec::new();
        for selection in selections {
            let Selection { file, ids, conll2012, .. } = selection;
            let path = self.path(file)?;
            let corpus = read(&path)?;
            self.note(file, &path);
            self.problems.extend(corpus.problems);
            let before = all.len();
            all.extend(corpus.sentences.into_iter().filter(|s| is_selected(s, selection)));
            if all.len() == before {
                let (ids, conll2012) = (ids.clone(), *conll2012);
                return Err(CorpusError::NoneSelected { path, ids, conll2012 });
            }
        }
        Ok(all)
    }

    /// Reads word vectors; empty if no file is named.
    ///
    /// # Errors
    /// If the file is unusable.
    pub(crate) fn vectors(&mut self, file: Option<&str>) -> Result<Vectors, CorpusError> {
        let Some(file) = file else { return Ok(Vectors::default()) };
        let path = self.path(file)?;
        let vectors = Vectors::read(&path)?;
        self.note(file, &path);
        Ok(vectors)
    }

    /// Keeps a hash of a file that was read within the limits of its kind.
    fn note(&mut self, file: &str, path: &Path) {
        if let Some(Ok(hash)) = path.is_file().then(|| File::open(path).and_then(fingerprint_of)) {
            self.contents.insert(file.to_owned(), format!("{hash:016x}"));
        }
    }

    fn path(&self, file: &str) -> Result<PathBuf, CorpusError> {
        let folder = self.data.ok_or_else(|| CorpusError::NoFolder { file: file.to_owned() })?;
        Ok(folder.join(file))
    }
}
