//! What all experiments share: files, training that can be resumed, methods that repair, results
//! that are kept, and figures over seeds.

mod files;
mod kept;
mod method;
mod summary;
mod training;
mod watch;

pub use files::{CorpusError, Files, Selection};
pub use kept::{Kept, KeptError};
pub use method::{Otherwise, Repair, mean_milliseconds, with_decoder, with_gbi};
pub use summary::{Summary, conversion_curve, converted_steps, steps_to_convert};
pub use training::{Training, finish};
pub use watch::{Silent, Watch};
