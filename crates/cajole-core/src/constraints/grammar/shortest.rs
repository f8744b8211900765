//! The length of the shortest string each variable derives.
//!
//! ```text
//! d(A) = min over A → X₁ … X_k of Σ d(X_i)      d(symbol) = 1
//! ```
//!
//! Knuth's generalisation of Dijkstra's algorithm: a sum is never smaller than its terms, so the
//! variable with the smallest sum so far is settled. Each production is visited once per element.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Element, Production};

/// `d(A)` of every variable; `None` if it derives no string.
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
                // With an empty alphabet even `Any` derives nothing: never settled.
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

/// A production with some variables settled.
struct Open {
    unsettled: usize,
    /// Total length of the settled elements.
    length: usize,
}
