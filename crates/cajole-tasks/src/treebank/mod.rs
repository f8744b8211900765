//! Treebanks: constituency trees and the formats they come in.
//!
//! [`read`](read()) takes a file of any format, plain or gzipped, and returns its sentences with
//! clean trees. One malformed tree does not spoil a file: it is skipped and listed as a
//! [`Problem`], with its line.

pub mod clean;
pub mod conll2012;
pub mod corpus;
pub mod error;
pub mod generated;
pub mod jsonl;
pub mod penn;
pub mod pretty;
pub mod read;
mod scan;
mod spellings;
pub mod tokenize;
pub mod tree;

pub use clean::clean;
pub use corpus::{Corpus, Located, Problem, Sentence};
pub use error::{Fault, TreeError};
pub use pretty::Pretty;
pub use read::{MOST_BYTES, ReadError, read};
pub use tokenize::tokenize;
pub use tree::{MOST_DEPTH, Tree};
