//! Whole files: every reader that takes a path, plain and gzipped. An error names the file.
#![no_main]

use cajole_files::limits::MOST_CORPUS_BYTES;
use cajole_files::text_of;
use cajole_fuzz::with_file;
use cajole_treebank::{read, roles};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 6] =
    ["a.ptb", "a.ptb.gz", "a.jsonl", "a.jsonl.gz", "a.gold_conll", "a.gold_conll.gz"];

fuzz_target!(|bytes: &[u8]| {
    for name in NAMES {
        with_file(name, bytes, |path| {
            let text = text_of(path, MOST_CORPUS_BYTES);
            if let (Ok(text), false) = (&text, name.ends_with(".gz")) {
                assert_eq!(text.as_bytes(), bytes);
            }
            let errors = [text.err(), read(path).err(), roles::read(path).err()];
            for error in errors.into_iter().flatten() {
                assert!(error.to_string().contains(name), "{error}");
            }
        });
    }
});
