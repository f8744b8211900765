//! Tests the codec, the repair and the constraint against each other and a slow recogniser.

use proptest::prelude::*;

use super::commands::{Invalid, SHIFT};
use super::*;
use crate::Tree;
use crate::limits::MOST_DEPTH;

fn commands() -> Commands {
    Commands::new(["NP", "VP", "S"].map(String::from).to_vec())
}

fn leaf(word: &str) -> Tree {
    Tree::Leaf { tag: "X".into(), word: word.into() }
}

fn node(label: &str, children: Vec<Tree>) -> Tree {
    Tree::Node { label: label.into(), children }
}

/// `n` leaves, `(X w)` each.
fn leaves(n: usize) -> Vec<(&'static str, &'static str)> {
    ["a", "b", "c", "d", "e", "f"].iter().cycle().take(n).map(|&word| ("X", word)).collect()
}

/// `(S (NP the ball) (VP is (NP red)))`.
fn ball() -> Tree {
    let np = node("NP", vec![leaf("the"), leaf("ball")]);
    let vp = node("VP", vec![leaf("is"), node("NP", vec![leaf("red")])]);
    node("S", vec![np, vp])
}

#[test]
fn the_papers_tree() {
    let (commands, tree) = (commands(), ball());
    let y = commands.encode(&tree).unwrap();
    assert_eq!(commands.text(&y).to_string(), "s s r r !NP s s r !NP r r !VP r r !S");
    assert_eq!(commands.untyped(&y), "ssrr!ssr!rr!rr!");
    assert_eq!(commands.parse("s s r r !NP s s r !NP r r !VP r r !S"), Ok(y.clone()));
    assert_eq!(commands.decode(&y, &tree.leaves()), Ok(tree));
}

#[test]
fn the_vocabulary_of_trees_is_ordered_by_frequency_then_name() {
    let commands = Commands::of_trees([&ball(), &node("X", vec![leaf("a")])]);
    assert_eq!(commands.labels, ["NP", "S", "VP", "X"]);
    assert_eq!((commands.end(), commands.n_symbols()), (6, 7));
    let json = serde_json::to_string(&commands).unwrap();
    assert_eq!(json, r#"["NP","S","VP","X"]"#);
    assert_eq!(serde_json::from_str::<Commands>(&json).unwrap(), commands);
}

#[test]
fn unknown_labels_and_commands_are_reported() {
    let commands = commands();
    let error = commands.encode(&node("PP", vec![leaf("a")])).unwrap_err();
    assert_eq!(error.to_string(), r#"no command closes phrases with the label "PP""#);
    let error = commands.parse("s r !PP").unwrap_err();
    assert_eq!(error.to_string(), r#""!PP", at position 2, is no command"#);
    let error = commands.parse_untyped("sx").unwrap_err();
    assert_eq!(error.to_string(), r#""x", at position 1, is no command"#);
    assert_eq!(commands.text(&[SHIFT, 5, 99]).to_string(), "s </s> ?99");
}

#[test]
fn every_kind_of_invalid_output() {
    let commands = commands();
    let check = |y: &str, n: usize, want: Invalid| {
        let y = commands.parse_untyped(y).unwrap();
        assert_eq!(commands.decode(&y, &leaves(n)), Err(want));
    };
    check("ss", 1, Invalid::PastTheTokens { at: 1, n_tokens: 1 });
    check("srr!", 1, Invalid::EmptyStack { at: 2 });
    check("s!", 1, Invalid::NothingReduced { at: 1 });
    check("srs", 2, Invalid::NotClosed { at: 2 });
    check("sr", 1, Invalid::NotClosed { at: 2 });
    check("s", 2, Invalid::TokensLeft { shifted: 1, n_tokens: 2 });
    check("ss", 2, Invalid::NotOneTree { items: 2 });
    check("", 0, Invalid::NotOneTree { items: 0 });
    let end = commands.end();
    let no_command = Err(Invalid::NoCommand { at: 1, symbol: end });
    assert_eq!(commands.decode(&[SHIFT, end], &leaves(1)), no_command);
    assert_eq!(commands.decode(&[SHIFT], &[("X", "a")]), Ok(leaf("a")));
}

#[test]
fn every_kind_of_repair() {
    let commands = commands();
    let none = Repairs::default();
    let check = |y: &str, n: usize, want: &str, repairs: Repairs| {
        let (tree, done) = repair(&commands, &commands.parse(y).unwrap(), &leaves(n));
        assert_eq!((tree.to_string().replace("X ", ""), done), (want.to_owned(), repairs), "{y}");
    };
    check("s s r r !S", 2, "(S (a) (b))", none);
    check("s", 1, "(a)", none);
    let dropped = Repairs { dropped_shifts: 1, ..none };
    check("s s s r r r !S", 2, "(S (a) (b))", dropped);
    check("s s s r !NP r r r !S", 2, "(S (a) (b))", dropped);
    check("s s r r !S s", 2, "(S (a) (b))", dropped);
    let added = Repairs { added_shifts: 1, wrapped_roots: 1, ..none };
    check("s s r r !VP", 3, "(VP (VP (a) (b)) (c))", added);
    check("", 1, "(a)", Repairs { added_shifts: 1, ..none });
    check("r s r r !S", 1, "(S (a))", Repairs { dropped_reduces: 2, ..none });
    check("s !VP s r r !S", 2, "(S (a) (b))", Repairs { dropped_closes: 1, ..none });
    let closed = Repairs { added_closes: 1, ..none };
    check("s r s r r !S", 2, "(S (NP (a)) (b))", closed);
    check("s s r r", 2, "(NP (a) (b))", closed);
    check("s s", 2, "(NP (a) (b))", Repairs { wrapped_roots: 1, ..none });
    check("", 0, "(NP)", Repairs { wrapped_roots: 1, ..none });
    let (tree, done) = repair(&commands, &[99, 0, 5], &leaves(1));
    assert_eq!((tree, done), (leaf("a"), Repairs { dropped_symbols: 2, ..none }));
}

#[test]
fn depth_is_bounded() {
    let commands = commands();
    let chain = |n: usize| [vec![0], [1, 2].repeat(n)].concat();
    assert!(commands.decode(&chain(MOST_DEPTH - 1), &leaves(1)).is_ok());
    let at = 2 * MOST_DEPTH;
    assert_eq!(commands.decode(&chain(MOST_DEPTH), &leaves(1)), Err(Invalid::TooDeep { at }));
    let (tree, done) = repair(&commands, &chain(5 * MOST_DEPTH), &leaves(1));
    assert_eq!(done, Repairs { cut_phrases: 4 * MOST_DEPTH + 1, ..Repairs::default() });
    assert_eq!(commands.encode(&tree).unwrap(), chain(MOST_DEPTH - 1));
    let (tree, done) = repair(&commands, &chain(MOST_DEPTH - 1), &leaves(2));
    assert_eq!((tree, done.cut_phrases), (node("NP", vec![leaf("a"), leaf("b")]), 1));
}

fn tree() -> impl Strategy<Value = Tree> {
    let label = prop::sample::select(vec!["NP", "VP", "S"]);
    let leaf = ("[A-Z]{1,3}", "[a-z()]{1,4}").prop_map(|(tag, word)| Tree::Leaf { tag, word });
    leaf.prop_recursive(6, 40, 4, move |inner| {
        (label.clone(), prop::collection::vec(inner, 1..5))
            .prop_map(|(label, children)| node(label, children))
    })
}

proptest! {
    #[test]
    fn trees_round_trip(tree in tree()) {
        let commands = commands();
        let y = commands.encode(&tree).unwrap();
        prop_assert_eq!(commands.parse(&commands.text(&y).to_string()), Ok(y.clone()));
        prop_assert_eq!(commands.decode(&y, &tree.leaves()), Ok(tree.clone()));
        prop_assert_eq!(repair(&commands, &y, &tree.leaves()), (tree, Repairs::default()));
    }

    #[test]
    fn any_output_can_be_repaired(y in prop::collection::vec(0..8u32, 0..40), n in 0..8usize) {
        let (commands, leaves) = (commands(), leaves(n));
        let (tree, done) = repair(&commands, &y, &leaves);
        prop_assert_eq!(tree.leaves(), leaves.clone());
        match commands.decode(&y, &leaves) {
            Ok(decoded) => prop_assert_eq!((decoded, 0), (tree, done.total())),
            Err(_) => prop_assert!(0 < done.total()),
        }
    }
}
