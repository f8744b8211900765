//! Trees in CoNLL-2012's columns.
#![no_main]

use cajole_treebank::conll2012;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = text.lines().count();
    for found in conll2012::sentences(text) {
        match found {
            Ok(found) => {
                assert!((1..=lines).contains(&found.line));
                let words = found.item.tree.leaves().len();
                assert!(found.line + words <= lines + 1, "a word a row");
            }
            Err(error) => assert!((1..=lines).contains(&error.line), "{error}"),
        }
    }
});
