//! CoNLL-2012's columns with roles: a file that can be read is written back unchanged, and its
//! sentences survive a round trip through rows of our own.
#![no_main]

use cajole_treebank::roles::Sentence;
use cajole_treebank::roles::conll2012::{Document, Table, sentences};
use cajole_treebank::tree::{escape, unescape};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = 1 + text.matches('\n').count();
    let (document, errors) = Document::read(text);
    assert!(!errors.is_empty() || document.to_string() == text, "nothing is lost");
    for error in sentences(text).filter_map(Result::err) {
        assert!((1..=lines).contains(&error.line), "{error}");
    }
    document.tables().filter_map(|table| table.sentence().ok()).for_each(check);
});

fn check(mut sentence: Sentence) {
    let words = sentence.tokens.len();
    assert_eq!(sentence.pos.len(), words);
    assert!(sentence.tree.as_ref().is_none_or(|tree| tree.leaves().len() == words));
    assert!(sentence.propositions.iter().all(|p| p.tags.len() == words && p.arguments().is_ok()));
    // What the format cannot hold; see the documentation of the module.
    for proposition in &mut sentence.propositions {
        let sense = proposition.roleset.rsplit('.').next().unwrap_or_default();
        proposition.roleset = format!("{}.{sense}", proposition.lemma);
    }
    let is_ambiguous = |word: &String| unescape(&escape(word)) != *word;
    let has_bracket = |tag: &String| tag.contains(['(', ')']);
    if sentence.tokens.iter().any(is_ambiguous) || sentence.pos.iter().any(has_bracket) {
        return;
    }
    if let Ok(table) = Table::new(&sentence, "document", "0") {
        assert_eq!(table.sentence().as_ref(), Ok(&sentence));
        let mut read = sentences(&table.to_string()).next().expect("a table").expect("no fault");
        (read.item.id, read.item.genre) = (sentence.id.clone(), sentence.genre.clone());
        assert_eq!(read.item, sentence, "what is written is read");
    }
}
