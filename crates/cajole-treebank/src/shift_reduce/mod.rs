//! Trees as shift-reduce commands: the codec, the constraint that commands build one tree (as a
//! fault count and as an automaton), and the repair of arbitrary outputs.

pub mod commands;
pub mod constrained;
pub mod constraint;
pub mod language;
pub mod repair;
#[cfg(test)]
mod tests;

pub use commands::{Command, Commands};
pub use constrained::complete;
pub use constraint::{Blame, Fault, Formula, ShiftReduce, Tokens};
pub use language::ShiftReduceLanguage;
pub use repair::{Repairs, repair};
