//! Tests the shift-reduce constraint, its language, the repair and the constrained decoder against
//! a recogniser that reads commands from the right, using the grammar
//!
//! ```text
//! item → s | item₁ … item_k r₁ … r_k !        1 ≤ k
//! ```

use std::ops::Range;

use cajole_core::constraints::{All, Automaton, Dfa, Length};
use cajole_core::{Constraint, Part, Symbol, Violation};
use cajole_treebank::Tree;
use cajole_treebank::shift_reduce::{
    Blame, Commands, Formula, ShiftReduce, ShiftReduceLanguage, complete, repair,
};
use proptest::prelude::*;

fn commands(n_labels: usize) -> Commands {
    Commands::new((0..n_labels).map(|i| format!("X{i}")).collect())
}

fn symbols(untyped: &str) -> Vec<Symbol> {
    commands(1).parse_untyped(untyped).unwrap()
}

/// An input of `m` tokens.
fn tokens(m: usize) -> Vec<Symbol> {
    vec![0; m]
}

fn leaves(m: usize) -> Vec<(&'static str, &'static str)> {
    ["a", "b", "c", "d"].iter().cycle().take(m).map(|&word| ("T", word)).collect()
}

fn constraint(n_labels: usize, blame: Blame) -> ShiftReduce {
    ShiftReduce { blame, ..ShiftReduce::new(&commands(n_labels)) }
}

fn g(untyped: &str, m: usize, formula: Formula) -> f32 {
    let blames = [Blame::Whole, Blame::Parts];
    let [whole, parts] = blames.map(|blame| {
        let constraint = ShiftReduce { formula, ..constraint(1, blame) };
        constraint.check(tokens(m).as_slice(), &symbols(untyped)).total()
    });
    assert!((whole - parts).abs() < 1e-6, "{untyped} costs {whole} as a whole, {parts} in parts");
    whole
}

/// Every string over `0..n_symbols` of up to `max_len` symbols.
fn strings(n_symbols: usize, max_len: usize) -> impl Iterator<Item = Vec<Symbol>> {
    (0..=max_len as u32).flat_map(move |len| {
        (0..n_symbols.pow(len)).map(move |code| {
            (0..len).map(|i| (code / n_symbols.pow(i) % n_symbols) as Symbol).collect()
        })
    })
}

/// The tree built by the last commands of `y`, and how many commands precede them.
fn last_item(y: &[Symbol], n_labels: usize) -> Option<(Tree, usize)> {
    let (&last, mut before) = y.split_last()?;
    if last == 0 {
        return Some((Tree::Leaf { tag: String::new(), word: String::new() }, before.len()));
    }
    let label = (last as usize).checked_sub(2).filter(|&label| label < n_labels)?;
    let reduces = before.iter().rev().take_while(|&&symbol| symbol == 1).count();
    before = &before[..before.len() - reduces];
    let mut children = Vec::new();
    for _ in 0..reduces {
        let (child, rest) = last_item(before, n_labels)?;
        children.insert(0, child);
        before = &before[..rest];
    }
    let tree = Tree::Node { label: format!("X{label}"), children };
    (0 < reduces).then_some((tree, before.len()))
}

/// Whether `y` is one tree over `m` tokens.
fn is_tree(y: &[Symbol], m: usize, n_labels: usize) -> bool {
    matches!(last_item(y, n_labels), Some((tree, 0)) if tree.leaves().len() == m)
}

#[test]
fn the_papers_examples() {
    for formula in [Formula::Full, Formula::Paper] {
        assert_eq!(g("ssrr!ssr!rr!rr!", 4, formula), 0.0);
        assert_eq!(g("sssr!ssssrr!srrr!rr!ssrrrrrr!", 10, formula), 0.0);
        assert_eq!(g("ssr!sr!ssssrrr!rr!ssrrrrrr!", 10, formula), 1.0 / 37.0);
    }
}

/// `[|m − #s| + Σ_i max(0, #r up to i − #{s,!} up to i)] / (m + n)`, by hand.
#[test]
fn the_papers_formula() {
    assert_eq!(g("srr", 1, Formula::Paper), 1.0 / 4.0);
    assert_eq!(g("rrs", 1, Formula::Paper), (1.0 + 2.0 + 1.0) / 4.0);
    assert_eq!(g("ss", 2, Formula::Paper), 0.0, "two roots go unnoticed");
    assert_eq!(g("sss", 1, Formula::Paper), 2.0 / 4.0);
    assert_eq!(g("", 0, Formula::Paper), 0.0);
}

#[test]
fn every_kind_of_failure_counts() {
    assert_eq!(g("", 0, Formula::Full), 1.0, "there is no tree over nothing");
    assert_eq!(g("", 3, Formula::Full), (3.0 + 1.0) / 3.0);
    assert_eq!(g("sss", 1, Formula::Full), (2.0 + 2.0) / 4.0);
    assert_eq!(g("sssrrr!", 2, Formula::Full), 1.0 / 9.0);
    assert_eq!(g("srr!", 1, Formula::Full), 1.0 / 5.0);
    assert_eq!(g("s!", 1, Formula::Full), 1.0 / 3.0);
    assert_eq!(g("srsrr!", 2, Formula::Full), 1.0 / 8.0);
    assert_eq!(g("ssrr", 2, Formula::Full), 1.0 / 6.0);
}

#[test]
fn blame_falls_on_the_faulty_positions() {
    let check = |y: &[Symbol], m: usize, want: &[(Range<usize>, usize)]| {
        let cost = |count: usize| count as f32 / (m + y.len()) as f32;
        let parts = want.iter().map(|(at, count)| Part { at: at.clone(), cost: cost(*count) });
        let want =
            if want.is_empty() { Violation::NONE } else { Violation::Parts(parts.collect()) };
        assert_eq!(constraint(1, Blame::Parts).check(tokens(m).as_slice(), y), want, "{y:?}");
    };
    check(&symbols("ssrr!"), 2, &[]);
    check(&symbols("srr!"), 1, &[(2..3, 1)]);
    check(&symbols("s!"), 1, &[(1..2, 1)]);
    check(&symbols("srsrr!"), 2, &[(2..3, 1)]);
    check(&symbols("ssssrrrr!"), 2, &[(2..3, 1), (3..4, 1)]);
    check(&symbols("ssrr!"), 5, &[(4..6, 3)]);
    check(&symbols("sss"), 3, &[(2..4, 2)]);
    check(&symbols(""), 1, &[(0..1, 1), (0..1, 1)]);
    check(&[0, 9], 1, &[(1..2, 1)]);
}

#[test]
fn faults_are_explained() {
    let explain = |y: &[Symbol], m: usize| -> Vec<String> {
        let faults = constraint(1, Blame::Whole).faults(m, y);
        faults.into_iter().map(|fault| format!("{} {}", fault.at, fault.message)).collect()
    };
    assert_eq!(explain(&symbols("ssrr!r!"), 2), [""; 0]);
    assert_eq!(
        explain(&symbols("!ssrrrss"), 3),
        [
            "0 position 0: close with nothing reduced",
            "5 position 5: reduce on an empty stack",
            "6 position 6: reduced items are not closed",
            "7 position 7: shift past the last of 3 tokens",
            "8 3 items on the stack at the end",
        ]
    );
    assert_eq!(
        explain(&[3, 0, 1], 2),
        [
            "0 position 0: symbol 3 is no command",
            "3 position 3: reduced items are not closed",
            "3 1 of 2 tokens are shifted",
        ]
    );
}

/// `g = 0`, membership, successful decoding, no repair and no completion are all equivalent.
fn check_all(n_labels: usize, n_symbols: usize, max_len: usize) {
    let commands = commands(n_labels);
    let [whole, parts] = [Blame::Whole, Blame::Parts].map(|blame| constraint(n_labels, blame));
    for m in 0..=4 {
        let (x, leaves) = (tokens(m), leaves(m));
        let language = ShiftReduceLanguage { n_tokens: m, n_labels };
        for y in strings(n_symbols, max_len) {
            let valid = is_tree(&y, m, n_labels);
            assert_eq!(whole.check(x.as_slice(), &y).is_satisfied(), valid, "{y:?} over {m}");
            assert_eq!(parts.check(x.as_slice(), &y).is_satisfied(), valid, "{y:?} over {m}");
            assert_eq!(language.contains(&y), valid, "{y:?} over {m}");

            let (tree, repairs) = repair(&commands, &y, &leaves);
            assert_eq!(tree.leaves(), leaves, "{y:?}");
            assert_eq!(repairs.total() == 0, valid, "{y:?} over {m}: {repairs:?}");
            let first_fault = whole.faults(m, &y).first().map(|fault| fault.kind);
            let decoded = first_fault.map_or(Ok(tree), Err);
            assert_eq!(decoded.is_ok(), valid, "{y:?} over {m}");
            assert_eq!(commands.decode(&y, &leaves), decoded, "{y:?} over {m}");

            let completed = complete(&commands, &y, m);
            assert_eq!(is_tree(&completed, m, n_labels), 0 < m, "{y:?} over {m}: {completed:?}");
            assert!(!valid || completed == y, "{y:?} over {m}: {completed:?}");
        }
    }
}

#[test]
fn every_short_output_with_one_label() {
    check_all(1, 3, 9);
}

#[test]
fn every_short_output_with_two_labels() {
    check_all(2, 4, 7);
}

/// Decoders never leave the end symbol in an output, but other callers may.
#[test]
fn every_short_output_with_invalid_symbols() {
    check_all(1, 5, 6);
}

/// The closed form against breadth-first search over the explicit states.
#[test]
fn distances_are_shortest_and_no_allowed_command_is_a_dead_end() {
    for (m, n_labels) in [(0, 1), (1, 0), (1, 1), (2, 0), (2, 2), (3, 1), (4, 1), (6, 1)] {
        let language = ShiftReduceLanguage { n_tokens: m, n_labels };
        let next = |&state: &_, symbol| language.next(state, symbol);
        let n_symbols = language.n_symbols();
        let listed =
            Dfa::explore(n_symbols, language.start(), next, |&state| language.accepts(state));
        assert_eq!(listed.is_empty(), language.is_empty());
        for y in strings(n_symbols, if n_symbols < 4 { 10 } else { 8 }) {
            let Some(state) = y.iter().try_fold(language.start(), |q, &s| language.next(q, s))
            else {
                continue;
            };
            let same = y.iter().try_fold(listed.start(), |q, &s| listed.next(q, s)).unwrap();
            let distance = language.distance_to_accept(state);
            assert_eq!(distance, listed.distance_to_accept(same), "{y:?} over {m}");
            assert_eq!(distance.is_some(), !language.is_empty(), "{y:?} over {m}");
        }
    }
}

#[test]
fn it_intersects_with_other_constraints() {
    let seven = Length { required: |_: &[Symbol]| 7, n_symbols: 3 };
    let both = All::new().with(1.0, constraint(1, Blame::Whole)).with(1.0, seven);
    let input: &[Symbol] = &[0; 2];
    let language = both.automaton(input).unwrap();
    for y in strings(3, 8) {
        assert_eq!(language.contains(&y), is_tree(&y, 2, 1) && y.len() == 7, "{y:?}");
    }
    let paper = ShiftReduce { formula: Formula::Paper, ..constraint(1, Blame::Whole) };
    assert!(paper.automaton(input).is_none());
}

/// The second line of the paper's comparison, which appends `srr!` to the first.
#[test]
fn the_papers_constrained_decoder() {
    let commands = commands(1);
    let completed = complete(&commands, &symbols("ssr!sr!ssssrrr!rr!ssrrrrrr!"), 10);
    assert_eq!(commands.untyped(&completed), "ssr!sr!ssssrrr!rr!ssrrrrrr!srr!");
    let check = |y: &str, m: usize, want: &str| {
        assert_eq!(commands.untyped(&complete(&commands, &symbols(y), m)), want);
    };
    check("", 1, "s");
    check("", 2, "ssrr!");
    check("rs!srr", 2, "ssrr!");
    check("sr", 2, "sr!srr!");
    check("ssssrrrr!", 3, "sssrrr!");
}

proptest! {
    #[test]
    fn nothing_panics(y in prop::collection::vec(0..7u32, 0..60), m in 0..12usize) {
        let (commands, x) = (commands(3), tokens(m));
        let constraint = constraint(3, Blame::Parts);
        let violation = constraint.check(x.as_slice(), &y);
        prop_assert_eq!(violation.is_satisfied(), is_tree(&y, m, 3));
        prop_assert_eq!(violation.is_satisfied(), constraint.faults(m, &y).is_empty());
        let paper = ShiftReduce { formula: Formula::Paper, ..constraint };
        prop_assert!(0.0 <= paper.check(x.as_slice(), &y).total());
        prop_assert_eq!(is_tree(&complete(&commands, &y, m), m, 3), 0 < m);
        let (tree, _) = repair(&commands, &y, &leaves(m));
        prop_assert_eq!(tree.leaves(), leaves(m));
    }
}
