//! The tasks of cajole: corpora, codecs, metrics and experiments.
//!
//! A task says what its inputs and outputs are, how outputs are scored, and which constraints
//! they have to satisfy. Its experiment trains networks, lets gradient-based inference and its
//! rivals repair their failures, and returns a [`Report`](cajole_core::report::Report); it prints
//! nothing.

pub mod checkpoint;
pub mod experiment;
pub mod pairs;
pub mod parsing;
pub mod srl;
pub mod transduction;
pub mod treebank;
pub mod words;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
