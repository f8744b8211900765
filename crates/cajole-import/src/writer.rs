//! Networks of plain PyTorch state dicts that read and write characters, as checkpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cajole_files::limits::{MOST_SETTINGS_BYTES, MOST_VOCABULARY_BYTES};
use cajole_files::text_of;
use cajole_nn::Trained;
use cajole_nn::import::ImportError;
use cajole_nn::settings::size;
use cajole_tasks::checkpoint::{self, LoadError};
use cajole_tasks::writer::{Card, TextWriter};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::torch;
use crate::torch_transformer::{self, Ends, Names};

/// A mapping file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct MappingFile {
    network: Names,
    symbols: Symbols,
}

/// The symbols of a network.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Symbols {
    /// A JSON object from characters to numbers, beside the mapping file.
    vocabulary: PathBuf,
    /// What the decoder reads first.
    start: String,
    /// What ends an output, and an input if `ends-input` says so.
    end: String,
    /// Stands for characters that the vocabulary lacks.
    unknown: String,
    /// Other entries that write nothing, such as padding.
    #[serde(default)]
    special: Vec<String>,
    #[serde(default)]
    ends_input: bool,
    /// Length limit of outputs, with their end.
    #[serde(deserialize_with = "size")]
    max_length: usize,
}

/// Reads a state dict as a mapping file says. Nothing in it is executed.
///
/// # Errors
/// If a file is missing or damaged, or they do not fit together.
pub fn torch(file: &Path, mapping: &Path) -> Result<(TextWriter, Card), LoadError> {
    let problem = |path: &Path, problem: String| {
        LoadError::Import(ImportError::Options { path: path.to_owned(), problem })
    };
    let text = text_of(mapping, MOST_SETTINGS_BYTES)?;
    let MappingFile { network, symbols } =
        toml::from_str(&text).map_err(|error| problem(mapping, error.to_string()))?;
    let path = mapping.parent().unwrap_or(Path::new("")).join(&symbols.vocabulary);
    let text = text_of(&path, MOST_VOCABULARY_BYTES)?;
    let known: BTreeMap<String, u32> = serde_json::from_str(&text)
        .map_err(|source| LoadError::Config { path: path.clone(), source })?;
    let tokenizer = symbols.tokenizer(&known).map_err(|error| problem(&path, error))?;
    let (start, end) = (known[&symbols.start], known[&symbols.end]);
    let tensors = torch::read(file)?;
    let ends = Ends { start, end, cap: symbols.max_length };
    let (net, weights) = torch_transformer::read(file, &tensors, &network, ends)?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let task = <Card as checkpoint::Card>::TASK.to_owned();
    let card = Card { task, network: net.config.clone(), imported_from: name };
    Ok((TextWriter { model: Trained::new(net, weights), tokenizer }, card))
}

impl Symbols {
    /// A tokenizer that splits text into characters.
    fn tokenizer(&self, known: &BTreeMap<String, u32>) -> Result<String, String> {
        let named = [&self.start, &self.end, &self.unknown];
        let special: BTreeSet<&String> = named.into_iter().chain(&self.special).collect();
        if let Some(name) = special.iter().find(|name| !known.contains_key(**name)) {
            return Err(format!("there is no {name:?}, which the mapping file names"));
        }
        let long = known.keys().find(|name| name.chars().count() != 1 && !special.contains(name));
        if let Some(name) = long {
            return Err(format!(
                "{name:?} is not one character: if it is special, list it as `special` in the \
                 mapping file"
            ));
        }
        let added: Vec<Value> = special
            .iter()
            .map(|name| {
                json!({
                    "id": known[*name], "content": name, "single_word": false, "lstrip": false,
                    "rstrip": false, "normalized": false, "special": true,
                })
            })
            .collect();
        let (end, id) = (&self.end, known[&self.end]);
        let single = match self.ends_input {
            true => json!([
                {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}
            ]),
            false => json!([{"Sequence": {"id": "A", "type_id": 0}}]),
        };
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
            "normalizer": null,
            "pre_tokenizer": {
                "type": "Split", "pattern": {"Regex": "(?s:.)"}, "behavior": "Isolated",
                "invert": false,
            },
            "post_processor": {
                "type": "TemplateProcessing", "single": single, "pair": single,
                "special_tokens": {end: {"id": end, "ids": [id], "tokens": [end]}},
            },
            "decoder": {"type": "Fuse"},
            "model": {"type": "WordLevel", "vocab": known, "unk_token": self.unknown},
        });
        Ok(serde_json::to_string_pretty(&tokenizer).unwrap_or_default() + "\n")
    }
}
