//! A trained network as a folder: weights, architecture, vocabularies, model card.
//!
//! The networks of every task implement [`Checkpoint`]: they provide their vocabularies and how to
//! assemble the network from files. Saving, loading and built-in networks follow from that.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cajole_nn::checkpoint::{self, CheckpointError, MODEL_FILE, Precision, write_atomically};
use cajole_nn::import::ImportError;
use cajole_nn::{Network, Trainable, Trained};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The contents of `config.json`, which also determine the model card.
pub trait Card: Serialize + DeserializeOwned {
    /// The value of the field `task`, which identifies the task of a folder.
    const TASK: &'static str;

    /// The model card in Markdown.
    fn to_markdown(&self) -> String;
}

/// A network with its vocabularies.
pub trait Checkpoint: Sized {
    /// The contents of its `config.json`.
    type Card: Card;

    /// The bare network.
    type Network: Network;

    /// The files of the built-in network, by name.
    const BUILT_IN: &'static [(&'static str, &'static [u8])];

    /// The network with its weights.
    fn trained(&self) -> &Trained<Self::Network>;

    /// Its vocabularies, as (file name, contents).
    fn vocabularies(&self) -> Vec<(&'static str, String)>;

    /// Assembles it from its card and files.
    ///
    /// # Errors
    /// If a file is missing, damaged, or for another architecture.
    fn assemble(card: &Self::Card, files: &Files<'_>) -> Result<Self, LoadError>;

    /// Writes any additional files.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn save_more(&self, _folder: &Path) -> Result<(), LoadError> {
        Ok(())
    }

    /// Writes a checkpoint folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn save(
        &self,
        folder: &Path,
        card: &Self::Card,
        precision: Precision,
    ) -> Result<(), LoadError> {
        self.save_more(folder)?;
        fs::create_dir_all(folder).map_err(LoadError::io(folder))?;
        let model = self.trained();
        let weights = folder.join(MODEL_FILE);
        checkpoint::save(&weights, model.net.layout(), model.weights(), precision)?;
        let config = serde_json::to_string_pretty(card).expect("a card always serialises") + "\n";
        let others = [(CONFIG_FILE, config), (CARD_FILE, card.to_markdown())];
        for (name, text) in self.vocabularies().iter().chain(&others) {
            let path = folder.join(name);
            write_atomically(&path, text.as_bytes()).map_err(LoadError::io(&path))?;
        }
        Ok(())
    }

    /// Reads a checkpoint folder.
    ///
    /// # Errors
    /// If a file is missing, damaged, or belongs to another task.
    fn load(folder: &Path) -> Result<(Self, Self::Card), LoadError> {
        Files::Folder(folder).read()
    }

    /// The built-in network; see its model card under `models/`.
    fn built_in() -> Self {
        let (network, _) =
            Files::BuiltIn(Self::BUILT_IN).read().expect("built-in networks are tested");
        network
    }
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The weights are unusable.
    #[error(transparent)]
    Weights(#[from] CheckpointError),
    /// Imported weights in the folder are unusable.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A file is missing or cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// `config.json` is malformed.
    #[error("{path}: {source}", path = path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The JSON error, with its position.
        source: serde_json::Error,
    },
    /// The size of a vocabulary disagrees with the architecture.
    #[error("{path} has {entries} entries, but the network has {expected}", path = path.display())]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// How many entries it has.
        entries: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A tag list is invalid.
    #[error("{path}: {source}", path = path.display())]
    Tags {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: cajole_core::constraints::TagSetError,
    },
    /// The folder contains an unfinished training run with other settings.
    #[error(
        "{path} belongs to an unfinished run with other settings or another seed",
        path = path.display()
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
    },
    /// Weights have overflowed in training.
    #[error(
        "training diverged in epoch {epoch}: the tensor {tensor:?} has {value}; nothing of this epoch \
         is kept, try a smaller training.step-size"
    )]
    Diverged {
        /// The epoch.
        epoch: usize,
        /// The first tensor with such a weight.
        tensor: String,
        /// The weight.
        value: f32,
    },
    /// The settings describe a network that is too large.
    #[error("the network would have {weights} weights; the limit is 2³²")]
    TooManyWeights {
        /// How many weights it would have.
        weights: usize,
    },
    /// The checkpoint is for another task.
    #[error("{path} is a checkpoint for the task {task:?}, not {expected:?}", path = path.display())]
    OtherTask {
        /// The file.
        path: PathBuf,
        /// Its task.
        task: String,
        /// The expected task.
        expected: &'static str,
    },
}

impl LoadError {
    /// For `map_err`: attaches `path` to an I/O error.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> LoadError + use<> {
        let path = path.to_owned();
        move |source| LoadError::Io { path, source }
    }
}

const CONFIG_FILE: &str = "config.json";
const CARD_FILE: &str = "README.md";

/// The files of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub enum Files<'a> {
    /// Files in this folder.
    Folder(&'a Path),
    /// Built-in files, by name.
    BuiltIn(&'static [(&'static str, &'static [u8])]),
}

impl Files<'_> {
    /// The path of a file. Built-in files are in no folder; their path is only for messages.
    pub fn path(&self, name: &str) -> PathBuf {
        match self {
            Files::Folder(folder) => folder.join(name),
            Files::BuiltIn(_) => Path::new("(built in)").join(name),
        }
    }

    /// Reads a file as text.
    ///
    /// # Errors
    /// If it is missing or not UTF-8.
    pub fn text(&self, name: &str) -> Result<Cow<'static, str>, LoadError> {
        let text = match self {
            Files::Folder(folder) => fs::read_to_string(folder.join(name)).map(Cow::Owned),
            Files::BuiltIn(files) => find(files, name).and_then(|bytes| {
                let text = str::from_utf8(bytes)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e));
                text.map(Cow::Borrowed)
            }),
        };
        text.map_err(LoadError::io(&self.path(name)))
    }

    /// Reads a vocabulary, one entry per line, and checks its size.
    ///
    /// # Errors
    /// If the size is wrong, or the file is missing.
    pub fn entries(&self, name: &str, expected: usize) -> Result<Vec<String>, LoadError> {
        let lines: Vec<String> = self.text(name)?.lines().map(str::to_owned).collect();
        let (path, entries) = (self.path(name), lines.len());
        match entries == expected {
            true => Ok(lines),
            false => Err(LoadError::Vocabulary { path, entries, expected }),
        }
    }

    /// Loads the weights of a network.
    ///
    /// # Errors
    /// If they are missing, damaged, or for another architecture.
    pub fn trained<N: Network>(&self, net: N) -> Result<Trained<N>, LoadError> {
        let path = self.path(MODEL_FILE);
        let weights = match self {
            Files::Folder(_) => checkpoint::load(&path, net.layout())?,
            Files::BuiltIn(files) => {
                let bytes = find(files, MODEL_FILE).map_err(LoadError::io(&path))?;
                checkpoint::from_bytes(&path, bytes, net.layout())?
            }
        };
        Ok(Trained::new(net, weights))
    }

    /// The name of the checkpoint's task.
    fn task(&self) -> Result<String, LoadError> {
        #[derive(Deserialize)]
        struct Task {
            task: String,
        }
        Ok(self.config::<Task>()?.task)
    }

    fn config<C: DeserializeOwned>(&self) -> Result<C, LoadError> {
        let path = self.path(CONFIG_FILE);
        serde_json::from_str(&self.text(CONFIG_FILE)?)
            .map_err(|source| LoadError::Config { path, source })
    }

    fn read<C: Checkpoint>(&self) -> Result<(C, C::Card), LoadError> {
        // Check the task first: errors about another task's architecture would be confusing.
        let (task, expected) = (self.task()?, C::Card::TASK);
        if task != expected {
            return Err(LoadError::OtherTask { path: self.path(CONFIG_FILE), task, expected });
        }
        let card = self.config()?;
        Ok((C::assemble(&card, self)?, card))
    }
}

fn find(files: &[(&str, &'static [u8])], name: &str) -> io::Result<&'static [u8]> {
    let found = files.iter().find(|(other, _)| *other == name);
    found.map(|(_, bytes)| *bytes).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Formats a vocabulary as a file, one entry per line.
pub(crate) fn to_lines(entries: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    entries.into_iter().map(|entry| format!("{}\n", entry.as_ref())).collect()
}

/// Whether `folder` contains a finished checkpoint.
pub fn exists(folder: &Path) -> bool {
    folder.join(CONFIG_FILE).exists() && folder.join(MODEL_FILE).exists()
}

/// The task of the checkpoint in `folder`.
///
/// # Errors
/// If there is no checkpoint.
pub fn task_of(folder: &Path) -> Result<String, LoadError> {
    Files::Folder(folder).task()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pairs, parsing, srl, transduction};

    #[test]
    fn built_in_networks_are_whole() {
        check_built_in::<transduction::Net>();
        check_built_in::<parsing::Parser>();
        check_built_in::<srl::RoleTagger>();
        check_built_in::<pairs::PairsModel>();
    }

    /// The built-in network is the one that its files say, and its model card says so.
    fn check_built_in<C: Checkpoint>() {
        let files = Files::BuiltIn(C::BUILT_IN);
        let (network, card): (C, C::Card) = files.read().unwrap();
        for (name, text) in network.vocabularies() {
            assert_eq!(files.text(name).unwrap(), text, "{name}");
        }
        let facts = card.to_markdown();
        let (_, facts) = facts.split_once("\n\n").unwrap();
        let words = files.text(CARD_FILE).unwrap();
        assert!(words.contains(facts.trim_end()), "the model card agrees with its settings");

        let folder = tempfile::tempdir().unwrap();
        network.save(folder.path(), &card, Precision::F32).unwrap();
        assert!(exists(folder.path()));
        assert_eq!(task_of(folder.path()).unwrap(), C::Card::TASK);
        let (loaded, _) = C::load(folder.path()).unwrap();
        assert_eq!(loaded.trained().weights(), network.trained().weights());
        assert_eq!(loaded.vocabularies(), network.vocabularies());
    }
}
