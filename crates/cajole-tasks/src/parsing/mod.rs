//! The paper's second task: constituency parsing by a sequence-to-sequence network that emits
//! shift-reduce commands.

pub mod commands;
pub mod repair;
#[cfg(test)]
mod tests;

pub use commands::{Command, Commands};
pub use repair::{Repairs, repair};
