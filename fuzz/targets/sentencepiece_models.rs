//! Models of SentencePiece, as a tokenizer of T5 and as both of Marian: refused, or texts become pieces.
#![no_main]

use std::fs;

use cajole_tasks::words::Tokens;
use libfuzzer_sys::fuzz_target;

const VOCABULARY: &str = r#"{"</s>": 0, "<unk>": 1, "▁a": 2, "b": 3, "<pad>": 4}"#;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let put =
        |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("room for it");
    put("tokenizer_config.json", br#"{"tokenizer_class": "T5Tokenizer", "extra_ids": 1}"#);
    put("spiece.model", bytes);
    for names in [&[][..], &["source.spm", "target.spm"]] {
        names.iter().for_each(|name| put(name, bytes));
        if !names.is_empty() {
            put("vocab.json", VOCABULARY.as_bytes());
        }
        match Tokens::open(folder.path(), 64) {
            Ok(tokens) => {
                let _ = tokens.vocabulary(64);
                let _ = tokens.read("a b, ab ▁ <unk>");
                let _ = tokens.read_output("ab");
            }
            Err(error) => {
                assert!(error.to_string().contains(folder.path().to_str().unwrap()), "{error}");
            }
        }
    }
});
