//! Arithmetic over counts and lengths. Squares are zero exactly where distances are.
#![no_main]

use cajole_core::Constraint;
use cajole_fuzz::{check, letters, outputs};
use cajole_rules::{Formula, Subject};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let vocabulary = letters();
    let formula = |text: &str, squared| Formula::parse(text, &vocabulary, squared);
    let plain = match formula(text, false) {
        Ok(plain) => plain,
        Err(error) => {
            error.to_string();
            return;
        }
    };
    let squared = formula(text, true).expect("the same text");
    let twice = formula(&format!("{text} and {text}"), false).expect("twice what is one");
    let outputs = outputs(&vocabulary);
    let x = Subject::new(["a", "b", "a", "\""].map(str::to_owned).to_vec(), "aba\"".into());
    for x in [&Subject::default(), &x] {
        check(&plain, x, &outputs);
        for y in &outputs {
            let told = squared.explain(x, y).iter().fold(0.0, |sum, fault| sum + fault.cost);
            assert_eq!(told, squared.check(x, y).total(), "{y:?}");
            let g = plain.check(x, y).total();
            assert_eq!(g == 0.0, squared.check(x, y).is_satisfied(), "{y:?}");
            let both = twice.check(x, y).total();
            assert!(both == 2.0 * g || (both - 2.0 * g).abs() <= 1e-4 * g, "{both} for {g}");
        }
    }
});
