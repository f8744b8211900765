//! Regular expressions over the text of outputs, compared with a search of the whole text.
#![no_main]

use cajole_core::{Constraint, Symbol};
use cajole_fuzz::{check, letters, outputs, words};
use cajole_rules::{NamedRegular, Subject, Vocabulary};
use libfuzzer_sys::fuzz_target;
use regex_automata::meta::Regex;
use regex_syntax::hir::{Hir, Look};

fuzz_target!(|text: &str| {
    for vocabulary in [letters(), words()] {
        match NamedRegular::matching(text, &vocabulary) {
            Ok(pattern) => compare(text, &pattern, &vocabulary),
            Err(error) => drop(error.to_string()),
        }
    }
});

fn compare(text: &str, pattern: &NamedRegular, vocabulary: &Vocabulary) {
    let (x, outputs) = (Subject::default(), outputs(vocabulary));
    check(pattern, &x, &outputs);
    let inner = regex_syntax::parse(text).expect("it has been compiled");
    let whole = Hir::concat(vec![Hir::look(Look::Start), inner, Hir::look(Look::End)]);
    let regex = Regex::builder().build_from_hir(&whole).expect("it has been compiled");
    let is_output = |y: &&Vec<Symbol>| y.iter().all(|&s| (s as usize) < vocabulary.len());
    for y in outputs.iter().filter(is_output) {
        let text = vocabulary.text(y);
        assert_eq!(pattern.check(&x, y).is_satisfied(), regex.is_match(&text), "{text:?}");
    }
}
