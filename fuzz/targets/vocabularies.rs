//! Vocabularies of checkpoints: what is accepted has distinct entries, none of them empty.
#![no_main]

use std::collections::BTreeSet;

use cajole_fuzz::with_file;
use cajole_tasks::checkpoint::{Entries, Files};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    with_file("vocab.txt", bytes, |path| {
        let files = Files::Folder(path.parent().expect("a folder"));
        for kind in [Entries::Texts, Entries::Words, Entries::Labels, Entries::Characters] {
            match files.list("vocab.txt", kind) {
                Ok(entries) => {
                    let distinct: BTreeSet<&String> = entries.iter().collect();
                    assert_eq!(distinct.len(), entries.len());
                    assert!(entries.iter().all(|entry| !entry.is_empty()));
                    let has_bracket = |entry: &String| entry.contains(['(', ')']);
                    assert!(kind != Entries::Labels || !entries.iter().any(has_bracket));
                }
                Err(error) => assert!(error.to_string().contains("vocab.txt"), "{error}"),
            }
        }
    });
});
