//! Whole files: every reader that takes a path, plain and gzipped. An error names the file.
#![no_main]

use std::path::Path;

use cajole_fuzz::with_file;
use cajole_treebank::limits::MOST_CORPUS_BYTES;
use cajole_treebank::{read, roles, text_of};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 6] =
    ["a.ptb", "a.ptb.gz", "a.jsonl", "a.jsonl.gz", "a.gold_conll", "a.gold_conll.gz"];

fuzz_target!(|bytes: &[u8]| {
    for name in NAMES {
        let told = |error: Option<String>| {
            assert!(error.is_none_or(|error| error.contains(name)), "the file is not named");
        };
        told(with_file(name, bytes, |path| read(path).err().map(|error| error.to_string())));
        told(with_file(name, bytes, |path| roles::read(path).err().map(|error| error.to_string())));
        let text =
            |path: &Path| text_of(path, MOST_CORPUS_BYTES).map_err(|error| error.to_string());
        match with_file(name, bytes, text) {
            Ok(text) if !name.ends_with(".gz") => assert_eq!(text.as_bytes(), bytes),
            Ok(_) => {}
            Err(error) => told(Some(error)),
        }
    }
});
