//! Test oracle for grammars: members, by the definition of productions.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Element, Production};
use crate::model::Symbol;

/// A grammar as written; variable 0 is the start.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) n_symbols: usize,
    pub(super) productions: Vec<Production>,
}

/// The members of up to `max_len` symbols, by fixpoint iteration over all variables.
pub(super) fn members(grammar: &Written, max_len: usize) -> BTreeSet<Vec<Symbol>> {
    let n_variables = grammar.productions.iter().map(|p| p.head + 1).max().unwrap_or(0);
    let mut sets = vec![BTreeSet::new(); n_variables];
    loop {
        let size = |sets: &[BTreeSet<_>]| sets.iter().map(BTreeSet::len).sum::<usize>();
        let before = size(&sets);
        for Production { head, body } in &grammar.productions {
            let strings = body.iter().fold(BTreeSet::from([vec![]]), |begun, element| {
                let ends: BTreeSet<Vec<Symbol>> = match *element {
                    Element::Symbol(symbol) => BTreeSet::from([vec![symbol]]),
                    Element::Range(first, last) => (first..=last).map(|s| vec![s]).collect(),
                    Element::Any => (0..grammar.n_symbols as Symbol).map(|s| vec![s]).collect(),
                    Element::Variable(variable) => sets[variable].clone(),
                };
                let both = begun.iter().flat_map(|y| ends.iter().map(move |z| (y, z)));
                let short = both.filter(|(y, z)| y.len() + z.len() <= max_len);
                short.map(|(y, z)| [y.as_slice(), z].concat()).collect()
            });
            sets[*head].extend(strings);
        }
        if size(&sets) == before {
            return sets.swap_remove(0);
        }
    }
}

/// Small grammars over `0..n_symbols`: recursive, empty, ambiguous, cyclic, with useless
/// productions.
pub(super) fn grammar(n_symbols: usize) -> impl Strategy<Value = Written> {
    let element = move |n_variables: usize| {
        prop_oneof![
            5 => (0..n_symbols as Symbol).prop_map(Element::Symbol),
            1 => (0..n_symbols as Symbol).prop_map(move |s| Element::Range(s, n_symbols as Symbol - 1)),
            1 => Just(Element::Any),
            5 => (0..n_variables).prop_map(Element::Variable),
        ]
    };
    (1..4usize).prop_flat_map(move |n_variables| {
        let heads = vec(0..n_variables, 0..4);
        let bodies = vec(vec(element(n_variables), 0..4), n_variables + 4);
        (heads, bodies).prop_map(move |(heads, bodies)| {
            // Every variable heads a production.
            let heads = (0..n_variables).chain(heads);
            let production = |(head, body)| Production { head, body };
            Written { n_symbols, productions: heads.zip(bodies).map(production).collect() }
        })
    })
}

/// Parses `A=body|body…`: capitals are variables, `.` is any symbol, lowercase letters are symbols.
pub(super) fn written(n_symbols: usize, rules: &[&str]) -> Written {
    let element = |letter: char| match letter {
        'A'..='Z' => Element::Variable(letter as usize - 'A' as usize),
        '.' => Element::Any,
        symbol => Element::Symbol(symbol as Symbol - 'a' as Symbol),
    };
    let productions = rules.iter().flat_map(|rule| {
        let (head, bodies) = rule.split_at(1);
        let head = head.as_bytes()[0] as usize - b'A' as usize;
        bodies
            .trim_start_matches('=')
            .split('|')
            .map(move |body| Production { head, body: body.chars().map(element).collect() })
    });
    Written { n_symbols, productions: productions.collect() }
}
