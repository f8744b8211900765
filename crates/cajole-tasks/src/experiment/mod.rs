//! What all experiments share: methods that repair, and training that can be
//! resumed, and figures over seeds.

mod kept;
mod method;
mod summary;
mod training;
mod watch;

pub use kept::{Kept, KeptError};
pub use method::{Repair, with_decoder, with_gbi};
pub use summary::{Summary, conversion_curve, converted_steps, steps_to_convert};
pub use training::{Training, finish};
pub use watch::{Silent, Watch};
