//! Semantic role labeling: who did what to whom, for each predicate of a sentence.
//!
//! The paper's first task. For one predicate at a time, a network tags every word of a sentence
//! with the role of its argument (`B-ARG0 I-ARG0 O …`). Arguments should be constituents of the
//! parse tree.

mod config;
pub mod constraint_loss;
mod corpora;
pub mod embedder;
mod imported;
pub mod input;
pub mod instance;
pub mod network;
mod source;
pub mod splitter;
pub mod tagger;
pub mod training;

pub use config::{CorpusConfig, FineTuning, NetworkConfig, Nudge, Sizes, Unlabelled};
pub use corpora::Splits;
pub use embedder::{ElmoFiles, Embedder};
pub use imported::Imported;
pub use input::Query;
pub use instance::{Instance, Noise};
pub use network::{RoleNetwork, RoleNetworkConfig};
pub use splitter::{SplitError, Splitter};
pub use tagger::{Card, Net, RoleTagger, Vocabulary};
pub use training::{Recipe, train};

/// The default constraint on outputs, as a constraint file.
pub const USUAL_RULES: &str = "name = \"arguments are nodes\"\nspans-in-tree = \"all\"\n";
