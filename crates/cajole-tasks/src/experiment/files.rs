//! The files that an experiment reads: named in its settings, looked for in one folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::treebank::{Corpus, Problem, ReadError};
use crate::words::{Vectors, VectorsError};

/// Sentences of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Selection {
    /// The file, relative to the data folder.
    pub file: String,
    /// Only those whose id begins so.
    #[serde(default)]
    pub ids: String,
}

/// Why a corpus cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file of sentences.
    #[error(transparent)]
    Sentences(#[from] ReadError),
    /// A file of vectors.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    /// Nothing is left of a file.
    #[error("no sentence of {path} has an id that begins with {ids:?}", path = path.display())]
    NoneSelected {
        /// The file.
        path: PathBuf,
        /// The beginning asked for.
        ids: String,
    },
    /// A file is named, but no folder to look for it in.
    #[error(
        "no data folder is given: name the one that holds {file} with --data or CAJOLE_DATA, or \
         run with --quick, which needs none"
    )]
    NoFolder {
        /// The first file needed.
        file: String,
    },
}

/// Reads the files of an experiment, and remembers what was malformed in them.
pub struct Files<'a> {
    /// The data folder.
    pub data: Option<&'a Path>,
    /// What was malformed and left out.
    pub problems: Vec<Problem>,
}

impl<'a> Files<'a> {
    /// Files in this folder.
    pub fn of(data: Option<&'a Path>) -> Self {
        Files { data, problems: Vec::new() }
    }

    /// The selected sentences, one file after the other.
    ///
    /// # Errors
    /// If a file cannot be used, or nothing of it is selected.
    pub fn read<T>(
        &mut self,
        selections: &[Selection],
        read: impl Fn(&Path) -> Result<Corpus<T>, ReadError>,
        id: impl Fn(&T) -> &str,
    ) -> Result<Vec<T>, CorpusError> {
        let mut all = Vec::new();
        for Selection { file, ids } in selections {
            let path = self.path(file)?;
            let corpus = read(&path)?;
            self.problems.extend(corpus.problems);
            let before = all.len();
            all.extend(corpus.sentences.into_iter().filter(|s| id(s).starts_with(ids.as_str())));
            if all.len() == before {
                return Err(CorpusError::NoneSelected { path, ids: ids.clone() });
            }
        }
        Ok(all)
    }

    /// Word vectors; none, if no file is named.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn vectors(&self, file: Option<&str>) -> Result<Vectors, CorpusError> {
        match file {
            None => Ok(Vectors::default()),
            Some(file) => Ok(Vectors::read(&self.path(file)?)?),
        }
    }

    fn path(&self, file: &str) -> Result<PathBuf, CorpusError> {
        let folder = self.data.ok_or_else(|| CorpusError::NoFolder { file: file.to_owned() })?;
        Ok(folder.join(file))
    }
}
