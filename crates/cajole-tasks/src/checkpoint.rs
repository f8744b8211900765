//! A trained network as a folder: weights, architecture, vocabularies, model card.

use std::fs;
use std::path::{Path, PathBuf};

use cajole_nn::checkpoint::{self, CheckpointError, MODEL_FILE, Precision, write_atomically};
use cajole_nn::import::ImportError;
use cajole_nn::{Network, Trained};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What `config.json` says of a network, and what its model card says of it in words.
pub trait Card: Serialize + DeserializeOwned {
    /// The value of the field `task`, by which a folder is recognised.
    const TASK: &'static str;

    /// The model card.
    fn to_markdown(&self) -> String;
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The weights.
    #[error(transparent)]
    Weights(#[from] CheckpointError),
    /// Weights of other people's that lie in it.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A file is missing or cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// `config.json` is not one.
    #[error("{path}: {source}", path = path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// A vocabulary does not have as many entries as the architecture says.
    #[error("{path} has {entries} entries, but the network has {expected}", path = path.display())]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// How many it has.
        entries: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A list of tags is none.
    #[error("{path}: {source}", path = path.display())]
    Tags {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: cajole_core::constraints::TagSetError,
    },
    /// An unfinished training run with other settings lies there.
    #[error(
        "{path} belongs to an unfinished run with other settings or another seed",
        path = path.display()
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
    },
    /// Settings ask for a network of which there is too much.
    #[error("a network of {weights} weights is asked for; there can be no more than 2³²")]
    TooManyWeights {
        /// How many it would have.
        weights: usize,
    },
    /// It is a checkpoint of something else.
    #[error("{path} is a checkpoint for the task {task:?}, not {expected:?}", path = path.display())]
    OtherTask {
        /// The file.
        path: PathBuf,
        /// The task.
        task: String,
        /// The one asked for.
        expected: &'static str,
    },
}

impl LoadError {
    /// For `map_err`: the file system's complaint about `path`.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> LoadError + use<> {
        let path = path.to_owned();
        move |source| LoadError::Io { path, source }
    }
}

const CONFIG_FILE: &str = "config.json";

/// Writes a checkpoint folder, with these vocabulary files in it.
///
/// # Errors
/// If a file cannot be written.
pub fn save<N: Network>(
    folder: &Path,
    model: &Trained<N>,
    card: &impl Card,
    precision: Precision,
    vocabularies: &[(&str, String)],
) -> Result<(), LoadError> {
    fs::create_dir_all(folder).map_err(LoadError::io(folder))?;
    let weights = folder.join(MODEL_FILE);
    checkpoint::save(&weights, model.net.layout(), &model.weights, precision)?;
    let config = serde_json::to_string_pretty(card).expect("a card always serialises") + "\n";
    let others = [(CONFIG_FILE, config), ("README.md", card.to_markdown())];
    for (name, text) in vocabularies.iter().chain(&others) {
        let path = folder.join(name);
        write_atomically(&path, text.as_bytes()).map_err(LoadError::io(&path))?;
    }
    Ok(())
}

/// A vocabulary as a file: an entry a line.
pub fn to_lines(entries: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    entries.into_iter().map(|entry| format!("{}\n", entry.as_ref())).collect()
}

/// The entries in the `text` of a vocabulary file, which should be so many.
///
/// # Errors
/// If they are not.
pub fn from_lines(path: &Path, text: &str, expected: usize) -> Result<Vec<String>, LoadError> {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match lines.len() == expected {
        true => Ok(lines),
        false => {
            let (path, entries) = (path.to_owned(), lines.len());
            Err(LoadError::Vocabulary { path, entries, expected })
        }
    }
}

/// Whether a finished checkpoint lies in `folder`.
pub fn exists(folder: &Path) -> bool {
    folder.join(CONFIG_FILE).exists() && folder.join(MODEL_FILE).exists()
}

/// Reads the card of a checkpoint folder.
///
/// # Errors
/// If it is missing, damaged, or for another task.
pub fn load_card<C: Card>(folder: &Path) -> Result<C, LoadError> {
    let path = folder.join(CONFIG_FILE);
    let text = fs::read_to_string(&path).map_err(LoadError::io(&path))?;
    // The task comes first: another task's architecture would only confuse.
    #[derive(Deserialize)]
    struct Task {
        task: String,
    }
    let config = |source| LoadError::Config { path: path.clone(), source };
    let Task { task } = serde_json::from_str(&text).map_err(config)?;
    if task != C::TASK {
        return Err(LoadError::OtherTask { path, task, expected: C::TASK });
    }
    serde_json::from_str(&text).map_err(config)
}

/// Reads the weights of a checkpoint folder into `net`.
///
/// # Errors
/// If they are missing, damaged, or for another architecture.
pub fn load_weights<N: Network>(folder: &Path, net: N) -> Result<Trained<N>, LoadError> {
    let weights = checkpoint::load(&folder.join(MODEL_FILE), net.layout())?;
    Ok(Trained { net, weights: weights.into() })
}
