//! Treebanks in JSON Lines.
#![no_main]

use cajole_treebank::jsonl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for found in jsonl::sentences(text).flatten() {
        let sentence = &found.item;
        let row = serde_json::json!({
            "id": sentence.id, "genre": sentence.genre, "tree": sentence.tree.to_string()
        });
        let again = jsonl::sentences(&row.to_string()).next();
        assert_eq!(again.expect("one row").expect("a sentence").item, *sentence);
    }
});
