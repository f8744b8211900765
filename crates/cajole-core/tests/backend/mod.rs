//! A second backend, so that nothing in the core can depend on the first.
//!
//! Two networks small enough to follow by hand: [`Table`](table::Table) tags positions, and
//! [`Bigram`](bigram::Bigram) emits one symbol after another. Both are a softmax over sums of weights,
//! so every gradient is known in closed form. What moves is kept as a map from weights to double
//! precision shifts ([`Deltas`](deltas::Deltas)).
//!
//! Both panic if they are misused: with a mark of an old recording, a place that was recorded under
//! other weights, or a row that belongs to no input. And both fail on demand, see
//! [`Faults`](faults::Faults).

// Every test file is a program of its own and uses a part of this.
#![allow(dead_code)]

pub(crate) mod bigram;
pub(crate) mod deltas;
pub(crate) mod faults;
pub(crate) mod outcomes;
pub(crate) mod table;

/// Log-probabilities of symbols with these scores.
pub(crate) fn log_softmax(scores: &mut [f64]) {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln() + most;
    scores.iter_mut().for_each(|s| *s -= total);
}
