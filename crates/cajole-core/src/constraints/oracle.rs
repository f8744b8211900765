//! Test oracles of this folder: slow, obvious, and free of automata.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{Dfa, Language, Span, Tag, TagSet};
use crate::model::Symbol;

/// Every string over `0..n_symbols` of up to `max_len` symbols, shortest first.
pub(crate) fn strings(n_symbols: usize, max_len: usize) -> impl Iterator<Item = Vec<Symbol>> {
    (0..=max_len).flat_map(move |len| {
        (0..n_symbols.pow(len as u32)).map(move |mut code| {
            let digit = |_| {
                let symbol = code % n_symbols;
                code /= n_symbols;
                symbol as Symbol
            };
            let mut y: Vec<Symbol> = (0..len).map(digit).collect();
            y.reverse();
            y
        })
    })
}

/// The spans of `y`: each starts at a tag of role `X` that does not continue a span of `X`, and
/// extends over all following `I-X`.
pub(crate) fn spans(tags: &TagSet, y: &[Symbol]) -> Vec<Span> {
    let role = |t: usize| tags.tag(y[t]).and_then(Tag::role);
    let goes_on =
        |t: usize| matches!(tags.tag(y[t]), Some(Tag::I(r)) if t > 0 && role(t - 1) == Some(r));
    let mut spans = Vec::new();
    for start in (0..y.len()).filter(|&t| !goes_on(t)) {
        for end in start + 1..=y.len() {
            let is_whole = (start + 1..end).all(goes_on) && (end == y.len() || !goes_on(end));
            if let (true, Some(role)) = (is_whole, role(start)) {
                spans.push(Span { start, end, role });
            }
        }
    }
    spans
}

/// Whether `y` is in `language`, by the definition of regular expressions.
pub(crate) fn matches(language: &Language, y: &[Symbol]) -> bool {
    ends(language, y, 0).contains(&y.len())
}

/// Every `end` such that `y[begin..end]` is in `language`.
fn ends(language: &Language, y: &[Symbol], begin: usize) -> BTreeSet<usize> {
    match language {
        Language::EmptyWord => BTreeSet::from([begin]),
        Language::Symbol(s) if y.get(begin) == Some(s) => BTreeSet::from([begin + 1]),
        Language::Any if begin < y.len() => BTreeSet::from([begin + 1]),
        Language::Range(first, last) => match y.get(begin) {
            Some(symbol) if first <= symbol && symbol <= last => BTreeSet::from([begin + 1]),
            _ => BTreeSet::new(),
        },
        Language::Symbol(_) | Language::Any => BTreeSet::new(),
        Language::Seq(parts) => parts.iter().fold(BTreeSet::from([begin]), |begins, part| {
            begins.iter().flat_map(|&begin| ends(part, y, begin)).collect()
        }),
        Language::Alt(choices) => choices.iter().flat_map(|c| ends(c, y, begin)).collect(),
        Language::Star(inner) => {
            let mut all = BTreeSet::from([begin]);
            loop {
                let more: BTreeSet<_> = all.iter().flat_map(|&b| ends(inner, y, b)).collect();
                if more.is_subset(&all) {
                    return all;
                }
                all.extend(more);
            }
        }
    }
}

/// Levenshtein distance between two strings.
pub(crate) fn levenshtein(a: &[Symbol], b: &[Symbol]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b.len() {
            let substituted = diagonal + usize::from(a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Every result of one edit to `y` at each of these positions, given in order.
pub(crate) fn edited(y: &[Symbol], positions: &[usize], n_symbols: Symbol) -> Vec<Vec<Symbol>> {
    let Some((&i, before)) = positions.split_last() else { return vec![y.to_vec()] };
    let (head, tail) = y.split_at(i);
    let mut edits: Vec<Vec<Symbol>> = (0..n_symbols).map(|s| [head, &[s], tail].concat()).collect();
    if let [_, rest @ ..] = tail {
        edits.push([head, rest].concat());
        edits.extend((0..n_symbols).map(|s| [head, &[s], rest].concat()));
    }
    edits.iter().flat_map(|y| edited(y, before, n_symbols)).collect()
}

/// Small languages over `0..n_symbols`, including the empty one.
pub(crate) fn language(n_symbols: usize) -> impl Strategy<Value = Language> {
    let leaf = prop_oneof![
        Just(Language::EmptyWord),
        Just(Language::Any),
        (0..n_symbols as Symbol).prop_map(Language::Symbol),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Language::Seq),
            vec(inner.clone(), 0..4).prop_map(Language::Alt),
            inner.prop_map(Language::star),
        ]
    })
}

/// Random automata, with dead ends and missing transitions.
pub(crate) fn table(n_symbols: usize, n_states: usize) -> impl Strategy<Value = Dfa> {
    let row = (vec(option::weighted(0.7, 0..n_states), n_symbols), prop::bool::weighted(0.3));
    vec(row, n_states).prop_map(move |rows| {
        let next = |&q: &usize, s: Symbol| rows[q].0[s as usize];
        Dfa::explore(n_symbols, 0, next, |&q| rows[q].1)
    })
}
