//! `cajole evalb` and `cajole srl-eval` on whole files: a file against itself, and two against each
//! other. A line of `%` separates the two.
#![no_main]

use cajole_fuzz::with_file;
use cajole_treebank::evalb::{self, Params};
use cajole_treebank::roles::eval;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (one, other) = text.split_once("%\n").unwrap_or((text, text));
    with_file("one", one.as_bytes(), |one| {
        with_file("other", other.as_bytes(), |other| {
            let params = Params::read(one).unwrap_or_default();
            for (gold, test) in [(one, one), (one, other), (other, one)] {
                if let Ok(found) = evalb::Evaluation::of_files(gold, test, &params) {
                    assert!(found.all.matched <= found.all.gold.min(found.all.test));
                    found.to_string();
                    found.messages().for_each(drop);
                }
                if let Ok(found) = eval::Evaluation::of_files(gold, test) {
                    assert!(found.score.perfect <= found.score.propositions);
                    found.to_string();
                }
            }
        });
    });
});
