use proptest::prelude::*;

use super::*;
use crate::penn::parse_tree;

const DOG: &str = "(S (NP (DT The) (NN dog)) (VP (VBD barked) (PP (IN at) (NP (DT the) (JJ old) \
                   (NN cat)))) (. .))";

#[track_caller]
fn check(style: Pretty, tree: &str, expected: &[&str]) {
    let drawing = style.draw(&parse_tree(tree).unwrap());
    assert_eq!(drawing.lines().collect::<Vec<_>>(), expected, "\n{drawing}");
}

fn plain(width: usize) -> Pretty {
    Pretty { width, ..Pretty::default() }
}

#[test]
fn each_phrase_gets_a_line() {
    check(
        plain(80),
        DOG,
        &["S", "├─ NP The dog", "├─ VP barked", "│  └─ PP at", "│     └─ NP the old cat", "└─ ."],
    );
}

#[test]
fn words_between_phrases_share_a_line() {
    check(
        plain(80),
        "(X (`` \") (NP (NN a)) (, ,) (CC and) (RB so) (NP (NP (NN b)) (PP (IN c))) (. .) ('' \"))",
        &["X \"", "├─ NP a", "├─ , and so", "├─ NP", "│  ├─ NP b", "│  └─ PP c", "└─ . \""],
    );
}

#[test]
fn unary_chains_share_a_line() {
    check(plain(80), "(S (VP (TO to) (VP (VB go))))", &["S › VP to", "└─ VP go"]);
    check(plain(80), "( (S (NP (NP (PRP I)))))", &["· › S › NP › NP I"]);
}

#[test]
fn a_bare_leaf_is_its_word() {
    check(plain(80), "(UH Yes)", &["Yes"]);
    check(Pretty { tags: true, ..plain(80) }, "(UH Yes)", &["Yes/UH"]);
}

#[test]
fn tags_are_shown_if_asked_for() {
    check(
        Pretty { tags: true, ..plain(80) },
        "(S (NP (DT The) (NN dog)) (. .))",
        &["S", "├─ NP The/DT dog/NN", "└─ ./."],
    );
}

#[test]
fn long_lines_wrap_with_a_hanging_indent() {
    check(
        plain(16),
        "(S (NP (NN alpha) (NN beta) (NN gamma) (NN delta) (PP (IN of) (NN epsilon))) (. .))",
        &[
            "S",
            "├─ NP alpha beta",
            "│  │  gamma",
            "│  │  delta",
            "│  └─ PP of",
            "│        epsilon",
            "└─ .",
        ],
    );
    let words = "(NP (NN incomprehensibilities) (NN 東京) (NN 東京) (NN 東京))";
    check(plain(9), words, &["NP", "   incomprehensibilities", "   東京", "   東京", "   東京"]);
    check(plain(12), words, &["NP", "   incomprehensibilities", "   東京 東京", "   東京"]);
}

#[test]
fn deep_trees_narrow_their_guides() {
    let deep = |n: usize| "(A (b b) ".repeat(n) + "(c c)" + &")".repeat(n);
    check(plain(16), &deep(4), &["A b", "└ A b", "  └ A b", "    └ A b c"]);
    let drawing = plain(40).draw(&parse_tree(&deep(999)).unwrap());
    assert_eq!(drawing.lines().last(), Some("⋯998             └ A b c"));
    assert!(drawing.lines().all(|line| columns(line) <= 40));
}

#[test]
fn colours_change_nothing_else() {
    let tree = parse_tree("(S (NP (DT The) (NN dog)) (VP (VP (VBZ barks))))").unwrap();
    let style = Pretty { colour: true, tags: true, ..Pretty::default() };
    assert_eq!(
        style.draw(&tree).lines().nth(1),
        Some("\x1b[2m├─ \x1b[0m\x1b[1;36mNP\x1b[0m The\x1b[32m/DT\x1b[0m dog\x1b[32m/NN\x1b[0m")
    );
    let mut bare = style.draw(&tree);
    for code in [LABEL, TAG, GUIDE, "0"] {
        bare = bare.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(bare, Pretty { colour: false, ..style }.draw(&tree));
}

#[test]
fn escape_sequences_in_words_are_neutralized() {
    let word = Tree::Leaf { tag: String::new(), word: "\x1b[2J\n".to_owned() };
    assert_eq!(Pretty::default().draw(&word), "\u{fffd}[2J\u{fffd}");
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = "[a-z]{1,9}".prop_map(|word| Tree::Leaf { tag: "T".to_owned(), word });
    leaf.prop_recursive(8, 60, 4, |child| {
        ("[A-Z]{1,4}", prop::collection::vec(child, 1..5))
            .prop_map(|(label, children)| Tree::Node { label, children })
    })
}

proptest! {
    #[test]
    fn lines_fit_and_no_word_is_lost(tree in tree(), width in 0..60usize) {
        let drawing = plain(width).draw(&tree);
        let is_word = |atom: &&str| atom.starts_with(|c: char| c.is_ascii_lowercase());
        let drawn: Vec<_> = drawing.split_whitespace().filter(is_word).collect();
        let words: Vec<_> = tree.leaves().into_iter().map(|(_, word)| word).collect();
        prop_assert_eq!(drawn, words);
        for line in drawing.lines() {
            let atoms = line.split_whitespace().filter(|atom| atom.is_ascii()).count();
            prop_assert!(columns(line) <= width || atoms == 1, "{line:?} in\n{drawing}");
        }
    }
}
