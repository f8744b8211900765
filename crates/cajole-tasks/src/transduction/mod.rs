//! Sequence transduction: the paper's synthetic task.
//!
//! Inputs are strings of `(az|bz)*`; the transducer maps `az` to `aaa` and `bz` to `zb`. Networks
//! are trained on inputs of 2 to 20 symbols, learn them perfectly, and are tested on longer ones,
//! where they lose count.

mod case_study;
pub mod checkpoint;
mod config;
mod constraint;
mod experiment;
mod language;
mod methods;
mod metric;
mod tables;
mod training;
mod tuning;

pub use case_study::trace_of;
pub use config::{Presets, Rivals, TransductionConfig, Tuning};
pub use constraint::{ConstraintKind, full};
pub use experiment::{ExperimentError, reproduce};
pub use language::{A, ALPHABET, B, END, InputError, N_SYMBOLS, Splits, Text, Z, parse, transduce};
pub use methods::{Failures, Method, Net};
pub use metric::{Score, accuracy};
pub use training::train;
