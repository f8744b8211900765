//! JSON Schemas and texts: the first line is the schema. `g` is zero exactly for valid texts.
#![no_main]

use cajole_core::{Constraint, Symbol};
use cajole_fuzz::check;
use cajole_rules::{JsonSchema, Subject, Vocabulary};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let (schema, text) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    // Untrusted schemas may not have references, which may multiply the work exponentially.
    if JsonSchema::reference(&schema).is_some() {
        return;
    }
    match JsonSchema::new(&schema, Vocabulary::bytes()) {
        Ok(rule) => {
            let y: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
            check(&rule, &Subject::default(), std::slice::from_ref(&y));
            if rule.check(&Subject::default(), &y).is_satisfied() {
                let _: Value = serde_json::from_str(text).expect("only JSON is valid");
            }
        }
        Err(error) => assert!(!error.is_empty()),
    }
});
