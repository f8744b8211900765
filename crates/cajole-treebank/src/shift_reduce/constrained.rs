//! The paper's constrained decoder, which enforces the constraint only after the fact.
//!
//! It drops commands that are impossible. If the network ends before there is one tree, it shifts
//! the remaining tokens and reduces everything to one phrase. For the paper's example this appends
//! `srr!`. The alternative is a masked decoder (`MaskedBeam` with
//! [`ShiftReduce`](super::ShiftReduce)), where the network chooses among the possible commands.

use cajole_core::Symbol;
use cajole_core::constraints::{Automaton, State};

use super::commands::{Command, Commands, FIRST_CLOSE, REDUCE, SHIFT};
use super::language::ShiftReduceLanguage;

/// Repairs `y` to commands that build one tree over `n_tokens` tokens: drops impossible commands
/// and appends what is missing.
///
/// Phrases it adds get the label that was closed last, or else the most frequent one. Valid
/// commands are returned unchanged. The result is invalid only if no tree exists: without tokens,
/// or without labels.
pub fn complete(commands: &Commands, y: &[Symbol], n_tokens: usize) -> Vec<Symbol> {
    let language = ShiftReduceLanguage { n_tokens, n_labels: commands.labels.len() };
    let mut completed = Vec::with_capacity(y.len());
    let mut state = language.start();
    for &symbol in y {
        take(&language, &mut state, symbol, &mut completed);
    }
    let is_close = |&&symbol: &&Symbol| matches!(commands.command(symbol), Some(Command::Close(_)));
    let close = completed.iter().rev().find(is_close).copied().unwrap_or(FIRST_CLOSE);
    let left = n_tokens - completed.iter().filter(|&&symbol| symbol == SHIFT).count();
    if 0 < left {
        take(&language, &mut state, close, &mut completed); // if reducing
    }
    for _ in 0..left {
        take(&language, &mut state, SHIFT, &mut completed);
    }
    if !language.accepts(state) {
        while take(&language, &mut state, REDUCE, &mut completed) {}
        take(&language, &mut state, close, &mut completed);
    }
    completed
}

/// Appends `symbol` if it is possible in `state`; returns whether it was.
fn take(
    language: &ShiftReduceLanguage,
    state: &mut State,
    symbol: Symbol,
    y: &mut Vec<Symbol>,
) -> bool {
    let Some(next) = language.next(*state, symbol) else { return false };
    *state = next;
    y.push(symbol);
    true
}
