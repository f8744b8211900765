//! Networks, one per file: parameters, how inputs are read, how one step is taken.

pub mod elmo;
mod seq2seq;
mod transducer;

pub use seq2seq::{Architecture, Seq2Seq, Seq2SeqConfig, Token, layers};
pub use transducer::{StartState, Transducer, TransducerConfig};
