//! `tokenizer.json`. The text of pieces is that of the tokenizer's own `decode`, except for how
//! many characters broken bytes become.
#![no_main]

use cajole_fuzz::with_file;
use cajole_rules::{Vocabulary, read_tokenizer};
use libfuzzer_sys::fuzz_target;

/// The most pieces of a tokenizer that a small file can have.
const MOST_PIECES: usize = 1 << 16;

// The reader catches panics of the tokenizers crate; others end the process.
fuzz_target!(init: std::panic::set_hook(Box::new(|_| ())), |bytes: &[u8]| {
    with_file("tokenizer.json", bytes, |path| {
        let tokenizer = match read_tokenizer(path) {
            Ok(tokenizer) => tokenizer,
            Err(error) => return assert!(error.to_string().contains("tokenizer.json"), "{error}"),
        };
        let vocab = tokenizer.get_vocab(true);
        let n_symbols = vocab.values().max().map_or(0, |&most| most as usize + 1);
        if MOST_PIECES < n_symbols {
            return;
        }
        let Ok(vocabulary) = Vocabulary::of_tokenizer(&tokenizer, n_symbols) else { return };
        let all: Vec<u32> = (0..n_symbols as u32).collect();
        for ids in all.windows(3).take(100) {
            let (ours, theirs) = (vocabulary.text(ids), tokenizer.decode(ids, true));
            let theirs = theirs.unwrap_or_default();
            let is_broken = theirs.contains(char::REPLACEMENT_CHARACTER);
            assert!(is_broken || ours == theirs, "{ids:?}: {ours:?}, {theirs:?}");
        }
    });
});
