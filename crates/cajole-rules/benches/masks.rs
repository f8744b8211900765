//! How fast masks are: which pieces of a vocabulary a rule over text allows next.
//!
//! `cargo bench -p cajole-rules --bench masks`, with part of a name behind `--` to choose.
//! Vocabularies are made up: pieces of the lengths that byte-level BPE has, most with a blank
//! before them. A mask is computed in a state in the middle of an output. The `naive` one tries
//! each piece in turn.

use std::hint::black_box;
use std::sync::Arc;

use cajole_core::constraints::{Automaton, Spelling, State, Trie};
use cajole_core::random::Random;
use cajole_core::{Constraint, Symbol};
use cajole_rules::{Rules, Subject, Vocabulary};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// `n` pieces: all bytes, then words and parts of words.
fn vocabulary(n: usize) -> Arc<Vocabulary> {
    let mut random = Random::new(7);
    let mut below = |n: usize| (random.uniform(0.0, n as f32) as usize).min(n - 1);
    const LETTERS: &[u8] = b"etaoinshrdlucmfwypvbgkjqxzETAOIN0123456789";
    let mut pieces: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    while pieces.len() < n {
        let mut piece = if below(3) < 2 { vec![b' '] } else { Vec::new() };
        // Letters are not uniform, so that pieces share beginnings.
        let len = 2 + below(4) + below(5);
        piece.extend((0..len).map(|_| LETTERS[below(LETTERS.len()).min(below(LETTERS.len()))]));
        pieces.push(piece);
    }
    let names = pieces.iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
    let silent = vec![false; n];
    Arc::new(Vocabulary::of_pieces(
        names,
        Spelling { later: Trie::new(pieces), first: None, silent },
    ))
}

/// Rules from selective to permissive, each with a text in the middle of which the mask is
/// computed.
const RULES: [(&str, &str, &str); 5] = [
    ("numbers", "pattern = '[0-9]+(, [0-9]+)*'", "12, 3"),
    ("letters", "pattern = '[a-z ]*'", "the cat"),
    ("anything", "pattern = '(?s:.*)'", "the cat"),
    ("phrases", "must-have = ['cat', 'dog']\nmust-not-have = ['http']", "the cat"),
    (
        "json",
        r#"grammar = '''
value = object | array | string | number | "true" | "false" | "null" ;
object = "{" [ member { "," member } ] "}" ;
member = blank string blank ":" blank value blank ;
array = "[" [ value { "," value } ] "]" ;
string = /"([^"\\\x00-\x1f]|\\.)*"/ ;
number = /-?[0-9]+(\.[0-9]+)?/ ;
blank = /[ \n]*/ ;
'''"#,
        r#"{"cat": "do"#,
    ),
];

fn masks(c: &mut Criterion) {
    for n in [30_000, 250_000] {
        let vocabulary = vocabulary(n);
        let x = Subject::default();
        for (name, rule, prefix) in RULES {
            let rules = Rules::parse("bench", rule, None, &vocabulary).expect("a rule");
            let automaton = rules.automaton(&x).expect("an automaton");
            let y = vocabulary.read(prefix).expect("pieces");
            let state = y.iter().try_fold(automaton.start(), |q, &piece| automaton.next(q, piece));
            let state = state.expect("a prefix of a text");
            let mut group = c.benchmark_group(format!("{name}, {n} pieces"));
            group.sample_size(20);
            let mut trie = 0;
            group.bench_function(BenchmarkId::from_parameter("trie"), |bencher| {
                bencher.iter(|| trie = allowed(&*automaton, black_box(state)));
            });
            let mut naive = 0;
            if n == 30_000 {
                group.bench_function(BenchmarkId::from_parameter("naive"), |bencher| {
                    bencher.iter(|| naive = tried(&*automaton, black_box(state)));
                });
                assert_eq!(trie, naive);
            }
            group.finish();
        }
    }
}

fn allowed(automaton: &dyn Automaton, state: State) -> usize {
    let mut n = 0;
    automaton.each_next(state, &mut |_, _| n += 1);
    n
}

fn tried(automaton: &dyn Automaton, state: State) -> usize {
    let pieces = 0..automaton.n_symbols() as Symbol;
    pieces.filter(|&piece| automaton.next(state, piece).is_some()).count()
}

criterion_group!(benches, masks);
criterion_main!(benches);
