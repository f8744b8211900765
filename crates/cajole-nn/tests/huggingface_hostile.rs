//! Hugging Face folders that are damaged or lie about their sizes: a clear error each, and no more
//! memory than the files' size warrants.

mod counting;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cajole_nn::import::huggingface::{Family, Folder};
use cajole_nn::models::transformer::Pieces;
use safetensors::tensor::{Dtype, TensorView, serialize_to_file};
use serde_json::{Value, json};
use tempfile::TempDir;

const WIDTH: usize = 4;
const INNER: usize = 6;
const SYMBOLS: usize = 9;

type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

fn config() -> Value {
    json!({
        "model_type": "bert", "vocab_size": SYMBOLS, "hidden_size": WIDTH, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": INNER, "max_position_embeddings": 8,
        "type_vocab_size": 2, "hidden_act": "gelu", "id2label": { "0": "O", "1": "B-X" },
    })
}

/// The tensors of that network, all of the value 0.5.
fn tensors() -> Tensors {
    let mut all = Tensors::new();
    let mut add = |name: &str, shape: &[usize]| {
        let n = shape.iter().product::<usize>();
        let bytes = 0.5f32.to_le_bytes().repeat(n);
        all.insert(name.to_owned(), (Dtype::F32, shape.to_vec(), bytes));
    };
    let tables = [("word", SYMBOLS), ("position", 8), ("token_type", 2)];
    for (table, rows) in tables {
        add(&format!("bert.embeddings.{table}_embeddings.weight"), &[rows, WIDTH]);
    }
    let layer = |part: &str| format!("bert.encoder.layer.0.{part}");
    let linears = [
        (layer("attention.self.query"), WIDTH, WIDTH),
        (layer("attention.self.key"), WIDTH, WIDTH),
        (layer("attention.self.value"), WIDTH, WIDTH),
        (layer("attention.output.dense"), WIDTH, WIDTH),
        (layer("intermediate.dense"), INNER, WIDTH),
        (layer("output.dense"), WIDTH, INNER),
        ("classifier".to_owned(), 2, WIDTH),
    ];
    for (name, n, k) in linears {
        add(&format!("{name}.weight"), &[n, k]);
        add(&format!("{name}.bias"), &[n]);
    }
    let norms = ["attention.output.LayerNorm", "output.LayerNorm"].map(layer);
    for norm in norms.iter().map(String::as_str).chain(["bert.embeddings.LayerNorm"]) {
        add(&format!("{norm}.weight"), &[WIDTH]);
        add(&format!("{norm}.bias"), &[WIDTH]);
    }
    all
}

fn write(path: &Path, tensors: &Tensors, ties: &[(&str, &str)]) {
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        (name.clone(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
    });
    let ties = ties.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
    serialize_to_file(views, Some(ties), path).unwrap();
}

fn folder(config: &Value, tensors: &Tensors, ties: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    write(&dir.path().join("model.safetensors"), tensors, ties);
    dir
}

fn problem(dir: &Path) -> String {
    let (read, most) = counting::most(|| {
        let folder = Folder::open(dir)?;
        match folder.family()? {
            Family::Encoder => folder.tagger::<Pieces>().map(|_| ()),
            Family::EncoderDecoder => folder.encoder_decoder().map(|_| ()),
        }
    });
    assert!(most < 4 << 20, "{most} bytes were taken");
    read.expect_err("the folder is damaged").to_string()
}

#[track_caller]
fn check(dir: &TempDir, says: &[&str]) {
    let problem = problem(dir.path());
    assert!(says.iter().all(|part| problem.contains(part)), "{problem}: not {says:?}");
}

#[test]
fn the_folder_is_read_if_nothing_is_wrong() {
    let mut tensors = tensors();
    tensors.insert("bert.pooler.dense.weight".into(), (Dtype::I8, vec![3], vec![0; 3]));
    let dir = folder(&config(), &tensors, &[]);
    let read = Folder::open(dir.path()).unwrap().tagger::<Pieces>().unwrap();
    assert_eq!(read.labels, ["O", "B-X"]);
    assert_eq!(read.weights.iter().filter(|v| **v != 0.0 && **v != 0.5).count(), 0);
    // Without the layer on top and without a prefix, it is an encoder to begin with.
    let bare = tensors.into_iter().filter(|(name, _)| !name.starts_with("classifier"));
    let bare = bare.map(|(name, tensor)| (name.trim_start_matches("bert.").to_owned(), tensor));
    let dir = folder(&config(), &bare.collect(), &[]);
    let (net, weights) = Folder::open(dir.path()).unwrap().encoder::<Pieces>(5, 1).unwrap();
    assert_eq!((net.config.tags, weights[0]), (5, 0.5));
    check(&dir, &["model.safetensors", "bert.classifier.weight"]);
}

#[test]
fn a_tied_tensor_is_found_and_a_cycle_is_an_error() {
    let mut tensors = tensors();
    let name = "bert.embeddings.word_embeddings.weight";
    let table = tensors.remove(name).unwrap();
    tensors.insert("other".into(), table);
    let dir = folder(&config(), &tensors, &[(name, "between"), ("between", "other")]);
    assert!(Folder::open(dir.path()).unwrap().tagger::<Pieces>().is_ok());
    let dir = folder(&config(), &tensors, &[(name, "between"), ("between", name)]);
    check(&dir, &["model.safetensors", "word_embeddings", "tied to itself"]);
    check(&folder(&config(), &tensors, &[]), &["model.safetensors", name]);
}

#[test]
fn truncated_files_are_errors() {
    let dir = folder(&config(), &tensors(), &[]);
    let path = dir.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    for len in [0, 5, 8, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..len]).unwrap();
        check(&dir, &["model.safetensors", "damaged"]);
    }
    let mut claims = whole.clone();
    claims[..8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    fs::write(&path, &claims).unwrap();
    check(&dir, &["model.safetensors", "1099511627776 bytes"]);
    fs::remove_file(&path).unwrap();
    check(&dir, &["there is no model.safetensors", "save_pretrained"]);
}

#[test]
fn shards_are_checked_against_their_index() {
    let dir = folder(&config(), &tensors(), &[]);
    let [single, shard] = ["model.safetensors", "a.safetensors"].map(|name| dir.path().join(name));
    fs::rename(&single, &shard).unwrap();
    let names: Vec<String> = tensors().into_keys().collect();
    let index = |file: &str, more: Option<&str>| {
        let all = names.iter().map(String::as_str).chain(more);
        let map: BTreeMap<&str, &str> = all.map(|name| (name, file)).collect();
        let index = json!({ "weight_map": map }).to_string();
        fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
    };
    index("a.safetensors", None);
    assert!(Folder::open(dir.path()).unwrap().tagger::<Pieces>().is_ok());
    index("a.safetensors", Some("more"));
    check(&dir, &["a.safetensors", "more"]);
    index("b.safetensors", None);
    check(&dir, &["b.safetensors"]);
    for outside in ["../a.safetensors", "/etc/passwd", "..", ""] {
        index(outside, None);
        check(&dir, &["index.json", "is not the name of a file in this folder"]);
    }
    fs::write(dir.path().join("model.safetensors.index.json"), "{").unwrap();
    check(&dir, &["index.json", "damaged"]);
}

#[test]
fn tensors_of_other_shapes_and_kinds_and_values_are_errors() {
    let name = "bert.encoder.layer.0.output.dense.weight";
    let with = |tensor: (Dtype, Vec<usize>, Vec<u8>)| {
        let mut tensors = tensors();
        tensors.insert(name.to_owned(), tensor);
        folder(&config(), &tensors, &[])
    };
    let zeros = |n: usize| vec![0u8; n];
    check(
        &with((Dtype::F32, vec![WIDTH, 5], zeros(80))),
        &["model.safetensors", name, "[4, 5]", "[4, 6]"],
    );
    check(&with((Dtype::I32, vec![WIDTH, INNER], zeros(96))), &[name, "I32"]);
    for (dtype, bytes) in [
        (Dtype::F32, f32::NAN.to_le_bytes().to_vec()),
        (Dtype::F16, half::f16::INFINITY.to_le_bytes().to_vec()),
        (Dtype::BF16, half::bf16::NEG_INFINITY.to_le_bytes().to_vec()),
    ] {
        let mut all = bytes.len().checked_mul(24).map(zeros).unwrap();
        all[7 * bytes.len()..8 * bytes.len()].copy_from_slice(&bytes);
        check(&with((dtype, vec![WIDTH, INNER], all)), &[name, " at 7", "finite"]);
    }
}

#[test]
fn settings_out_of_range_are_errors() {
    let changed = |key: &str, value: Value| {
        let mut config = config();
        config[key] = value;
        folder(&config, &tensors(), &[])
    };
    let sizes = ["vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size"];
    for key in sizes.into_iter().chain(["max_position_embeddings", "num_attention_heads"]) {
        for value in
            [json!(1_000_000_000), json!(0), json!(-1), json!("4"), json!(1.5), json!(1e300)]
        {
            check(&changed(key, value.clone()), &["config.json", key, &value.to_string()]);
        }
        check(&changed(key, Value::Null), &["config.json", key]);
    }
    // Within limits, but not what the tensors have.
    check(&changed("vocab_size", json!(16_000_000)), &["word_embeddings", "16000000"]);
    check(&changed("intermediate_size", json!(16_000_000)), &["intermediate.dense", "16000000"]);
    check(&changed("num_hidden_layers", json!(1000)), &["layer.1."]);
    check(&changed("num_attention_heads", json!(3)), &["hidden_size", "no multiple"]);
    check(&changed("hidden_act", json!("mish")), &["hidden_act", "mish"]);
    check(&changed("model_type", json!("gpt2")), &["model_type", "gpt2", "bert"]);
    check(&changed("id2label", json!({ "0": "O", "7": "B-X" })), &["id2label", "1"]);
    check(&changed("id2label", json!({})), &["config.json"]);
    check(&changed("position_embedding_type", json!("relative_key")), &["relative_key"]);
}

#[test]
fn writers_out_of_range_are_errors() {
    let marian = json!({
        "model_type": "marian", "vocab_size": 9, "d_model": 8, "max_position_embeddings": 16,
        "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 4, "decoder_ffn_dim": 4,
        "decoder_start_token_id": 8, "eos_token_id": 0,
    });
    let t5 = json!({
        "model_type": "t5", "vocab_size": 9, "d_model": 8, "d_kv": 4, "d_ff": 4, "num_layers": 1,
        "num_heads": 2, "decoder_start_token_id": 0, "eos_token_id": 1,
    });
    let check = |config: &Value, key: &str, value: Value, says: &[&str]| {
        let mut config = config.clone();
        config[key] = value;
        check(&folder(&config, &tensors(), &[]), says);
    };
    let large = json!(1_000_000_000);
    check(&marian, "max_position_embeddings", large.clone(), &["max_position_embeddings"]);
    check(&marian, "d_model", json!(16_000_000), &["d_model", "together"]);
    check(&marian, "decoder_start_token_id", json!(9), &["decoder_start_token_id", "9"]);
    check(&marian, "encoder_layers", json!(2), &["model.shared.weight"]);
    check(&t5, "relative_attention_max_distance", json!(16_000_000), &["16000000", "65536"]);
    check(&t5, "relative_attention_num_buckets", json!(0), &["relative_attention_num_buckets"]);
    check(&t5, "d_kv", large, &["d_kv", "1000000000"]);
    check(&t5, "feed_forward_proj", json!("gated-mish"), &["feed_forward_proj", "mish"]);
    check(&t5, "eos_token_id", Value::Null, &["eos_token_id"]);
}
