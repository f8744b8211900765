//! The paper's second task: constituency parsing by a sequence-to-sequence network that emits
//! shift-reduce commands.

mod config;
mod corpora;
pub mod input;
pub mod metric;
pub mod parser;
pub mod training;

pub use config::{Architecture, NetworkConfig, Sizes, TreebankConfig};
pub use corpora::Splits;
pub use parser::{Card, Net, Parser};
pub use training::{Recipe, train};

/// The default constraint on outputs, as a constraint file.
pub const USUAL_RULES: &str = "name = \"one tree\"\nshift-reduce = \"full\"\n";
