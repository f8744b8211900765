//! Roles in JSON Lines, written as columns and read back.
#![no_main]

use cajole_treebank::roles::conll2012::{self, Table};
use cajole_treebank::roles::jsonl;
use cajole_treebank::roles::props::{self, Props};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for found in jsonl::sentences(text).flatten() {
        let sentence = found.item;
        let words = sentence.tokens.len();
        assert_eq!(sentence.pos.len(), words);
        assert!(sentence.tree.as_ref().is_none_or(|tree| tree.leaves().len() == words));
        if let Ok(table) = Table::new(&sentence, "document", "0") {
            let read = conll2012::sentences(&table.to_string()).next();
            assert!(read.is_none_or(|read| read.is_ok()), "{table}");
        }
        let mut propositions = sentence.propositions;
        propositions.sort_by_key(|proposition| proposition.predicate);
        propositions.iter_mut().for_each(|proposition| proposition.roleset.clear());
        let props = Props { words, propositions };
        let Ok(text) = props.text() else { continue };
        let again = props::sentences(&text).next().map(|found| found.map(|found| found.item));
        assert_eq!(again, (0 < words).then_some(Ok(props)), "{text}");
    }
});
