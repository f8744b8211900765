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
mod foreign;
mod generation;
mod weights;

use std::path::{Path, PathBuf};

use cajole_core::Symbol;
use cajole_files::RegularFile;
use serde::de::DeserializeOwned;

use super::{ImportError, damaged};
use crate::models::transformer::Generation;
pub use config::Config;
pub use encoders::ImportedTagger;
pub use foreign::foreign;
pub use generation::Beams;
use generation::Reading;
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

/// The settings of a folder, without its tensors.
#[derive(Clone, Debug)]
pub struct FolderSettings {
    config: Config,
    /// How outputs are generated, if the folder says so in a file of its own.
    generation: Option<Config>,
}

impl FolderSettings {
    /// Reads `config.json` and, if there is one, `generation_config.json`.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open(folder: &Path) -> Result<FolderSettings, ImportError> {
        let generation = folder.join("generation_config.json");
        let generation = generation.exists().then(|| Config::open(generation)).transpose()?;
        Ok(FolderSettings { config: config_of(folder)?, generation })
    }

    fn reading(&self) -> Reading<'_> {
        Reading::new(&self.config, self.generation.as_ref())
    }

    /// How an encoder-decoder writes.
    ///
    /// # Errors
    /// If the folder holds another network, or a setting is not what it should be.
    pub fn writing(&self) -> Result<Writing, ImportError> {
        if family(&self.config)? != Family::EncoderDecoder {
            return Err(self.config.problem("this is no encoder-decoder"));
        }
        let (reading, reads) = (self.reading(), self.config.size("vocab_size")?);
        let writes = match self.config.flag_or("share_encoder_decoder_embeddings", true)? {
            true => reads,
            false => self.config.size("decoder_vocab_size")?,
        };
        let positions = match self.config.model_type()? {
            "bart" | "marian" => self.config.positions("max_position_embeddings")?,
            _ => usize::MAX,
        };
        Ok(Writing {
            reads,
            writes,
            start: reading.start(writes)?,
            end: reading.ends(writes)?[0],
            cap: reading.cap(positions)?,
            positions,
            generation: reading.generation(writes)?,
            beams: reading.beams()?,
        })
    }

    /// Differences from transformers, one sentence for each setting.
    pub fn remarks(&self) -> Vec<String> {
        match family(&self.config) {
            Ok(Family::EncoderDecoder) => self.reading().remarks(),
            _ => Vec::new(),
        }
    }

    /// The names of an encoder's labels.
    ///
    /// # Errors
    /// If they are not what they should be.
    pub fn labels(&self) -> Result<Vec<String>, ImportError> {
        self.config.labels()
    }

    /// The number of symbols that are read.
    ///
    /// # Errors
    /// If the folder does not say.
    pub fn symbols(&self) -> Result<usize, ImportError> {
        self.config.size("vocab_size")
    }
}

/// How an encoder-decoder writes, beside its weights.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Writing {
    /// The number of symbols that are read.
    pub reads: usize,
    /// The number of symbols that are written.
    pub writes: usize,
    /// The symbol that the decoder reads first.
    pub start: Symbol,
    /// The symbols that end an output.
    pub end: Symbol,
    /// The most symbols of an output, with its end.
    pub cap: usize,
    /// The most symbols of an input.
    pub positions: usize,
    /// The symbols that may be written, and that have to be.
    pub generation: Generation,
    /// The search that `generate` runs.
    pub beams: Beams,
}

impl Folder {
    /// Opens a folder and checks its headers.
    ///
    /// # Errors
    /// If a file is missing or damaged, or the folder holds something that is not read.
    pub fn open(path: &Path) -> Result<Folder, ImportError> {
        if let Some(problem) = foreign(path) {
            return Err(ImportError::Options { path: path.to_owned(), problem });
        }
        let settings = FolderSettings::open(path)?;
        if let Some(quantization) = settings.config.get("quantization_config") {
            let method = quantization.get("quant_method").and_then(|method| method.as_str());
            return Err(settings.config.problem(format!(
                "\"quantization_config\" says that weights are quantized by {:?}, and such weights are not \
                 read: load the network with transformers, call dequantize() and save it again",
                method.unwrap_or("an unnamed method")
            )));
        }
        let weights = Weights::open(path)?;
        let FolderSettings { config, generation } = settings;
        Ok(Folder { path: path.to_owned(), config, generation, weights })
    }

    fn reading(&self) -> Reading<'_> {
        Reading::new(&self.config, self.generation.as_ref())
    }

    /// The search that `generate` runs with this folder, unless told otherwise.
    ///
    /// # Errors
    /// If a setting is not what it should be.
    pub fn beams(&self) -> Result<Beams, ImportError> {
        self.reading().beams()
    }

    /// Differences from transformers with this folder, one sentence for each setting.
    pub fn remarks(&self) -> Vec<String> {
        let (config, generation) = (self.config.clone(), self.generation.clone());
        FolderSettings { config, generation }.remarks()
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
    family(&config_of(folder)?)
}

/// `config.json`, by the keys that networks are read with.
fn config_of(folder: &Path) -> Result<Config, ImportError> {
    let config = Config::open(folder.join("config.json"))?;
    let names: &[(&str, &str)] = match config.model_type()? {
        "distilbert" => &[
            ("hidden_size", "dim"),
            ("num_attention_heads", "n_heads"),
            ("num_hidden_layers", "n_layers"),
        ],
        "t5" | "mt5" => &[
            ("hidden_size", "d_model"),
            ("num_attention_heads", "num_heads"),
            ("num_hidden_layers", "num_layers"),
            ("head_dim", "d_kv"),
        ],
        "bart" | "marian" => &[
            ("hidden_size", "d_model"),
            ("num_attention_heads", "encoder_attention_heads"),
            ("num_hidden_layers", "encoder_layers"),
        ],
        _ => &[],
    };
    Ok(config.renamed(names))
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
    let file = RegularFile::open(path)?;
    let len = file.len();
    if len > MOST_JSON_BYTES {
        return Err(damaged(path, format!("{len} bytes; at most {MOST_JSON_BYTES} are read")));
    }
    serde_json::from_slice(&file.read_all()?).map_err(|e| damaged(path, e))
}
