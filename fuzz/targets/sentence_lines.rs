//! Lines as `cajole parse` and `cajole tag` read them: text, or JSON objects.
#![no_main]

use cajole_core::constraints::TagSet;
use cajole_tasks::parsing::input;
use cajole_tasks::srl::{Query, Vocabulary};
use cajole_tasks::words::{Lexicon, Reads};
use cajole_treebank::tokenize;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for line in text.lines() {
        check_tokens(line);
        if let Ok(Some(sentence)) = input::Sentence::parse(line) {
            assert!(!sentence.leaves.is_empty(), "{line:?}");
            for (tag, word) in sentence.leaves() {
                assert!(is_leaf(tag) && is_leaf(word), "{line:?}");
            }
        }
        if let Ok(Some(query)) = Query::parse(line) {
            check_query(query);
        }
    }
});

/// Whether a bracketed tree can have it.
fn is_leaf(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_ascii_whitespace())
}

fn check_tokens(line: &str) {
    let tokens = tokenize(line);
    assert_eq!(tokens.concat(), line.split_whitespace().collect::<String>(), "only parted");
    assert_eq!(tokenize(&tokens.join(" ")), tokens, "parted once and for all");
}

fn check_query(query: Query) {
    let words = query.tokens.len();
    for reads in [Reads::Words, Reads::Tags] {
        let lexicon =
            Lexicon::new(reads, ["UNK", "NN", "dogs"].map(str::to_owned).to_vec(), vec![]);
        let tags = TagSet::new(["O", "B-V", "B-ARG0", "I-ARG0"]).expect("these are tags");
        let vocabulary = Vocabulary::new(lexicon, tags, Vec::new(), ["bark".to_owned()]);
        let Ok(sentence) = query.clone().asked(&vocabulary) else { continue };
        assert_eq!((sentence.tokens.len(), sentence.pos.len()), (words, words));
        assert!(sentence.tree.as_ref().is_none_or(|tree| tree.leaves().len() == words));
        for proposition in &sentence.propositions {
            assert!(proposition.predicate < words);
        }
        assert!(vocabulary.unmarked(&sentence).is_ok());
    }
}
