//! Semantic roles: who did what to whom, for each predicate of a sentence.
//!
//! [`read`](read()) reads a file with roles, in JSON Lines or CoNLL-2012 columns, and skips
//! malformed sentences. [`eval`] scores predictions with the field's standard metric.

pub mod bio;
mod columns;
pub mod conll2012;
pub mod error;
pub mod eval;
pub mod generated;
pub mod jsonl;
pub mod nodes;
pub mod props;
pub mod read;
pub mod sentence;
pub mod show;

pub use bio::{Argument, BioFault};
pub use error::{RoleError, RoleFault};
pub use nodes::{Reading, nodes};
pub use read::read;
pub use sentence::{Proposition, Sentence};
