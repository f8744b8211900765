//! Sequence transduction: the paper's synthetic task.
//!
//! Inputs are strings of `(az|bz)*`; the transducer maps `az` to `aaa` and `bz` to `zb`. Networks
//! are trained on inputs of 2 to 20 symbols, learn them perfectly, and are tested on longer ones,
//! where they lose count.

mod constraint;
mod language;
mod metric;

pub use constraint::{ConstraintKind, full};
pub use language::{A, ALPHABET, B, END, N_SYMBOLS, Splits, Text, Z, parse, transduce};
pub use metric::{Score, accuracy};
