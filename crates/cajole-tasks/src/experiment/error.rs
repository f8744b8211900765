//! Why an experiment on corpora could not be finished.

use std::collections::{BTreeMap, BTreeSet};

use cajole_core::UnknownGroup;

use super::kept::file_name;
use super::{CorpusError, KeptError};
use crate::checkpoint::LoadError;

/// Why the experiment could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] LoadError),
    /// A corpus could not be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A network is for none.
    #[error(transparent)]
    Unknown(#[from] UnknownCorpus),
    /// Two networks would be kept in one place.
    #[error("two networks are called {name:?}; give each a name of its own")]
    SameName {
        /// The name.
        name: String,
    },
    /// A preset does not fit a network.
    #[error(transparent)]
    Preset(#[from] UnknownGroup),
    /// A result could not be kept.
    #[error(transparent)]
    Kept(#[from] KeptError),
}

impl ExperimentError {
    /// Unless each of these names is another's: by its name a network and its results are kept.
    pub(crate) fn unless_distinct<'n>(
        names: impl IntoIterator<Item = &'n String>,
    ) -> Result<(), Self> {
        let mut known = BTreeSet::new();
        match names.into_iter().find(|name| !known.insert(file_name(name))) {
            Some(name) => Err(ExperimentError::SameName { name: name.clone() }),
            None => Ok(()),
        }
    }
}

/// A network is for a corpus that is not there.
#[derive(Debug, thiserror::Error)]
#[error("network {network} is for the {kind} {corpus:?}; there are {known}")]
pub struct UnknownCorpus {
    /// The network.
    pub network: String,
    /// What the task calls a corpus.
    pub kind: &'static str,
    /// The one it names.
    pub corpus: String,
    /// The names there are.
    pub known: String,
}

impl UnknownCorpus {
    /// Looks for the corpus that a network names.
    pub(crate) fn unless<'c, C>(
        corpora: &'c BTreeMap<String, C>,
        kind: &'static str,
        network: &str,
        corpus: &str,
    ) -> Result<&'c C, UnknownCorpus> {
        corpora.get(corpus).ok_or_else(|| UnknownCorpus {
            network: network.to_owned(),
            kind,
            corpus: corpus.to_owned(),
            known: corpora.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}
