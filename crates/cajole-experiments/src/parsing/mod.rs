//! Constituency parsing: repairs outputs that are not trees.

mod case_study;
mod config;
mod experiment;
mod methods;
mod paper;
mod seeds;
mod tables;

pub use config::{ParsingConfig, Rivals, Tuning};
pub use experiment::reproduce;
pub use methods::{Failures, Method};
