//! The tasks of cajole: networks with their vocabularies, data, metrics, constraints and training.
//!
//! A task defines its inputs and outputs, a metric, and the constraints on outputs. Its networks
//! are trained here, or loaded as a [checkpoint] from a folder or from the binary.

mod changes;
pub mod checkpoint;
pub mod corpora;
pub mod curve;
mod edit_distance;
mod licences;
mod load_error;
mod overrides;
pub mod pairs;
pub mod parsing;
mod presets;
pub mod seeds;
mod sequence;
pub mod srl;
pub mod training;
pub mod transduction;
mod watch;
pub mod words;
pub mod writer;

pub use changes::changes;
pub use checkpoint::Checkpoint;
pub use edit_distance::edit_distance;
pub use licences::{LICENCES, Licensed};
pub use overrides::{OverrideError, overridden};
pub use presets::{NoPreset, Preset, Presets};
pub use sequence::{TransformerSettings, UnevenHeads};
pub use watch::{OnAdvance, Silent, Watch};
