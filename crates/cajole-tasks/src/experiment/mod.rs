//! What all experiments share: methods that repair, and figures over seeds.

mod method;
mod summary;
mod watch;

pub use method::{Repair, with_decoder, with_gbi};
pub use summary::{Summary, steps_to_convert};
pub use watch::{Silent, Watch};
