//! The paper's constrained decoder: it obeys the constraint, but only once it is too late.
//!
//! It leaves out what is impossible when it comes, and where the network wants to end before there
//! is one tree, it shifts the tokens that are left and reduces everything to a phrase. For the
//! paper's example this appends `srr!`. A masked decoder
//! ([`MaskedBeam`](cajole_nn::decoders::MaskedBeam) with [`ShiftReduce`](super::ShiftReduce)) is
//! its twin: there the network chooses what to do instead of an impossible command.

use cajole_core::Symbol;
use cajole_core::constraints::{Automaton, State};

use super::commands::{Command, Commands, FIRST_CLOSE, REDUCE, SHIFT};
use super::language::ShiftReduceLanguage;

/// Commands that build one tree over `n_tokens` tokens: `y` without what is impossible, and with
/// what is missing at the end.
///
/// What it closes has the type that was closed last, or else the most frequent one. Valid commands
/// stay as they are. Only where there is no tree at all, without tokens or without labels, the
/// result is not valid.
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
        take(&language, &mut state, close, &mut completed); // if items are being reduced
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

/// Adds `symbol` if it is possible in `state`, and says whether it was.
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
