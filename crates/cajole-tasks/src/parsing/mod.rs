//! The paper's second task: constituency parsing by a sequence-to-sequence network that emits
//! shift-reduce commands.

pub mod evalb;
