//! Sequence transduction: the paper's synthetic task.
//!
//! Inputs match `(az|bz)*`; the transducer maps `az` to `aaa` and `bz` to `zb`. Networks learn
//! inputs of 2 to 20 symbols perfectly, and are tested on longer ones, where they lose count.

pub mod checkpoint;
mod kind;
mod language;
mod metric;
mod training;

pub use checkpoint::Net;
pub use kind::Kind;
pub use language::{A, ALPHABET, B, END, InputError, N_SYMBOLS, Splits, Text, Z, parse, transduce};
pub use metric::{Score, accuracy};
pub use training::train;

/// The default constraint on outputs, as a constraint file.
pub const USUAL_RULES: &str = include_str!("rules.toml");
