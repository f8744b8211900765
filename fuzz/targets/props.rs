//! CoNLL-2005's propositions, and their scores against themselves and each other.
#![no_main]

use cajole_treebank::roles::eval::{Counts, Evaluation};
use cajole_treebank::roles::props::{self, Props};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = text.lines().count();
    let mut read: Vec<Props> = Vec::new();
    for found in props::sentences(text) {
        match found {
            Ok(found) => read.push(found.item),
            Err(error) => assert!((1..=lines).contains(&error.line), "{error}"),
        }
    }
    for props in &read {
        let written = props.text().expect("what is read can be written");
        let again = props::sentences(&written).next().expect("a sentence").expect("no fault");
        assert_eq!(again.item, *props);
    }
    let mut same = Evaluation::default();
    let mut other = Evaluation::default();
    for (gold, test) in read.iter().zip(read.iter().rev()) {
        same.add(&gold.propositions, &gold.propositions).expect("tags of a reader");
        other.add(&gold.propositions, &test.propositions).expect("tags of a reader");
    }
    let Counts { excess, missed, .. } = same.score.overall();
    assert_eq!((excess, missed, same.mismatches.len()), (0, 0, 0));
    assert_eq!(same.score.perfect, same.score.propositions);
    assert_eq!(other.score.propositions, same.score.propositions);
    other.to_string();
});
