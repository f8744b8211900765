//! Any checkpoint, any rule, any number of lines.
//!
//! ```text
//! Source ─lines→ Task::cases ─→ first pass, batched ─→ Rules hold? ─→ Sink, in order
//!                                                         └ no: Engine ┘
//! ```
//!
//! - [`AnyTask`]: a checkpoint of any task, as a [`Task`](task::Task).
//! - [`Inference`](infer::Inference): lines to records, on all cores, in bounded memory.
//! - [`Comparison`](compare::Comparison): all engines on the same inputs.
//! - [`Lint`](lint::Lint): what rules say of outputs that are known to be right.
//!
//! Who writes Rust needs none of it. A network and a rule of one's own, as in
//! `examples/own_rule.rs`:
//!
//! ```
#![doc = include_str!("../../../examples/own_rule.rs")]
//! ```

pub mod compare;
pub mod engine;
mod fingerprint;
pub mod infer;
pub mod line;
pub mod lint;
mod ordered;
pub mod sink;
pub mod source;
pub mod task;
mod tasks;

pub use fingerprint::fingerprint;
pub use tasks::{AnyTask, BUILT_IN, OpenError, Pairs, Parsing, Roles, Transduction};
