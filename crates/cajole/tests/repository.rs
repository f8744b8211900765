//! What the repository says twice must agree. A packaged crate is alone, and skips this.

use std::fs;
use std::path::Path;

/// A file of the repository; `None`, with a message, if it is missing.
fn repository(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let text = fs::read_to_string(path).ok();
    if text.is_none() {
        cajole_testing::outside::skip(&format!("no {name}, as in a packaged crate"));
    }
    text
}

/// The first example in Rust.
fn example(text: &str) -> &str {
    let (_, rest) = text.split_once("```rust\n").expect("an example");
    rest.split_once("```").expect("that ends").0
}

#[test]
fn the_example_of_the_readme_is_the_one_that_is_tested() {
    let Some(readme) = repository("README.md") else { return };
    assert!(readme.contains("## In a program"), "the repository's README");
    assert_eq!(readme.matches("```rust").count(), 1, "every example is to be tested");
    assert_eq!(example(&readme), example(include_str!("../README.md")));
}

#[test]
fn the_usual_rule_of_the_transducer_is_the_one_to_begin_with() {
    use cajole::tasks::transduction::Kind;
    for (path, kind) in
        [("rules/transduction.toml", Kind::Count), ("rules/transduction-full.toml", Kind::Full)]
    {
        let Some(rule) = repository(path) else { return };
        assert_eq!(rule, kind.rules());
    }
}
