//! Sequence transduction: networks that lose count on inputs longer than in training.

mod case_study;
mod config;
mod experiment;
mod methods;
mod tables;
mod tuning;

pub use config::{Rivals, TransductionConfig, Tuning};
pub use experiment::{ExperimentError, reproduce};
pub use methods::{Failures, Method};
