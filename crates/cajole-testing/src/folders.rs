//! Small Hugging Face folders of random weights, as `save_pretrained` writes them: a BERT that labels
//! words, and a BART that writes letters. Both have tokenizers of characters.

use std::fs;
use std::path::Path;

const WIDTH: usize = 16;
const INNER: usize = 24;
const POSITIONS: usize = 64;

/// The labels of [`write_labels`].
pub const LABELS: [&str; 5] = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"];

/// The letters that [`write_writer`] reads and writes.
pub const LETTERS: &str = "abcde ";

/// Tensors by name, each with its shape and values.
struct Tensors {
    state: u64,
    all: Vec<(String, Vec<usize>, Vec<f32>)>,
}

impl Tensors {
    fn new(seed: u64) -> Tensors {
        Tensors { state: seed, all: Vec::new() }
    }

    /// A number between -1 and 1, by SplitMix64.
    fn random(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn add(&mut self, name: String, shape: &[usize], centre: f32, spread: f32) {
        let n: usize = shape.iter().product();
        let values = (0..n).map(|_| centre + spread * self.random()).collect();
        self.all.push((name, shape.to_vec(), values));
    }

    fn table(&mut self, name: &str, rows: usize) {
        self.add(format!("{name}.weight"), &[rows, WIDTH], 0.0, 1.0);
    }

    fn linear(&mut self, name: &str, n: usize, k: usize) {
        self.add(format!("{name}.weight"), &[n, k], 0.0, 3.0 / (k as f32).sqrt());
        self.add(format!("{name}.bias"), &[n], 0.0, 0.3);
    }

    fn norm(&mut self, name: &str) {
        self.add(format!("{name}.weight"), &[WIDTH], 1.0, 0.2);
        self.add(format!("{name}.bias"), &[WIDTH], 0.0, 0.2);
    }

    /// As a safetensors file.
    fn write(&self, path: &Path) {
        let (mut header, mut data) = (Vec::new(), Vec::new());
        for (name, shape, values) in &self.all {
            let start = data.len();
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            let end = data.len();
            header.push(format!(
                "{name:?}:{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}"
            ));
        }
        let header = format!("{{{}}}", header.join(","));
        let size = (header.len() as u64).to_le_bytes();
        let bytes = [&size[..], header.as_bytes(), &data].concat();
        fs::write(path, bytes).expect("the folder can be written to");
    }
}

fn put(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the folder can be written to");
}

/// A vocabulary as a JSON object.
fn numbered(pieces: &[String]) -> String {
    let entries = pieces.iter().enumerate().map(|(i, piece)| format!("{piece:?}:{i}"));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

/// Special pieces as `added_tokens` has them.
fn special(pieces: &[&str]) -> String {
    let entry = |(id, content): (usize, &&str)| {
        format!(
            "{{\"id\":{id},\"content\":{content:?},\"single_word\":false,\"lstrip\":false,\
             \"rstrip\":false,\"normalized\":false,\"special\":true}}"
        )
    };
    format!("[{}]", pieces.iter().enumerate().map(entry).collect::<Vec<_>>().join(","))
}

/// A post-processor that puts pieces around the text.
fn around(before: Option<(&str, usize)>, after: (&str, usize)) -> String {
    let piece = |name: &str| format!("{{\"SpecialToken\":{{\"id\":{name:?},\"type_id\":0}}}}");
    let known = |(name, id): (&str, usize)| {
        format!("{name:?}:{{\"id\":{name:?},\"ids\":[{id}],\"tokens\":[{name:?}]}}")
    };
    let text = "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}".to_owned();
    let single = before.map(|(name, _)| piece(name)).into_iter().chain([text, piece(after.0)]);
    let single = single.collect::<Vec<_>>().join(",");
    let known: Vec<String> = before.into_iter().chain([after]).map(known).collect();
    format!(
        "{{\"type\":\"TemplateProcessing\",\"single\":[{single}],\"pair\":[{single}],\
         \"special_tokens\":{{{}}}}}",
        known.join(",")
    )
}

/// Writes a BERT for token classification; words are read letter by letter.
pub fn write_labels(folder: &Path, seed: u64) {
    write_bert(folder, seed, POSITIONS);
}

/// The same with this many positions, of which it needs one for each letter.
pub fn write_bert(folder: &Path, seed: u64, positions: usize) {
    const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
    let letters = || "abcdefghijklmnopqrstuvwxyz0123456789@.-".chars();
    let own = letters().map(String::from).chain(letters().map(|c| format!("##{c}")));
    let pieces: Vec<String> = SPECIAL.map(str::to_owned).into_iter().chain(own).collect();
    let labels: Vec<String> =
        LABELS.iter().enumerate().map(|(i, label)| format!("\"{i}\":{label:?}")).collect();
    put(
        folder,
        "config.json",
        &format!(
            "{{\"architectures\":[\"BertForTokenClassification\"],\"model_type\":\"bert\",\
             \"vocab_size\":{},\"hidden_size\":{WIDTH},\"num_hidden_layers\":2,\
             \"num_attention_heads\":2,\"intermediate_size\":{INNER},\
             \"max_position_embeddings\":{positions},\"type_vocab_size\":2,\"hidden_act\":\"gelu\",\
             \"id2label\":{{{}}}}}",
            pieces.len(),
            labels.join(",")
        ),
    );
    let processor = around(Some(("[CLS]", 2)), ("[SEP]", 3));
    put(
        folder,
        "tokenizer.json",
        &format!(
            "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":{},\
             \"normalizer\":{{\"type\":\"Lowercase\"}},\
             \"pre_tokenizer\":{{\"type\":\"WhitespaceSplit\"}},\"post_processor\":{processor},\
             \"decoder\":{{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":false}},\
             \"model\":{{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\
             \"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":{}}}}}",
            special(&SPECIAL),
            numbered(&pieces)
        ),
    );
    let mut tensors = Tensors::new(seed);
    for (table, rows) in [("word", pieces.len()), ("position", positions), ("token_type", 2)] {
        tensors.table(&format!("bert.embeddings.{table}_embeddings"), rows);
    }
    tensors.norm("bert.embeddings.LayerNorm");
    for i in 0..2 {
        let layer = |part: &str| format!("bert.encoder.layer.{i}.{part}");
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            tensors.linear(&layer(&format!("attention.{part}")), WIDTH, WIDTH);
        }
        tensors.norm(&layer("attention.output.LayerNorm"));
        tensors.linear(&layer("intermediate.dense"), INNER, WIDTH);
        tensors.linear(&layer("output.dense"), WIDTH, INNER);
        tensors.norm(&layer("output.LayerNorm"));
    }
    tensors.linear("classifier", LABELS.len(), WIDTH);
    tensors.write(&folder.join("model.safetensors"));
}

/// Writes a BART that reads and writes [`LETTERS`], at most 12 of them.
pub fn write_writer(folder: &Path, seed: u64) {
    const SPECIAL: [&str; 4] = ["<s>", "<pad>", "</s>", "<unk>"];
    let letters = LETTERS.chars().map(String::from);
    let pieces: Vec<String> = SPECIAL.map(str::to_owned).into_iter().chain(letters).collect();
    put(
        folder,
        "config.json",
        &format!(
            "{{\"architectures\":[\"BartForConditionalGeneration\"],\"model_type\":\"bart\",\
             \"vocab_size\":{},\"d_model\":{WIDTH},\"encoder_layers\":1,\"decoder_layers\":1,\
             \"encoder_attention_heads\":2,\"decoder_attention_heads\":2,\
             \"encoder_ffn_dim\":{INNER},\"decoder_ffn_dim\":{INNER},\
             \"max_position_embeddings\":{POSITIONS},\"decoder_start_token_id\":2,\
             \"pad_token_id\":1,\"bos_token_id\":0,\"eos_token_id\":2}}",
            pieces.len()
        ),
    );
    put(
        folder,
        "generation_config.json",
        "{\"forced_bos_token_id\":0,\"bad_words_ids\":[[1]],\"suppress_tokens\":[3],\"max_length\":14}",
    );
    put(
        folder,
        "tokenizer.json",
        &format!(
            "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":{},\
             \"normalizer\":null,\"pre_tokenizer\":{{\"type\":\"Split\",\
             \"pattern\":{{\"Regex\":\"(?s:.)\"}},\"behavior\":\"Isolated\",\"invert\":false}},\
             \"post_processor\":{},\"decoder\":{{\"type\":\"Fuse\"}},\
             \"model\":{{\"type\":\"WordLevel\",\"unk_token\":\"<unk>\",\"vocab\":{}}}}}",
            special(&SPECIAL),
            around(None, ("</s>", 2)),
            numbered(&pieces)
        ),
    );
    let mut tensors = Tensors::new(seed);
    tensors.table("model.shared", pieces.len());
    for stack in ["encoder", "decoder"] {
        let own = |part: &str| format!("model.{stack}.{part}");
        tensors.table(&own("embed_positions"), POSITIONS + 2);
        tensors.norm(&own("layernorm_embedding"));
        let attentions: &[&str] = match stack {
            "encoder" => &["self_attn"],
            _ => &["self_attn", "encoder_attn"],
        };
        for attention in attentions {
            for part in ["q_proj", "k_proj", "v_proj", "out_proj"] {
                tensors.linear(&own(&format!("layers.0.{attention}.{part}")), WIDTH, WIDTH);
            }
            tensors.norm(&own(&format!("layers.0.{attention}_layer_norm")));
        }
        tensors.linear(&own("layers.0.fc1"), INNER, WIDTH);
        tensors.linear(&own("layers.0.fc2"), WIDTH, INNER);
        tensors.norm(&own("layers.0.final_layer_norm"));
    }
    tensors.add("final_logits_bias".to_owned(), &[1, pieces.len()], 0.0, 0.5);
    tensors.write(&folder.join("model.safetensors"));
}
