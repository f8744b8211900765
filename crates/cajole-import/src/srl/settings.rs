//! Reads the architecture of an AllenNLP role labeler from `config.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cajole_nn::import::ImportError;
use cajole_nn::models::{CellKind, Reading};
use cajole_tasks::words::Lookup;
use serde_json::{Map, Value};

/// The settings that affect what the network computes.
#[derive(Debug)]
pub(super) struct Settings {
    /// The input embedders, in concatenation order.
    pub(super) embedders: Vec<(String, Embedding)>,
    /// Size of the predicate-indicator embedding.
    pub(super) indicator: usize,
    pub(super) encoder: Encoder,
    pub(super) embedding_dropout: f32,
    /// The corpus it was trained on.
    pub(super) corpus: String,
}

/// Where the vectors of words come from.
#[derive(Debug)]
pub(super) enum Embedding {
    /// An embedding table with one row per vocabulary entry.
    Words { namespace: String, size: usize, lookup: Lookup },
    /// ELMo.
    Elmo,
}

#[derive(Debug)]
pub(super) struct Encoder {
    pub(super) kind: EncoderKind,
    /// Input size.
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) recurrent_dropout: f32,
    pub(super) dropout: f32,
}

/// The supported encoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EncoderKind {
    /// PyTorch's LSTM.
    Lstm,
    /// AllenNLP's LSTM with alternating directions.
    Alternating { cell: CellKind, input_bias: bool },
}

impl EncoderKind {
    pub(super) fn cell(self) -> CellKind {
        match self {
            EncoderKind::Lstm => CellKind::Lstm,
            EncoderKind::Alternating { cell, .. } => cell,
        }
    }

    pub(super) fn reading(self) -> Reading {
        match self {
            EncoderKind::Lstm => Reading::Forward,
            EncoderKind::Alternating { .. } => Reading::Alternating,
        }
    }
}

impl Settings {
    /// Reads the settings of the archive `path`.
    ///
    /// # Errors
    /// If they are missing or need an unsupported network.
    pub(super) fn of(path: &Path, config: &Value) -> Result<Self, ImportError> {
        if config.is_null() {
            let name = "config.json".to_owned();
            return Err(ImportError::Missing { path: path.to_owned(), name });
        }
        let root = Part { path: path.join("config.json"), at: String::new(), value: config };
        let model = root.part("model")?;
        model.expect_kind(None, &["srl"])?;
        let encoder = encoder(&model.part("encoder")?)?;
        Ok(Settings {
            embedders: embedders(&root, &model)?,
            indicator: model.size("binary_feature_dim")?,
            encoder,
            embedding_dropout: model.share("embedding_dropout")?,
            corpus: root.text("train_data_path", Some("unknown"))?.to_owned(),
        })
    }
}

/// The supported encoders; the last two are the same.
const ENCODERS: [&str; 3] = ["lstm", "alternating_lstm", "alternating_highway_lstm"];

fn encoder(part: &Part<'_>) -> Result<Encoder, ImportError> {
    let kind = match part.expect_kind(None, &ENCODERS)? {
        "lstm" => {
            if part.flag("bidirectional", false)? {
                return Err(part.problem("has bidirectional layers, not supported".into()));
            }
            EncoderKind::Lstm
        }
        _ => EncoderKind::Alternating {
            cell: match part.flag("use_highway", true)? {
                true => CellKind::Highway,
                false => CellKind::Lstm,
            },
            input_bias: part.flag("use_input_projection_bias", true)?,
        },
    };
    Ok(Encoder {
        kind,
        input: part.size("input_size")?,
        hidden: part.size("hidden_size")?,
        layers: match kind {
            EncoderKind::Lstm if part.get("num_layers").is_none() => 1,
            _ => part.size("num_layers")?,
        },
        recurrent_dropout: part.share("recurrent_dropout_probability")?,
        dropout: part.share("dropout")?,
    })
}

/// The embedders: at most one table and at most one ELMo.
fn embedders(root: &Part<'_>, model: &Part<'_>) -> Result<Vec<(String, Embedding)>, ImportError> {
    let field = model.part("text_field_embedder")?;
    // Before version 0.8 there was no `token_embedders` level.
    let all =
        if field.get("token_embedders").is_some() { field.part("token_embedders")? } else { field };
    // AllenNLP concatenates in name order, whatever the order in the file.
    let names: BTreeMap<&String, &Value> =
        all.object()?.iter().filter(|(_, value)| value.is_object()).collect();
    let mut embedders = Vec::new();
    for name in names.into_keys() {
        let part = all.part(name)?;
        let kind = part.expect_kind(Some("embedding"), &["embedding", "elmo_token_embedder"])?;
        let embedding = match kind {
            "embedding" => words(root, name, &part)?,
            _ if part.flag("do_layer_norm", false)? => {
                return Err(part.problem("has do_layer_norm, which is not supported".into()));
            }
            _ => Embedding::Elmo,
        };
        let same =
            |other: &Embedding| std::mem::discriminant(other) == std::mem::discriminant(&embedding);
        if embedders.iter().any(|(_, other)| same(other)) {
            return Err(part.problem("is the second of its kind; only one is supported".into()));
        }
        embedders.push((name.clone(), embedding));
    }
    match embedders.is_empty() {
        true => Err(all.problem("has no embedder in it".into())),
        false => Ok(embedders),
    }
}

/// An embedding table, and how the dataset reader looks words up.
fn words(root: &Part<'_>, name: &str, part: &Part<'_>) -> Result<Embedding, ImportError> {
    const KNOWN: [&str; 4] = ["type", "namespace", "lowercase_tokens", "token_min_padding_length"];
    let namespace = part.text("vocab_namespace", Some("tokens"))?.to_owned();
    let size = part.size("embedding_dim")?;
    let indexers = root.find("dataset_reader").and_then(|reader| reader.find("token_indexers"));
    let mut lookup = Lookup::AsSpelled;
    if let Some(indexer) = indexers.and_then(|indexers| indexers.find(name)) {
        indexer.expect_kind(Some("single_id"), &["single_id"])?;
        if let Some(other) = indexer.object()?.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(indexer.problem(format!("has {other:?}, which is not supported")));
        }
        let other = indexer.text("namespace", Some("tokens"))?;
        if other != namespace {
            let problem = format!("has namespace {other:?}, but the embedder has {namespace:?}");
            return Err(indexer.problem(problem));
        }
        if indexer.flag("lowercase_tokens", false)? {
            lookup = Lookup::LowerCase;
        }
    }
    Ok(Embedding::Words { namespace, size, lookup })
}

/// A part of the settings that knows its path, for messages.
struct Part<'c> {
    path: PathBuf,
    at: String,
    value: &'c Value,
}

/// An upper bound on any sane size, small enough that products of two do not overflow.
const MAX_SIZE: u64 = 1 << 20;

impl<'c> Part<'c> {
    fn problem(&self, problem: String) -> ImportError {
        ImportError::Options { path: self.path.clone(), problem: format!("{} {problem}", self.at) }
    }

    fn get(&self, name: &str) -> Option<&'c Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    fn find(&self, name: &str) -> Option<Part<'c>> {
        let (path, at) = (self.path.clone(), self.place(name));
        self.get(name).map(|value| Part { path, at, value })
    }

    fn part(&self, name: &str) -> Result<Part<'c>, ImportError> {
        let missing = || ImportError::Missing { path: self.path.clone(), name: self.place(name) };
        self.find(name).ok_or_else(missing)
    }

    fn place(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    fn object(&self) -> Result<&'c Map<String, Value>, ImportError> {
        self.value.as_object().ok_or_else(|| self.problem(format!("is {}", self.value)))
    }

    /// The field `type`, which must be one of `known`.
    fn expect_kind(
        &self,
        default: Option<&'c str>,
        known: &[&str],
    ) -> Result<&'c str, ImportError> {
        let kind = self.text("type", default)?;
        match known.contains(&kind) {
            true => Ok(kind),
            false => {
                Err(self.problem(format!("has type {kind:?}; known here: {}", known.join(", "))))
            }
        }
    }

    fn text(&self, name: &str, default: Option<&'c str>) -> Result<&'c str, ImportError> {
        match (self.get(name), default) {
            (None, Some(default)) => Ok(default),
            _ => {
                let part = self.part(name)?;
                part.value.as_str().ok_or_else(|| part.problem(format!("is {}", part.value)))
            }
        }
    }

    fn size(&self, name: &str) -> Result<usize, ImportError> {
        let part = self.part(name)?;
        let size = part.value.as_u64().filter(|size| (1..=MAX_SIZE).contains(size));
        let size = size.and_then(|size| usize::try_from(size).ok());
        size.ok_or_else(|| part.problem(format!("is {}, which is not a valid size", part.value)))
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool, ImportError> {
        let Some(part) = self.find(name) else { return Ok(default) };
        part.value.as_bool().ok_or_else(|| part.problem(format!("is {}", part.value)))
    }

    /// A dropout rate; zero if absent.
    fn share(&self, name: &str) -> Result<f32, ImportError> {
        let Some(part) = self.find(name) else { return Ok(0.0) };
        let share = part.value.as_f64().filter(|share| (0.0..1.0).contains(share));
        share
            .map(|share| share as f32)
            .ok_or_else(|| part.problem(format!("is {}, which is not a valid rate", part.value)))
    }
}
