//! Reference implementations for the tests of this crate.

use std::collections::HashSet;

use cajole_core::constraints::{Automaton, State};
use cajole_core::{Constraint, Symbol};

use crate::Subject;

/// Every string over `0..n_symbols` of up to `max_len` symbols, shortest first.
pub(crate) fn strings(n_symbols: usize, max_len: usize) -> impl Iterator<Item = Vec<Symbol>> {
    (0..=max_len).flat_map(move |len| {
        (0..n_symbols.pow(len as u32)).map(move |mut code| {
            let digit = |_| {
                let symbol = code % n_symbols;
                code /= n_symbols;
                symbol as Symbol
            };
            (0..len).map(digit).collect()
        })
    })
}

/// An input of these letters.
pub(crate) fn letters(text: &str) -> Subject {
    Subject::new(text.chars().map(String::from).collect::<Vec<_>>(), text.into())
}

/// Checks that the rule gives `y` the cost `g`, with faults that add up to it.
pub(crate) fn check_cost(rule: &dyn Constraint<Subject>, x: &Subject, y: &[Symbol], g: f32) {
    let violation = rule.check(x, y);
    assert!((violation.total() - g).abs() <= 1e-5 * g, "{y:?}: {violation:?} should be {g}");
    assert_eq!(violation.is_satisfied(), g == 0.0, "{y:?}");
    let told: f32 = rule.explain(x, y).iter().map(|fault| fault.cost).sum();
    assert!((told - g).abs() <= 1e-5 * g, "{y:?}: told {told} of {g}");
}

/// Checks that the automaton accepts exactly the feasible outputs of up to `max_len` symbols, and
/// that its distance to acceptance is right wherever it ends within `max_len` symbols.
pub(crate) fn check_automaton(
    automaton: &dyn Automaton,
    max_len: usize,
    is_feasible: impl Fn(&[Symbol]) -> bool,
) {
    let n_symbols = automaton.n_symbols();
    let follow = |from: State, y: &[Symbol]| y.iter().try_fold(from, |q, &s| automaton.next(q, s));
    for y in strings(n_symbols, max_len) {
        assert_eq!(automaton.contains(&y), is_feasible(&y), "{y:?}");
    }
    let mut seen = HashSet::new();
    for prefix in strings(n_symbols, max_len) {
        let mut rests = strings(n_symbols, max_len - prefix.len());
        let shortest = rests.find(|rest| is_feasible(&[&prefix[..], rest].concat()));
        let state = follow(automaton.start(), &prefix);
        match (state, shortest) {
            (None, shortest) => assert_eq!(shortest, None, "{prefix:?} was cut off"),
            (Some(q), Some(rest)) => {
                assert_eq!(automaton.distance_to_accept(q), Some(rest.len()), "{prefix:?}");
            }
            (Some(q), None) if seen.insert(q) => {
                let distance = automaton.distance_to_accept(q);
                let beyond = |d| max_len < prefix.len() + d;
                assert!(distance.is_none_or(beyond), "{prefix:?}: {distance:?}");
            }
            (Some(_), None) => {}
        }
    }
}
