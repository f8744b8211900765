//! The paper's second task: constituency parsing by a sequence-to-sequence network that emits
//! shift-reduce commands.

mod case_study;
pub mod commands;
pub mod config;
pub mod constrained;
pub mod constraint;
pub mod corpora;
pub mod evalb;
mod experiment;
pub mod input;
pub mod language;
pub mod methods;
pub mod metric;
pub mod parser;
pub mod repair;
mod tables;
#[cfg(test)]
mod tests;
pub mod training;

pub use crate::experiment::ExperimentError;
pub use case_study::trace_of;
pub use commands::{Command, Commands};
pub use config::ParsingConfig;
pub use constrained::complete;
pub use constraint::{Blame, Fault, Formula, ShiftReduce, Tokens};
pub use corpora::Splits;
pub use experiment::reproduce;
pub use language::ShiftReduceLanguage;
pub use methods::{Failures, Method};
pub use parser::{Card, Net, Parser};
pub use repair::{Repairs, repair};
pub use training::train;
