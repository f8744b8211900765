//! Hugging Face folders, as `save_pretrained` writes them: `config.json`, and tensors as safetensors.
//!
//! | `model_type` | network |
//! |---|---|
//! | `bert`, `roberta`, `xlm-roberta`, `camembert`, `distilbert` | [`Folder::tagger`], [`Folder::encoder`] |
//! | `bart`, `marian`, `t5`, `mt5` | [`Folder::encoder_decoder`] |
//!
//! Nothing in a folder is executed. Sizes in `config.json` are limited and compared with the tensors
//! before anything is allocated, so memory is bounded by the files' size. Tensors that a network does
//! not need are ignored.

mod config;
mod encoder_decoders;
mod encoders;
mod generation;
mod weights;

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{ImportError, damaged, io};
use crate::regular;
pub use config::Config;
pub use encoders::ImportedTagger;
pub use generation::Beams;
pub use weights::Weights;

/// Bytes of a JSON file, beyond which it is refused.
const MOST_JSON_BYTES: u64 = 1 << 26;

/// A folder whose tensors are not read yet.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    config: Config,
    /// How outputs are generated, if the folder says so in a file of its own.
    generation: Option<Config>,
    weights: Weights,
}

/// What a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// An encoder.
    Encoder,
    /// An encoder and a decoder.
    EncoderDecoder,
}

impl Folder {
    /// Opens a folder and checks its headers.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open(path: &Path) -> Result<Folder, ImportError> {
        let config = Config::open(path.join("config.json"))?;
        let generation = path.join("generation_config.json");
        let generation = generation.exists().then(|| Config::open(generation)).transpose()?;
        let weights = Weights::open(path)?;
        Ok(Folder { path: path.to_owned(), config, generation, weights })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the folder holds.
    ///
    /// # Errors
    /// If it is a kind of network that is not supported.
    pub fn family(&self) -> Result<Family, ImportError> {
        family(&self.config)
    }
}

/// What a folder holds, by its `config.json` alone.
///
/// # Errors
/// If there is none, or it is of a kind of network that is not supported.
pub fn family_of(folder: &Path) -> Result<Family, ImportError> {
    family(&Config::open(folder.join("config.json"))?)
}

fn family(config: &Config) -> Result<Family, ImportError> {
    match config.model_type()? {
        "bert" | "roberta" | "xlm-roberta" | "camembert" | "distilbert" => Ok(Family::Encoder),
        "bart" | "marian" | "t5" | "mt5" => Ok(Family::EncoderDecoder),
        other => Err(config.problem(format!(
            "\"model_type\" is {other:?}; supported are bert, roberta, xlm-roberta, camembert, \
             distilbert, bart, marian, t5 and mt5"
        ))),
    }
}

/// A JSON file of limited size.
fn json_of<T: DeserializeOwned>(path: &Path) -> Result<T, ImportError> {
    let (_, len) = regular::open(path).map_err(|e| io(path, e))?;
    if MOST_JSON_BYTES < len {
        return Err(damaged(path, format!("{len} bytes; at most {MOST_JSON_BYTES} are read")));
    }
    let bytes = regular::read(path).map_err(|e| io(path, e))?;
    serde_json::from_slice(&bytes).map_err(|e| damaged(path, e))
}
