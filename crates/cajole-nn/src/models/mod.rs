//! Networks, one per file: parameters, how inputs are read, how one step is taken.

mod transducer;

pub use transducer::{StartState, Transducer, TransducerConfig};
