//! AllenNLP archives: settings, weights and vocabulary in one `model.tar.gz`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use cajole_files::{IoError, read_regular};
use cajole_nn::import::{ImportError, damaged, missing};
use cajole_nn::models::elmo::Mix;
use flate2::read::GzDecoder;

use crate::tensors::{Tensors, expect};
use crate::torch;

const CONFIG: &str = "config.json";
const VOCABULARY: &str = "vocabulary";
/// The weights' file name in archives and in the directory of a training run.
const WEIGHTS: [&str; 2] = ["weights.th", "best.th"];

/// A trained AllenNLP network.
#[derive(Clone, Debug)]
pub struct Archive {
    /// `config.json`: what was trained and how. Null if a directory has none.
    pub config: serde_json::Value,
    /// The weights, by AllenNLP's module names.
    pub tensors: Tensors,
    /// The entries of every namespace (`tokens`, `labels`, …), in file order.
    ///
    /// AllenNLP reserves indices 0 and 1 of padded namespaces for padding and unknown words. The
    /// file of such a namespace lists the unknown word, as `@@UNKNOWN@@`, but not the padding: its
    /// first line is index 1. `non_padded_namespaces` lists patterns of the others.
    pub vocabulary: BTreeMap<String, Vec<String>>,
}

impl Archive {
    /// Reads an archive from a `.tar.gz` file or an unpacked directory.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn read(path: &Path) -> Result<Archive, ImportError> {
        if !path.is_dir() {
            return Archive::from_bytes(path, &read_regular(path)?);
        }
        let mut files = folder(path)?;
        // The directory of a training run may lack it.
        files.entry(CONFIG.to_owned()).or_insert_with(|| b"null".to_vec());
        Archive::of(path, &files)
    }

    /// Reads an archive from the bytes of a `.tar.gz` file; `path` is used in error messages.
    ///
    /// # Errors
    /// As [`Archive::read`].
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Archive, ImportError> {
        Archive::of(path, &unpack(path, bytes)?)
    }

    fn of(path: &Path, files: &Files) -> Result<Archive, ImportError> {
        let find = |name: &str| files.get(name).map(|bytes| (path.join(name), bytes));
        let (at, bytes) = find(CONFIG).ok_or_else(|| missing(path, CONFIG))?;
        let config = serde_json::from_slice(bytes).map_err(|e| no_json(&at, &e))?;
        let weights = WEIGHTS.iter().find_map(|name| find(name));
        let (at, bytes) = weights.ok_or_else(|| missing(path, WEIGHTS[0]))?;
        let tensors = torch::from_bytes(&at, bytes)?;
        let vocabulary = files.iter().filter_map(|(name, bytes)| {
            let namespace = name.strip_prefix(VOCABULARY)?.strip_prefix('/')?;
            let namespace = namespace.strip_suffix(".txt")?.to_owned();
            Some(lines(&path.join(name), bytes).map(|lines| (namespace, lines)))
        });
        Ok(Archive { config, tensors, vocabulary: vocabulary.collect::<Result<_, _>>()? })
    }
}

/// The mix of ELMo's layers that AllenNLP stores under `prefix` (`….scalar_mix_0`) in the tensors of
/// `path`.
///
/// # Errors
/// If it is missing or for another number of layers.
pub fn mix(
    path: &Path,
    tensors: &Tensors,
    prefix: &str,
    layers: usize,
) -> Result<Mix, ImportError> {
    let number = |name: String| Ok(expect(tensors, path, &name, &[1])?.values[0]);
    let weights = (0..layers).map(|l| number(format!("{prefix}.scalar_parameters.{l}")));
    let weights = weights.collect::<Result<_, ImportError>>()?;
    let surplus = format!("{prefix}.scalar_parameters.{layers}");
    if tensors.contains_key(&surplus) {
        let problem = format!("{surplus:?} is for a layer that this ELMo does not have");
        return Err(ImportError::Options { path: path.to_owned(), problem });
    }
    Ok(Mix { weights, gamma: number(format!("{prefix}.gamma"))? })
}

type Files = BTreeMap<String, Vec<u8>>;

/// Whether a file of this name is needed.
fn is_wanted(name: &str) -> bool {
    name == CONFIG || WEIGHTS.contains(&name) || name.starts_with(VOCABULARY)
}

fn folder(path: &Path) -> Result<Files, ImportError> {
    let mut files = Files::new();
    for inner in ["", VOCABULARY] {
        let folder = path.join(inner);
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(IoError::at(&folder))? {
            let entry = entry.map_err(IoError::at(&folder))?;
            let Ok(base) = entry.file_name().into_string() else { continue };
            let name = if inner.is_empty() { base } else { format!("{inner}/{base}") };
            if is_wanted(&name) && entry.path().is_file() {
                files.insert(name, read_regular(&entry.path())?);
            }
        }
    }
    Ok(files)
}

fn unpack(path: &Path, packed: &[u8]) -> Result<Files, ImportError> {
    // Weights hardly compress, so anything that expands further is not a network archive.
    let largest = (packed.len() as u64).saturating_mul(64).saturating_add(1 << 20);
    let mut tar = tar::Archive::new(GzDecoder::new(packed).take(largest));
    let mut files = Files::new();
    for entry in tar.entries().map_err(|e| damaged(path, e))? {
        let mut entry = entry.map_err(|e| damaged(path, e))?;
        let name: PathBuf = entry.path().map_err(|e| damaged(path, e))?.into_owned();
        let name = name.strip_prefix(".").unwrap_or(&name).to_string_lossy().into_owned();
        if is_wanted(&name) && entry.header().entry_type().is_file() {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(|e| damaged(path, e))?;
            files.insert(name, bytes);
        }
    }
    Ok(files)
}

/// AllenNLP reads Jsonnet, which allows comments, trailing commas and expressions.
fn no_json(path: &Path, error: &serde_json::Error) -> ImportError {
    damaged(path, format!("{error}; if it is Jsonnet, convert it with `jsonnet` first"))
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<String>, ImportError> {
    let text = std::str::from_utf8(bytes).map_err(|e| damaged(path, e))?;
    Ok(text.lines().map(str::to_owned).collect())
}
