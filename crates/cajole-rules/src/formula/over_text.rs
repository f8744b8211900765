//! The texts that satisfy a formula, as an automaton over bytes.
//!
//! As for symbols, a state holds the difference of the sides of each comparison. What a byte adds
//! depends on the bytes before it, so a state holds the state of each [`Feature`], too.

use std::collections::HashSet;

use cajole_core::Symbol;

use super::Comparison;
use super::automaton::{Difference, MAX_NUMBERS, MAX_STATES};
use super::feature::Feature;
use crate::Subject;
use crate::classes::Classes;
use crate::vocabulary::is_first_of_character;
use crate::words::is_white;

const BYTES: Symbol = 256;

/// Limit on states times kinds of bytes.
const MAX_ARCS: usize = 1 << 20;

/// Limit on the features that are followed together.
const MAX_FEATURES: usize = 64;

/// Limit on the states of all features together, before anything is counted.
const MAX_FEATURE_STATES: usize = 1 << 12;

/// The feasible set for `x`, if it is small enough.
pub(super) fn explore(
    comparisons: &[Comparison],
    x: &Subject,
    features: &[Feature],
) -> Option<Classes> {
    if MAX_FEATURES < features.len() {
        return None;
    }
    let kinds: Vec<Symbol> = (0..BYTES).map(|byte| representative(byte, features)).collect();
    let mut differences: Vec<Difference> =
        comparisons.iter().map(|c| Difference::new(c, x, features.len())).collect::<Option<_>>()?;
    bound(&mut differences, features, &kinds)?;
    let start = (
        vec![0; features.len()],
        differences.iter().map(|d| d.settled(d.start)).collect::<Vec<i128>>(),
    );
    let next = |(states, values): &(Vec<usize>, Vec<i128>), &byte: &Symbol| {
        let (states, counted) = step(features, states, byte);
        let added = differences.iter().zip(values);
        let values = added.map(|(d, value)| d.next(value + weight(d, &counted)));
        Some((states, values.collect::<Option<Vec<i128>>>()?))
    };
    let accepts = |(states, values): &(Vec<usize>, Vec<i128>)| {
        let counted = at_end(features, states);
        differences.iter().zip(values).all(|(d, &value)| d.holds(value + weight(d, &counted)))
    };
    let n_kinds = kinds.iter().collect::<HashSet<_>>().len();
    let n_numbers = comparisons.len() + features.len();
    let max_states = MAX_STATES.min(MAX_NUMBERS / n_numbers.max(1)).min(MAX_ARCS / n_kinds);
    Classes::explore(max_states, kinds.iter().copied(), start, next, accepts)
}

/// A byte that all features treat as they do this one.
fn representative(byte: Symbol, features: &[Feature]) -> Symbol {
    let is_told = |feature: &Feature| feature.bytes().iter().any(|own| Symbol::from(*own) == byte);
    if features.iter().any(is_told) {
        return byte;
    }
    let told: HashSet<u8> = features.iter().flat_map(Feature::bytes).copied().collect();
    let is_like = |other: &Symbol| {
        let kind = |byte: Symbol| (is_white(byte), is_first_of_character(byte));
        kind(*other) == kind(byte) && !told.contains(&(*other as u8))
    };
    (0..BYTES).find(is_like).unwrap_or(byte)
}

/// The states of all features after a byte, and which of them count it.
fn step(features: &[Feature], states: &[usize], byte: Symbol) -> (Vec<usize>, Vec<bool>) {
    features.iter().zip(states).map(|(feature, &state)| feature.next(state, byte)).unzip()
}

/// Which features count the end of the text.
fn at_end(features: &[Feature], states: &[usize]) -> Vec<bool> {
    features.iter().zip(states).map(|(feature, &state)| feature.at_end(state)).collect()
}

/// What these counts add to a difference.
fn weight(difference: &Difference, counted: &[bool]) -> i128 {
    let weights = difference.weights.iter().zip(counted);
    weights.filter(|(_, counted)| **counted).map(|(weight, _)| weight).sum()
}

/// Finds out which way differences can move; `None` if there are too many states.
fn bound(differences: &mut [Difference], features: &[Feature], kinds: &[Symbol]) -> Option<()> {
    let mut kinds = kinds.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    for difference in differences.iter_mut() {
        (difference.can_rise, difference.can_fall) = (false, false);
    }
    let mut note = |counted: &[bool]| {
        for difference in differences.iter_mut() {
            let weight = weight(difference, counted);
            difference.can_rise |= 0 < weight;
            difference.can_fall |= weight < 0;
        }
    };
    let start = vec![0; features.len()];
    let (mut found, mut open) = (HashSet::from([start.clone()]), vec![start]);
    while let Some(states) = open.pop() {
        note(&at_end(features, &states));
        for &byte in &kinds {
            let (to, counted) = step(features, &states, byte);
            note(&counted);
            if found.insert(to.clone()) {
                open.push(to);
            }
        }
        if MAX_FEATURE_STATES < found.len() {
            return None;
        }
    }
    Some(())
}
