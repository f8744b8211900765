#![cfg_attr(feature = "tasks", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "tasks"),
    doc = "Gradient-based inference, without the tasks that come with it."
)]
//!
//! # A network and a rule of one's own
//!
//! ```
#![cfg_attr(feature = "tasks", doc = include_str!("../examples/own_rule.rs"))]
//! ```

pub use cajole_core as core;
pub use cajole_files as files;
#[cfg(feature = "import")]
pub use cajole_import as import;
#[cfg(feature = "tasks")]
pub use cajole_infer as infer;
pub use cajole_nn as nn;
pub use cajole_report as report;
#[cfg(feature = "tasks")]
pub use cajole_rules as rules;
#[cfg(feature = "tasks")]
pub use cajole_tasks as tasks;
pub use cajole_treebank as treebank;

/// What most programs need: the algorithm, the traits it is generic over, and networks to try it on.
pub mod prelude {
    pub use cajole_core::decoders::{Beam, Greedy, MaskedBeam};
    pub use cajole_core::{
        Config, ConstrainedDecoder, Constraint, Decoder, Gbi, Job, Model, Outcome, Stop, Symbol,
        Trace, Violation, Workspace,
    };
    pub use cajole_nn::Trained;
    #[cfg(feature = "tasks")]
    pub use cajole_rules::Rules;
    #[cfg(feature = "tasks")]
    pub use cajole_tasks::{Checkpoint, pairs, parsing, srl, transduction};
}
