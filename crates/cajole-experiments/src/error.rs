//! Errors of the corpus experiments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cajole_core::UnknownParameter;
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::corpora::CorpusError;

use super::KeptError;
use super::kept::file_name;

/// Why an experiment could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] LoadError),
    /// A corpus could not be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A network names an unknown corpus.
    #[error(transparent)]
    Unknown(#[from] UnknownCorpus),
    /// Two networks share a name.
    #[error("two networks are called {name:?}; give each a name of its own")]
    SameName {
        /// The name.
        name: String,
    },
    /// A network is named that is not configured.
    #[error("no network is called {name:?}; there are {known}")]
    NoNetwork {
        /// The name.
        name: String,
        /// The configured names.
        known: String,
    },
    /// A folder holds none of the networks.
    #[error("{folder} holds none of the networks {names}; each is a folder with a checkpoint", folder = folder.display())]
    NoNets {
        /// The folder.
        folder: PathBuf,
        /// Their names.
        names: String,
    },
    /// A variant does not fit its preset.
    #[error("the variant {name:?}: {problem}")]
    Variant {
        /// The variant.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A preset does not fit a network.
    #[error(transparent)]
    Preset(#[from] UnknownParameter),
    /// A result could not be saved.
    #[error(transparent)]
    Kept(#[from] KeptError),
}

impl ExperimentError {
    /// Errors if two networks share a name, by which networks and results are stored.
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

/// A network names an unknown corpus.
#[derive(Debug, thiserror::Error)]
#[error("network {network} is for the {kind} {corpus:?}; there are {known}")]
pub struct UnknownCorpus {
    /// The network.
    pub network: String,
    /// The task's word for a corpus.
    pub kind: &'static str,
    /// The unknown name.
    pub corpus: String,
    /// The known names.
    pub known: String,
}

impl UnknownCorpus {
    /// Looks up the corpus that a network names.
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
