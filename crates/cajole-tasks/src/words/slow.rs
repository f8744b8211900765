//! Tokenizers of folders without `tokenizer.json`, as transformers' "slow" ones leave them: T5, mT5, XLM-R
//! and CamemBERT a model of SentencePiece, Marian two, BERT and DistilBERT `vocab.txt`, RoBERTa and BART
//! `vocab.json` with `merges.txt`.
//!
//! Each becomes the `tokenizer.json` that transformers makes of such a folder when it opens it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use cajole_core::Symbol;
use cajole_files::limits::MOST_VOCABULARY_BYTES;
use cajole_files::{TextError, text_of};
use serde_json::{Map, Value, json};

use super::sentencepiece::{Model, ModelError, Role};

/// The files of slow tokenizers.
pub(super) const SPIECE: [&str; 2] = ["spiece.model", "sentencepiece.bpe.model"];
const SOURCE: &str = "source.spm";
const TARGET: &str = "target.spm";
const VOCABULARY: &str = "vocab.json";
const WORDS: &str = "vocab.txt";
const MERGES: &str = "merges.txt";

/// A piece that stands for a blank and what follows.
const META: &str = "▁";

/// Why a folder's tokenizer cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SlowError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Read(#[from] TextError),
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
    if let Some(name) = SPIECE.into_iter().find(|name| folder.join(name).exists()) {
        return one(folder, &folder.join(name)).map(|text| Some(Slow::One(text)));
    }
    if folder.join(WORDS).exists() {
        return word_pieces(folder).map(|text| Some(Slow::One(text)));
    }
    if folder.join(VOCABULARY).exists() && folder.join(MERGES).exists() {
        return byte_pairs(folder).map(|text| Some(Slow::One(text)));
    }
    Ok(None)
}

/// A setting that is true or false.
fn flag(settings: &Map<String, Value>, key: &str, usual: bool) -> bool {
    settings.get(key).and_then(Value::as_bool).unwrap_or(usual)
}

/// The name of a special piece.
fn named(settings: &Map<String, Value>, key: &str, usual: &str) -> String {
    match settings.get(key) {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Object(token)) => token["content"].as_str().unwrap_or(usual).to_owned(),
        _ => usual.to_owned(),
    }
}

/// Added pieces: those of these names that have a number, and what was saved of them, such as blanks
/// that they take along.
fn all_added(
    settings: &Map<String, Value>,
    names: &[String],
    number: impl Fn(&str) -> Option<usize>,
) -> Vec<Value> {
    let known = names.iter().filter_map(|name| Some((number(name)?, name)));
    let mut found: BTreeMap<usize, Value> =
        known.map(|(id, name)| (id, added(id, name, true))).collect();
    found.extend(saved(settings));
    found.into_values().collect()
}

/// The special pieces that the settings describe, by number.
fn saved(settings: &Map<String, Value>) -> BTreeMap<usize, Value> {
    let mut found = BTreeMap::new();
    let saved = settings.get("added_tokens_decoder").and_then(Value::as_object);
    for (id, piece) in saved.into_iter().flatten() {
        if let (Ok(id), Some(piece)) = (id.parse::<usize>(), piece.as_object()) {
            let mut piece = piece.clone();
            piece.insert("id".to_owned(), json!(id));
            found.insert(id, Value::Object(piece));
        }
    }
    found
}

/// BERT's tokenizer: a word on each line of `vocab.txt`.
fn word_pieces(folder: &Path) -> Result<String, SlowError> {
    let settings = object(&folder.join("tokenizer_config.json"))?;
    let text = text_of(&folder.join(WORDS), MOST_VOCABULARY_BYTES)?;
    let vocabulary: HashMap<&str, usize> = text.lines().zip(0..).collect();
    let names = [
        ("unk_token", "[UNK]"),
        ("sep_token", "[SEP]"),
        ("pad_token", "[PAD]"),
        ("cls_token", "[CLS]"),
        ("mask_token", "[MASK]"),
    ]
    .map(|(key, usual)| named(&settings, key, usual));
    let [unknown, after, _, before, _] = &names;
    let number = |name: &str| vocabulary.get(name).copied();
    let place = |name: &String| number(name).unwrap_or_default();
    let added = all_added(&settings, &names, number);
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true,
            "handle_chinese_chars": flag(&settings, "tokenize_chinese_chars", true),
            "strip_accents": settings.get("strip_accents").filter(|value| value.is_boolean()),
            "lowercase": flag(&settings, "do_lower_case", true),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": around(Some((before, place(before))), (after, place(after))),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary.iter().collect::<BTreeMap<_, _>>(),
        },
    })
    .to_string())
}

/// The tokenizer of RoBERTa and BART: pairs of letters that stand for bytes are merged.
fn byte_pairs(folder: &Path) -> Result<String, SlowError> {
    let settings = object(&folder.join("tokenizer_config.json"))?;
    let vocabulary = object(&folder.join(VOCABULARY))?;
    let text = text_of(&folder.join(MERGES), MOST_VOCABULARY_BYTES)?;
    let lines = text.lines().filter(|line| !line.starts_with("#version"));
    let merges: Vec<[&str; 2]> =
        lines.filter_map(|line| line.split_once(' ')).map(|(a, b)| [a, b]).collect();
    let names = [
        ("bos_token", "<s>"),
        ("eos_token", "</s>"),
        ("sep_token", "</s>"),
        ("cls_token", "<s>"),
        ("unk_token", "<unk>"),
        ("pad_token", "<pad>"),
        ("mask_token", "<mask>"),
    ]
    .map(|(key, usual)| named(&settings, key, usual));
    let [_, _, after, before, ..] = &names;
    let number = |name: &str| vocabulary.get(name).and_then(Value::as_u64).map(|id| id as usize);
    let place = |name: &String| number(name).unwrap_or_default();
    let mut added = all_added(&settings, &names, number);
    let mask = added.iter_mut().find(|piece| piece["content"] == names[6]);
    if let Some(mask) = mask {
        mask["lstrip"] = json!(true); // it takes the blank before it along
    }
    let letters = json!({
        "type": "ByteLevel", "add_prefix_space": flag(&settings, "add_prefix_space", false),
        "trim_offsets": true, "use_regex": true,
    });
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": null, "pre_tokenizer": letters,
        "post_processor": around(Some((before, place(before))), (after, place(after))),
        "decoder": letters,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": false, "vocab": vocabulary, "merges": merges,
        },
    })
    .to_string())
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

/// The symbols around a text.
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
fn tokenizer(
    added: &[Value],
    normalizer: &Value,
    before: &Value,
    after: &Value,
    model: &Value,
) -> String {
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
    let class = named(&settings, "tokenizer_class", "");
    let class = if class.is_empty() { named(&config, "model_type", "") } else { class };
    let kind = class.to_lowercase();
    let own = |from: usize| model.pieces.iter().skip(from).map(|p| (p.text.clone(), p.score));
    let fixed = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 0.0)).collect();
    let mut pieces: Vec<(String, f32)>;
    let (unknown, special): (usize, &[&str]);
    if kind.contains("camembert") {
        pieces = fixed(&["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"]);
        pieces[4].1 = -100.0;
        pieces.extend(own(1).chain([("<mask>".to_owned(), 0.0)]));
        let names = &[
            "<s>NOTUSED",
            "</s>NOTUSED",
            "<unk>NOTUSED",
            "<s>",
            "</s>",
            "<pad>",
            "<unk>",
            "<mask>",
        ];
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
    let extra =
        pieces.iter().map(|(text, _)| text.as_str()).filter(|text| text.starts_with("<extra_id_"));
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
    found.extend(saved(&settings));
    let number = |name: &'static str| (name, numbers.get(name).copied().unwrap_or_default());
    let before = (!kind.contains("t5") || kind.contains("xlm")).then(|| number("<s>"));
    let after = around(before, number("</s>"));
    let pieces: Vec<(&str, f32)> =
        pieces.iter().map(|(text, score)| (text.as_str(), *score)).collect();
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
    let special = [("unk_token", "<unk>"), ("eos_token", "</s>"), ("pad_token", "<pad>")]
        .map(|(key, usual)| named(&settings, key, usual));
    let number = |name: &str| {
        numbers.get(name).copied().ok_or_else(|| SlowError::Problem {
            path: path.clone(),
            problem: format!("there is no {name:?}"),
        })
    };
    let (unknown, end) = (number(&special[0])?, number(&special[1])?);
    let pieces: Vec<Value> = special
        .iter()
        .filter_map(|name| Some(added(*numbers.get(name)? as usize, name, true)))
        .collect();
    let whole = json!({"type": "WhitespaceSplit"});
    let spells = tokenizer(
        &pieces,
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
    let pieces: Vec<(&str, f32)> =
        model.pieces.iter().map(|p| (p.text.as_str(), p.score)).collect();
    let verbatim =
        model.pieces.iter().filter(|p| p.role == Role::Verbatim).map(|p| p.text.as_str());
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
