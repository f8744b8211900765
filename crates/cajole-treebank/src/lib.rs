//! Treebanks: constituency trees and the formats they come in.
//!
//! [`read`](read()) reads a file of any supported format, plain or gzipped, and returns its
//! sentences with cleaned trees. A malformed tree is skipped and listed as a [`Problem`] with its
//! line.
//!
//! [`roles`] reads semantic roles, which are annotated on top of trees in files of their own.
//! [`shift_reduce`] encodes trees as the commands a parser predicts. [`evalb`] and [`roles::eval`]
//! score predictions.

pub mod clean;
pub mod conll2012;
pub mod corpus;
mod counts;
pub mod error;
pub mod evalb;
pub mod generated;
pub mod jsonl;
pub mod limits;
pub mod penn;
pub mod pretty;
pub mod read;
pub mod roles;
mod scan;
pub mod shift_reduce;
mod spellings;
pub mod tokenize;
pub mod tree;

pub use clean::clean;
pub use corpus::{Corpus, Problem, Sentence};
pub use counts::percent;
pub use error::{Fault, TreeError};
pub use limits::MOST_DEPTH;
pub use pretty::Pretty;
pub use read::{ReadError, read};
pub use tokenize::tokenize;
pub use tree::Tree;
