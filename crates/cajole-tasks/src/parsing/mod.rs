//! The paper's second task: constituency parsing by a sequence-to-sequence network that emits
//! shift-reduce commands.

pub mod commands;
pub mod constrained;
pub mod constraint;
pub mod evalb;
pub mod language;
pub mod repair;
#[cfg(test)]
mod tests;

pub use commands::{Command, Commands};
pub use constrained::complete;
pub use constraint::{Blame, Fault, Formula, ShiftReduce, Tokens};
pub use language::ShiftReduceLanguage;
pub use repair::{Repairs, repair};
