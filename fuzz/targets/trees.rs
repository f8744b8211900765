//! Penn bracketed files, and what is done with every tree: cleaning, drawing, scoring.
#![no_main]

use cajole_treebank::evalb::{Evaluation, Params};
use cajole_treebank::{Pretty, Tree, clean, penn};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = 1 + text.matches('\n').count();
    for found in penn::trees(text) {
        match found {
            Ok(found) => {
                assert!((1..=lines).contains(&found.line));
                check(found.item);
            }
            Err(error) => assert!((1..=lines).contains(&error.line), "{error}"),
        }
    }
});

fn check(tree: Tree) {
    let written = tree.to_string();
    assert_eq!(penn::parse_tree(&written).as_ref(), Ok(&tree), "what is written is read");
    for width in [0, 1, 20, 80] {
        Pretty { width, colour: width == 1, tags: width == 20 }.draw(&tree);
    }
    let all = Evaluation::of([(&tree, &tree)], &Params::bare()).all;
    assert_eq!((all.errors, all.matched, all.crossing), (0, all.gold, 0), "{written}");

    let leaves = |tree: &Tree| -> Vec<(String, String)> {
        let own = |(tag, word): (&str, &str)| (tag.to_owned(), word.to_owned());
        tree.leaves().into_iter().map(own).collect()
    };
    let words: Vec<_> = leaves(&tree).into_iter().filter(|(tag, _)| tag != "-NONE-").collect();
    match clean(tree) {
        Some(cleaned) => {
            assert_eq!(leaves(&cleaned), words, "only traces go");
            assert_eq!(clean(cleaned.clone()), Some(cleaned), "what is clean stays as it is");
        }
        None => assert!(words.is_empty(), "{written}"),
    }
}
