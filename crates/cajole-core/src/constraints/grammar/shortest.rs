//! The fewest symbols that each variable becomes.
//!
//! ```text
//! d(A) = min over A → X₁ … X_k of Σ d(X_i)      d(symbol) = 1
//! ```
//!
//! Knuth's generalisation of Dijkstra's algorithm: a sum is never smaller than its terms, so the
//! variable with the smallest sum so far is settled, and each production is looked at once for each
//! element it holds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Element, Production};

/// `d(A)` of every variable; `None` for those that never become a string of symbols.
pub(super) fn shortest_yields(
    n_symbols: usize,
    n_variables: usize,
    productions: &[Production],
) -> Vec<Option<usize>> {
    let mut uses = vec![Vec::new(); n_variables];
    let mut open: Vec<Open> = Vec::with_capacity(productions.len());
    let mut heap = BinaryHeap::new();
    for (p, Production { head, body }) in productions.iter().enumerate() {
        let mut sum = Open { unsettled: 0, length: 0 };
        for element in body {
            match *element {
                Element::Variable(variable) => {
                    uses[variable].push(p);
                    sum.unsettled += 1;
                }
                // Without symbols, not even any symbol will do: never settled.
                _ if n_symbols == 0 => sum.unsettled += 1,
                _ => sum.length += 1,
            }
        }
        if sum.unsettled == 0 {
            heap.push(Reverse((sum.length, *head)));
        }
        open.push(sum);
    }
    let mut shortest = vec![None; n_variables];
    while let Some(Reverse((length, variable))) = heap.pop() {
        if shortest[variable].is_some() {
            continue;
        }
        shortest[variable] = Some(length);
        for &p in &uses[variable] {
            open[p].unsettled -= 1;
            open[p].length = open[p].length.saturating_add(length);
            if open[p].unsettled == 0 {
                heap.push(Reverse((open[p].length, productions[p].head)));
            }
        }
    }
    shortest
}

/// A production of which some variables are settled.
struct Open {
    unsettled: usize,
    /// What the settled elements become.
    length: usize,
}
