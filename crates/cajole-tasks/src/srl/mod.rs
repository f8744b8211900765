//! Semantic role labeling: who did what to whom, for each predicate of a sentence.
//!
//! The paper's first task. A network tags every word of a sentence, for one predicate, with the
//! role of the argument it belongs to (`B-ARG0 I-ARG0 O …`); arguments should be nodes of the
//! sentence's parse tree.

pub mod generated;
pub mod sentence;
