//! Texts of pieces, compared with the tokenizer's own `decode`.

use cajole_core::Symbol;
use cajole_rules::{TokenizerError, Vocabulary, read_tokenizer};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokenizers::Tokenizer;

/// A tokenizer with these pieces, of which the first two are special.
fn tokenizer(pieces: &[&str], model: &str, decoder: &Value) -> Tokenizer {
    let vocab: serde_json::Map<String, Value> =
        pieces.iter().zip(0..).map(|(piece, id)| ((*piece).to_owned(), json!(id))).collect();
    let model = match model {
        "BPE" => json!({"type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": false,
            "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "byte_fallback": true, "vocab": vocab, "merges": []}),
        _ => json!({"type": "WordPiece", "unk_token": "<unk>",
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}),
    };
    let special = |id: usize| {
        json!({"id": id, "content": pieces[id], "single_word": false,
        "lstrip": false, "rstrip": false, "normalized": false, "special": true})
    };
    let file = json!({"version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special(0), special(1)], "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": decoder, "model": model});
    Tokenizer::from_bytes(file.to_string()).expect("a tokenizer")
}

/// A llama-like decoder.
fn fallback() -> Value {
    json!({"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})
}

/// Every kind of tokenizer that is supported, with pieces that look like those of others.
fn all() -> Vec<Tokenizer> {
    let spm = ["<pad>", "</s>", "▁", "▁the", "▁▁", "s", "é", "▁日本", ".", "##x", "n't", "a▁b"];
    let words =
        ["[PAD]", "<unk>", "the", "##s", "##é", "日本", ".", ",", "'", "n't", "'s", "##", "do"];
    let bytes = ["<s>", "</s>", "Ġthe", "s", "Ã", "©", "Ġ", "â", "Ĥ", "¬", "Ċ", "日", "é"];
    let fall =
        ["<s>", "</s>", "▁", "▁the", "s", "<0xE2>", "<0x82>", "<0xAC>", "<0x20>", "<0x0A>", "é"];
    let metaspace = |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true});
    let pieces = |cleanup: bool| json!({"type": "WordPiece", "prefix": "##", "cleanup": cleanup});
    let level = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
    vec![
        tokenizer(&spm, "BPE", &metaspace("always")),
        tokenizer(&spm, "BPE", &metaspace("never")),
        tokenizer(&words, "WordPiece", &pieces(true)),
        tokenizer(&words, "WordPiece", &pieces(false)),
        tokenizer(&words, "WordPiece", &Value::Null),
        tokenizer(&bytes, "BPE", &level),
        tokenizer(&fall, "BPE", &fallback()),
    ]
}

/// Whether the two may differ in how many characters broken bytes become.
fn is_broken(text: &str) -> bool {
    text.contains(char::REPLACEMENT_CHARACTER)
}

proptest! {
    #[test]
    fn texts_are_what_the_tokenizer_decodes(y in prop::collection::vec(0..16u32, 0..12)) {
        for tokenizer in all() {
            let n_symbols = tokenizer.get_vocab_size(true) + 2;
            let vocabulary = Vocabulary::of_tokenizer(&tokenizer, n_symbols).unwrap();
            let y: Vec<Symbol> = y.iter().map(|s| s % n_symbols as Symbol).collect();
            let (ours, theirs) = (vocabulary.text(&y), tokenizer.decode(&y, true).unwrap());
            let is_fallback = vocabulary.symbol("<0xE2>").is_some();
            if is_fallback && is_broken(&theirs) {
                prop_assert_eq!(is_broken(&ours), is_broken(&theirs), "{:?}: {:?}, {:?}", y, ours, theirs);
            } else {
                prop_assert_eq!(&ours, &theirs, "{:?}", y);
            }
        }
    }
}

#[test]
fn special_pieces_and_outputs_without_a_piece_write_nothing() {
    let tokenizer = &all()[0];
    let n_symbols = tokenizer.get_vocab_size(true) + 2;
    let vocabulary = Vocabulary::of_tokenizer(tokenizer, n_symbols).unwrap();
    assert_eq!(vocabulary.len(), n_symbols);
    let [pad, end, the] = ["<pad>", "</s>", "▁the"].map(|name| vocabulary.symbol(name).unwrap());
    assert_eq!(vocabulary.text(&[pad, the, end, n_symbols as Symbol - 1, the]), "the the");
    assert_eq!(vocabulary.read("the thes"), Ok(vec![the, the, vocabulary.symbol("s").unwrap()]));
    assert_eq!(vocabulary.read("the x").unwrap_err().name, "x");
}

#[test]
fn decoders_that_look_further_are_refused() {
    let refused = |decoder: Value| {
        let tokenizer = tokenizer(&["<pad>", "</s>", "a"], "BPE", &decoder);
        match Vocabulary::of_tokenizer(&tokenizer, 3) {
            Err(TokenizerError::Decoder { part }) => part,
            other => panic!("{decoder}: {other:?}"),
        }
    };
    assert_eq!(refused(json!({"type": "BPEDecoder", "suffix": "</w>"})), "BPEDecoder");
    let ctc =
        json!({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true});
    assert_eq!(refused(ctc), "CTC");
    assert_eq!(refused(json!({"type": "Strip", "content": " ", "start": 0, "stop": 1})), "Strip");
    let late = json!({"type": "Sequence", "decoders": [{"type": "Fuse"},
        {"type": "Replace", "pattern": {"String": "ab"}, "content": "c"}]});
    assert_eq!(refused(late), "Replace");
}

#[test]
fn errors_name_the_file_or_the_piece() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    for text in ["", "{}", "[1]", r#"{"version": "1.0", "model": {"type": "BPE"}}"#] {
        std::fs::write(&path, text).unwrap();
        let error = read_tokenizer(&path).unwrap_err().to_string();
        assert!(error.contains("tokenizer.json"), "{error}");
    }
    assert!(read_tokenizer(&folder.path().join("none.json")).is_err());
    std::fs::write(&path, "{\n\"decoder\": {\"type\" \"Fuse\"}}").unwrap();
    let error = read_tokenizer(&path).unwrap_err().to_string();
    assert!(error.contains("line 2 column"), "{error}");
    let error = Vocabulary::of_tokenizer(&all()[0], 5).unwrap_err().to_string();
    assert_eq!(error, r#"the tokenizer numbers "s" 5, but the network has 5 symbols"#);
}
