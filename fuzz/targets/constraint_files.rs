//! Constraint files, over the symbols of every kind of network. They come without a folder, as
//! those of a line do, so that they start no program and read no file.
#![no_main]

use cajole_core::Constraint;
use cajole_fuzz::{check, commands, letters, outputs, pieces, tags, words};
use cajole_rules::{Rules, Subject};
use cajole_treebank::penn::parse_tree;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let symbols = || ["the", "a", "cat"].map(str::to_owned).to_vec();
    let tree = parse_tree("(S (NP (DT the) (DT a)) (NN cat))").expect("a tree");
    let bare = Subject::new(symbols(), "the a cat".into());
    let parsed = bare.clone().with_tree(Some(tree));
    for vocabulary in [letters(), words(), tags(), commands(), pieces()] {
        let rules = match Rules::parse("fuzz", text, None, &vocabulary) {
            Ok(rules) => rules,
            Err(error) => {
                error.to_string();
                continue;
            }
        };
        let outputs = outputs(&vocabulary);
        for x in [&Subject::default(), &bare, &parsed] {
            check(&rules, x, &outputs);
            for y in &outputs {
                let all = rules.iter().map(|(_, weight, rule)| weight * rule.check(x, y).total());
                let (all, g) = (all.sum::<f32>(), rules.check(x, y).total());
                assert!(all == g || (all - g).abs() <= 1e-4 * g.max(1e-30), "{all} is not {g}");
            }
        }
    }
});
