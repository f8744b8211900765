//! Semantic role labeling: who did what to whom, for each predicate of a sentence.
//!
//! The paper's first task. A network tags every word of a sentence, for one predicate, with the
//! role of the argument it belongs to (`B-ARG0 I-ARG0 O …`); arguments should be nodes of the
//! sentence's parse tree.
//!
//! [`read`](read()) takes a file with roles, in JSON Lines or CoNLL-2012's columns. A malformed
//! sentence does not spoil it. [`eval`] scores what was predicted as the field does.

pub mod bio;
mod block;
mod case_study;
mod choice;
mod columns;
pub mod config;
pub mod conll2012;
pub mod constraint_loss;
pub mod corpora;
pub mod embedder;
pub mod error;
pub mod eval;
mod experiment;
pub mod generated;
pub mod import;
pub mod input;
pub mod instance;
pub mod jsonl;
pub mod methods;
pub mod nodes;
pub mod props;
pub mod read;
pub mod sentence;
pub mod show;
mod tables;
pub mod tagger;
pub mod training;

pub use crate::experiment::ExperimentError;
pub use bio::{Argument, BioFault};
pub use case_study::{faults_in_words, trace_of, wrong_spans};
pub use config::SrlConfig;
pub use corpora::Splits;
pub use embedder::{ElmoFiles, Embedder};
pub use error::{RoleError, RoleFault};
pub use experiment::reproduce;
pub use input::Query;
pub use instance::{Instance, Noise};
pub use methods::Failures;
pub use nodes::{Reading, nodes};
pub use read::read;
pub use sentence::{Proposition, Sentence};
pub use tagger::{Card, Net, RoleTagger, Vocabulary};
pub use training::train;
