//! What all experiments share: files, training that can be resumed, methods that repair, results
//! that are kept, and figures over seeds.

mod error;
mod files;
mod kept;
mod method;
mod splits;
mod summary;
mod training;
mod tuning;
mod watch;

pub use error::{ExperimentError, UnknownCorpus};
pub use files::{CorpusError, Files, Selection};
pub use kept::{Kept, KeptError};
pub use method::{Otherwise, Repair, mean_milliseconds, with_decoder, with_gbi};
pub(crate) use splits::Kind;
pub use splits::{Source, Splits};
pub use summary::{
    Summary, conversion_curve, converted_steps, steps_table, steps_to_convert, with_costs,
};
pub use training::{Training, finish, initial, kept_or_trained};
pub use tuning::{best_of, nearly_best_of};
pub use watch::{Silent, Watch};
