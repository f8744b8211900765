//! How the time to measure a violation grows with the length of the output.
//!
//! `cargo bench -p cajole`, with part of a name behind `--` to choose. The edit distance to a
//! regular language should be linear in `n`. The distance to a grammar may be cubic if the output
//! errs; members are recognised before any chart is filled.

use std::hint::black_box;

use cajole_core::constraints::{ContextFree, Element, Grammar, Language, Production, Regular};
use cajole_core::{Constraint, Symbol};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// `n`.
const LENGTHS: [usize; 4] = [25, 50, 100, 200];

/// How often an erring output errs.
const ERRORS: usize = 4;

/// Times `constraint` on the `member` of about each length, and on the same with some symbols
/// overwritten by `stray`.
fn measure(
    c: &mut Criterion,
    name: &str,
    constraint: &dyn Constraint<()>,
    member: impl Fn(usize) -> Vec<Symbol>,
    stray: Symbol,
) {
    let mut group = c.benchmark_group(name);
    for n in LENGTHS {
        let member = member(n);
        let mut erring = member.clone();
        (0..ERRORS).for_each(|k| erring[k * member.len() / ERRORS] = stray);
        for (kind, y) in [("member", member), ("erring", erring)] {
            group.bench_function(BenchmarkId::new(kind, n), |bencher| {
                bencher.iter(|| constraint.check(&(), black_box(&y)));
            });
        }
    }
    group.finish();
}

/// `(aaa|zb)*`.
fn regular(c: &mut Criterion) {
    let target = Language::any_of([Language::word(&[0, 0, 0]), Language::word(&[2, 1])]).star();
    measure(
        c,
        "regular",
        &Regular::new(&target.automaton(3)),
        |n| [0, 0, 0, 2, 1].repeat(n / 5),
        1,
    );
}

/// `list → ( list ) list | x list | ∅`, nested as deeply as possible; each stray is a `)`.
fn brackets(c: &mut Criterion) {
    let [open, close, x] = [0, 1, 2].map(Element::Symbol);
    let list = Element::Variable(0);
    let bodies = [vec![open, list, close, list], vec![x, list], vec![]];
    let productions = bodies.map(|body| Production { head: 0, body }).to_vec();
    let Ok(grammar) = Grammar::new(3, 0, productions) else { return };
    let nested = |n| [vec![0; n / 2], vec![2; n % 2], vec![1; n / 2]].concat();
    measure(c, "brackets", &ContextFree::new(grammar), nested, 1);
}

/// Sums of products of digits and bracketed sums, left-recursive: `(1+2)*3-(1+2)*3-…-4`; each stray
/// is a `/`.
fn arithmetic(c: &mut Criterion) {
    let [sum, product, factor] = [0, 1, 2].map(Element::Variable);
    let [open, close, plus, minus, times, by] = [10, 11, 12, 13, 14, 15].map(Element::Symbol);
    let rules = [
        (0, vec![sum, plus, product]),
        (0, vec![sum, minus, product]),
        (0, vec![product]),
        (1, vec![product, times, factor]),
        (1, vec![product, by, factor]),
        (1, vec![factor]),
        (2, vec![open, sum, close]),
    ];
    let digits = (0..10).map(|digit| (2, vec![Element::Symbol(digit)]));
    let rules = rules.into_iter().chain(digits);
    let productions = rules.map(|(head, body)| Production { head, body }).collect();
    let Ok(grammar) = Grammar::new(16, 0, productions) else { return };
    let member = |n| [[10, 1, 12, 2, 11, 14, 3, 13].repeat(n / 8), vec![4]].concat();
    measure(c, "arithmetic", &ContextFree::new(grammar), member, 15);
}

criterion_group!(benches, regular, brackets, arithmetic);
criterion_main!(benches);
