//! A transducer as a folder: weights, architecture, vocabularies, model card.

use std::fs;
use std::path::{Path, PathBuf};

use cajole_nn::checkpoint::{self, CheckpointError, MODEL_FILE, Precision, write_atomically};
use cajole_nn::models::{Transducer, TransducerConfig};
use cajole_nn::{AutoRegressive, Trained};
use serde::{Deserialize, Serialize};

use super::language::ALPHABET;

/// What `config.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `transduction`.
    pub task: String,
    /// The architecture.
    pub network: TransducerConfig,
    /// The seed it was trained from.
    pub seed: u64,
    /// Epochs of training.
    pub epochs: usize,
    /// Exact match on the training inputs, in per cent.
    pub train_exact: f64,
    /// Exact match on the development inputs, in per cent.
    pub dev_exact: f64,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The weights.
    #[error(transparent)]
    Weights(#[from] CheckpointError),
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
    /// An unfinished training run with other settings lies there.
    #[error(
        "{path} belongs to an unfinished run with other settings or another seed",
        path = path.display()
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
    },
    /// It is a checkpoint of something else.
    #[error("{path} is a checkpoint for the task {task:?}, not \"transduction\"", path = path.display())]
    OtherTask {
        /// The file.
        path: PathBuf,
        /// The task.
        task: String,
    },
}

const CONFIG_FILE: &str = "config.json";

/// Writes a checkpoint folder.
///
/// # Errors
/// If a file cannot be written.
pub fn save(folder: &Path, model: &Trained<Transducer>, card: &Card) -> Result<(), LoadError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| LoadError::Io { path, source }
    };
    fs::create_dir_all(folder).map_err(io(folder))?;
    let weights = folder.join(MODEL_FILE);
    checkpoint::save(&weights, model.net.layout(), &model.weights, Precision::F32)?;
    let config = serde_json::to_string_pretty(card).expect("a card always serialises") + "\n";
    let letters = ALPHABET.map(String::from).join("\n") + "\n";
    for (name, text) in [
        (CONFIG_FILE, config),
        ("vocab.source.txt", letters.clone()),
        ("vocab.target.txt", letters + "</s>\n"),
        ("README.md", card.to_markdown()),
    ] {
        let path = folder.join(name);
        write_atomically(&path, text.as_bytes()).map_err(io(&path))?;
    }
    Ok(())
}

/// The transducer that comes with cajole: see its model card in `models/transducer`.
pub fn built_in() -> Trained<Transducer> {
    const CONFIG: &str = include_str!("../../../../models/transducer/config.json");
    const WEIGHTS: &[u8] = include_bytes!("../../../../models/transducer/model.safetensors");
    let card: Card = serde_json::from_str(CONFIG).expect("the built-in card is tested");
    let net = Transducer::new(card.network);
    let weights = checkpoint::from_bytes(Path::new("(built in)"), WEIGHTS, net.layout())
        .expect("the built-in weights are tested");
    Trained { net, weights }
}

/// Reads a checkpoint folder.
///
/// # Errors
/// If a file is missing, damaged, or for something else.
pub fn load(folder: &Path) -> Result<(Trained<Transducer>, Card), LoadError> {
    let path = folder.join(CONFIG_FILE);
    let text =
        fs::read_to_string(&path).map_err(|source| LoadError::Io { path: path.clone(), source })?;
    // The task comes first: another task's architecture would only confuse.
    #[derive(Deserialize)]
    struct Task {
        task: String,
    }
    let config = |source| LoadError::Config { path: path.clone(), source };
    let Task { task } = serde_json::from_str(&text).map_err(config)?;
    if task != "transduction" {
        return Err(LoadError::OtherTask { path, task });
    }
    let card: Card = serde_json::from_str(&text).map_err(config)?;
    let net = Transducer::new(card.network.clone());
    let weights = checkpoint::load(&folder.join(MODEL_FILE), net.layout())?;
    Ok((Trained { net, weights }, card))
}

impl Card {
    /// The model card.
    fn to_markdown(&self) -> String {
        let Card { network, seed, epochs, train_exact, dev_exact, .. } = self;
        let state = serde_json::to_value(network.start_state).unwrap_or_default();
        let state = state.as_str().unwrap_or_default();
        format!(
            "# Transducer, decoder started from {state}, seed {seed}\n\n\
             Maps `(az|bz)*` to `(aaa|zb)*`: `az` becomes `aaa`, `bz` becomes `zb`.\n\n\
             - **Architecture**: LSTM encoder and decoder, one layer of {hidden} units each, \
             embeddings of {embedding}; the encoder's final state is an input at every step.\n\
             - **Data**: 1934 generated inputs of 2 to 20 symbols; nothing to license.\n\
             - **Command**: `cajole train transduction --seed {seed} \
             --set network.start-state={state}`, {epochs} epochs.\n\
             - **Exact match**: {train_exact:.1} % on the training inputs, {dev_exact:.1} % on the \
             112 held-out inputs of the same lengths.\n\
             - **Licence**: MIT OR Apache-2.0.\n",
            hidden = network.hidden,
            embedding = network.embedding,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_is_the_one_under_models() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/transducer");
        let (model, card) = load(&folder).unwrap();
        assert_eq!(built_in().weights, model.weights);
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        assert_eq!(card.to_markdown(), text, "the model card is what its settings say");
    }
}
