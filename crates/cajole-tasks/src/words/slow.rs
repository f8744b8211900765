//! Tokenizers of folders without `tokenizer.json`: transformers' "slow" ones of T5, mT5, XLM-R and
//! CamemBERT, which leave a model of SentencePiece, and Marian's, which leaves two.
//!
//! Each becomes the `tokenizer.json` that transformers makes of such a folder when it opens it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use cajole_core::Symbol;
use cajole_treebank::limits::MOST_VOCABULARY_BYTES;
use cajole_treebank::text_of;
use serde_json::{Map, Value, json};

use super::sentencepiece::{Model, ModelError, Role};

/// The files of slow tokenizers.
pub(super) const SPIECE: [&str; 2] = ["spiece.model", "sentencepiece.bpe.model"];
const SOURCE: &str = "source.spm";
const TARGET: &str = "target.spm";
const VOCABULARY: &str = "vocab.json";

/// A piece that stands for a blank and what follows.
const META: &str = "▁";

/// Why a folder's tokenizer cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SlowError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Read(#[from] cajole_treebank::ReadError),
    #[error("{}: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{}: {problem}", path.display())]
    Problem { path: PathBuf, problem: String },
}

/// A slow tokenizer, as texts of `tokenizer.json`.
pub(super) enum Slow {
    /// One for what is read and written.
    One(String),
    /// Marian's.
    Two(Two),
}

/// Marian's: texts are split by one of two models, and pieces are numbered by a vocabulary.
pub(super) struct Two {
    /// Splits what is read.
    pub(super) reads: String,
    /// Splits what is written.
    pub(super) writes: String,
    /// How pieces are spelled: a tokenizer whose pieces have the vocabulary's numbers.
    pub(super) spells: String,
    pub(super) numbers: HashMap<String, Symbol>,
    pub(super) unknown: Symbol,
    pub(super) end: Symbol,
}

/// Reads a folder's slow tokenizer; `None` if it has none.
pub(super) fn read(folder: &Path) -> Result<Option<Slow>, SlowError> {
    if folder.join(SOURCE).exists() {
        return Ok(Some(Slow::Two(marian(folder)?)));
    }
    let Some(name) = SPIECE.into_iter().find(|name| folder.join(name).exists()) else {
        return Ok(None);
    };
    one(folder, &folder.join(name)).map(|text| Some(Slow::One(text)))
}

/// A file that holds an object, or nothing if there is none.
fn object(path: &Path) -> Result<Map<String, Value>, SlowError> {
    if !path.exists() {
        return Ok(Map::new());
    }
    let text = text_of(path, MOST_VOCABULARY_BYTES)?;
    serde_json::from_str(&text).map_err(|source| SlowError::Json { path: path.to_owned(), source })
}

/// A special piece, as `added_tokens` have it.
fn added(id: usize, content: &str, is_special: bool) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": is_special,
    })
}

/// What stands around a text.
fn around(before: Option<(&str, usize)>, after: (&str, usize)) -> Value {
    let piece = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let single: Vec<Value> =
        before.map(|(name, _)| piece(name)).into_iter().chain([text, piece(after.0)]).collect();
    let known: Map<String, Value> = before
        .into_iter()
        .chain([after])
        .map(|(name, id)| (name.to_owned(), json!({"id": name, "ids": [id], "tokens": [name]})))
        .collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": known})
}

fn metaspace(adds_blank: bool, splits: bool) -> Value {
    let scheme = if adds_blank { "always" } else { "never" };
    json!({"type": "Metaspace", "replacement": META, "prepend_scheme": scheme, "split": splits})
}

/// The parts of a `tokenizer.json`.
fn tokenizer(added: &[Value], normalizer: &Value, before: &Value, after: &Value, model: &Value) -> String {
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": normalizer, "pre_tokenizer": before, "post_processor": after,
        "decoder": metaspace(true, true), "model": model,
    })
    .to_string()
}

/// A tokenizer of T5, mT5, XLM-R or CamemBERT, which differ in what comes before and after the pieces
/// of the model.
fn one(folder: &Path, path: &Path) -> Result<String, SlowError> {
    let model = Model::open(path)?;
    let settings = object(&folder.join("tokenizer_config.json"))?;
    let config = object(&folder.join("config.json"))?;
    let named = |of: &Map<String, Value>, key: &str| {
        of.get(key).and_then(Value::as_str).unwrap_or_default().to_lowercase()
    };
    let class = named(&settings, "tokenizer_class");
    let kind = if class.is_empty() { named(&config, "model_type") } else { class };
    let own = |from: usize| model.pieces.iter().skip(from).map(|p| (p.text.clone(), p.score));
    let fixed = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 0.0)).collect();
    let mut pieces: Vec<(String, f32)>;
    let (unknown, special): (usize, &[&str]);
    if kind.contains("camembert") {
        pieces = fixed(&["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"]);
        pieces[4].1 = -100.0;
        pieces.extend(own(1).chain([("<mask>".to_owned(), 0.0)]));
        let names = &["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED", "<s>", "</s>", "<pad>", "<unk>", "<mask>"];
        (unknown, special) = (3, names);
    } else if kind.contains("xlm") {
        pieces = fixed(&["<s>", "<pad>", "</s>", "<unk>"]);
        pieces.extend(own(3).chain([("<mask>".to_owned(), 0.0)]));
        (unknown, special) = (3, &["<s>", "<pad>", "</s>", "<unk>", "<mask>"]);
    } else if kind.contains("t5") {
        let extra = settings.get("extra_ids").and_then(Value::as_u64).unwrap_or(100).min(10_000);
        pieces = own(0).collect();
        pieces.extend((0..extra).rev().map(|i| (format!("<extra_id_{i}>"), 0.0)));
        (unknown, special) = (model.unknown, &["<pad>", "</s>", "<unk>"]);
    } else {
        return Err(SlowError::Problem {
            path: path.to_owned(),
            problem: format!(
                "the tokenizer of {kind:?} is not known, and there is no tokenizer.json: load it with \
                 AutoTokenizer, and save its backend_tokenizer as tokenizer.json"
            ),
        });
    }
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (i, (text, _)) in pieces.iter().enumerate() {
        numbers.entry(text).or_insert(i);
    }
    let mut found: BTreeMap<usize, Value> = BTreeMap::new();
    let extra = pieces.iter().map(|(text, _)| text.as_str()).filter(|text| text.starts_with("<extra_id_"));
    for name in special.iter().copied().chain(extra) {
        found.extend(numbers.get(name).map(|&id| (id, added(id, name, true))));
    }
    for piece in &model.pieces {
        let is_special = piece.role == Role::Control;
        if let Some(&id) = numbers.get(piece.text.as_str())
            && (is_special || piece.role == Role::Verbatim)
        {
            found.entry(id).or_insert_with(|| added(id, &piece.text, is_special));
        }
    }
    for (name, id) in object(&folder.join("added_tokens.json"))? {
        if let Some(id) = id.as_u64() {
            found.entry(id as usize).or_insert_with(|| added(id as usize, &name, false));
        }
    }
    // What was saved of special pieces, such as blanks that they take along, wins.
    let saved = settings.get("added_tokens_decoder").and_then(Value::as_object);
    for (id, piece) in saved.into_iter().flatten() {
        if let (Ok(id), Some(piece)) = (id.parse::<usize>(), piece.as_object()) {
            let mut piece = piece.clone();
            piece.insert("id".to_owned(), json!(id));
            found.insert(id, Value::Object(piece));
        }
    }
    let number = |name: &'static str| (name, numbers.get(name).copied().unwrap_or_default());
    let before = (!kind.contains("t5") || kind.contains("xlm")).then(|| number("<s>"));
    let after = around(before, number("</s>"));
    let pieces: Vec<(&str, f32)> = pieces.iter().map(|(text, score)| (text.as_str(), *score)).collect();
    let words = json!({
        "type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace(true, true)]
    });
    let added: Vec<Value> = found.into_values().collect();
    let normalizer = model.normalizer().unwrap_or_default();
    Ok(tokenizer(&added, &normalizer, &words, &after, &model.split(&pieces, unknown, false)))
}

fn marian(folder: &Path) -> Result<Two, SlowError> {
    let settings = object(&folder.join("tokenizer_config.json"))?;
    if settings.get("separate_vocabs") == Some(&Value::Bool(true)) {
        return Err(SlowError::Problem {
            path: folder.join("tokenizer_config.json"),
            problem: "\"separate_vocabs\" is true; only Marian's tokenizers with one vocabulary for both \
                      languages are read"
                .to_owned(),
        });
    }
    let path = folder.join(VOCABULARY);
    let known = object(&path)?;
    let numbers: HashMap<String, Symbol> = known
        .iter()
        .filter_map(|(name, id)| Some((name.clone(), Symbol::try_from(id.as_u64()?).ok()?)))
        .collect();
    let setting = |key: &str, usual: &str| match settings.get(key) {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Object(token)) => token["content"].as_str().unwrap_or(usual).to_owned(),
        _ => usual.to_owned(),
    };
    let special = [("unk_token", "<unk>"), ("eos_token", "</s>"), ("pad_token", "<pad>")]
        .map(|(key, usual)| setting(key, usual));
    let number = |name: &str| {
        numbers.get(name).copied().ok_or_else(|| SlowError::Problem {
            path: path.clone(),
            problem: format!("there is no {name:?}"),
        })
    };
    let (unknown, end) = (number(&special[0])?, number(&special[1])?);
    let named: Vec<Value> = special
        .iter()
        .filter_map(|name| Some(added(*numbers.get(name)? as usize, name, true)))
        .collect();
    let whole = json!({"type": "WhitespaceSplit"});
    let spells = tokenizer(
        &named,
        &Value::Null,
        &whole,
        &Value::Null,
        &json!({"type": "WordLevel", "vocab": known, "unk_token": special[0]}),
    );
    let reads = splitting(&Model::open(&folder.join(SOURCE))?, &special);
    let writes = splitting(&Model::open(&folder.join(TARGET))?, &special);
    Ok(Two { reads, writes, spells, numbers, unknown, end })
}

/// A tokenizer that splits texts as SentencePiece itself does. Its numbers do not matter.
fn splitting(model: &Model, special: &[String]) -> String {
    let pieces: Vec<(&str, f32)> = model.pieces.iter().map(|p| (p.text.as_str(), p.score)).collect();
    let verbatim = model.pieces.iter().filter(|p| p.role == Role::Verbatim).map(|p| p.text.as_str());
    let all = special.iter().map(String::as_str).map(|name| (name, true));
    let place = |name: &str| pieces.iter().position(|(text, _)| *text == name);
    let mut beyond = pieces.len();
    let added: Vec<Value> = all
        .chain(verbatim.map(|name| (name, false)))
        .map(|(name, is_special)| {
            let id = place(name).unwrap_or_else(|| {
                beyond += 1;
                beyond - 1
            });
            added(id, name, is_special)
        })
        .collect();
    let mut steps: Vec<Value> = model.normalizer().into_iter().collect();
    if model.removes_blanks {
        steps.push(json!({"type": "Strip", "strip_left": true, "strip_right": true}));
        steps.push(json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}));
    }
    let normalizer = json!({"type": "Sequence", "normalizers": steps});
    let split = model.split(&pieces, model.unknown, model.has_bytes);
    tokenizer(&added, &normalizer, &metaspace(model.adds_blank, false), &Value::Null, &split)
}
