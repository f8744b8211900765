//! Grammars and expressions in EBNF. An expression is also a grammar of one rule, and both describe
//! the same language.
#![no_main]

use std::sync::Arc;

use cajole_core::Constraint;
use cajole_fuzz::{check, letters, outputs, words};
use cajole_rules::{NamedGrammar, NamedRegular, Subject, Vocabulary};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for vocabulary in [letters(), words()] {
        grammar(text, &vocabulary);
        expression(text, &vocabulary);
    }
});

fn grammar(text: &str, vocabulary: &Arc<Vocabulary>) {
    match NamedGrammar::read(text, None, vocabulary) {
        Ok(grammar) => check(&grammar, &Subject::default(), &outputs(vocabulary)),
        Err(error) => check_place(text, &error),
    }
    let _ = NamedGrammar::read(text, Some("b"), vocabulary);
}

fn expression(text: &str, vocabulary: &Arc<Vocabulary>) {
    let expression = match NamedRegular::read(text, vocabulary) {
        Ok(expression) => expression,
        Err(error) => return check_place(text, &error),
    };
    let (x, outputs) = (Subject::default(), outputs(vocabulary));
    check(&expression, &x, &outputs);
    let rule = format!("rule = {text}");
    // The shortest member may be too long for a grammar.
    let Ok(grammar) = NamedGrammar::read(&rule, None, vocabulary) else { return };
    for y in &outputs {
        assert_eq!(grammar.check(&x, y).total(), expression.check(&x, y).total(), "{y:?}");
    }
}

fn check_place(text: &str, error: &cajole_rules::ebnf::EbnfError) {
    let line = text.split('\n').nth(error.place.line - 1).expect("a line of the text");
    assert!(error.place.column <= line.chars().count() + 1, "{error}");
    error.to_string();
}
