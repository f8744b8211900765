//! Constraint files on disk, which name a grammar file: the grammar is the input, or the rules are.
#![no_main]

use std::fs;

use cajole_fuzz::{check, letters, outputs};
use cajole_rules::{Rules, Subject};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // A checker would start a program.
    if bytes.windows(7).any(|part| part == b"checker") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.toml");
    let vocabulary = letters();
    fs::write(folder.path().join("grammar"), bytes).expect("room for it");
    for rules in [&b"grammar-file = 'grammar'"[..], bytes] {
        fs::write(&path, rules).expect("room for it");
        match Rules::read(&path, &vocabulary) {
            Ok(rules) => {
                let unsatisfiable = rules.unsatisfiable();
                let (x, outputs) = (Subject::default(), outputs(&vocabulary));
                check(&rules, &x, &outputs);
                let is_satisfied = outputs
                    .iter()
                    .any(|y| cajole_core::Constraint::check(&rules, &x, y).is_satisfied());
                assert!(unsatisfiable.is_empty() || !is_satisfied, "{unsatisfiable:?}");
            }
            Err(error) => assert!(error.to_string().contains("rules.toml"), "{error}"),
        }
    }
});
