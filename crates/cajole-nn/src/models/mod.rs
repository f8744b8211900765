//! Networks, one per file: parameters, encoder, one decoder step.

pub mod elmo;
mod seq2seq;
mod tagger;
mod transducer;
pub mod transformer;

pub use crate::layers::lstm_layer::CellKind;
pub use seq2seq::{Architecture, Seq2Seq, Seq2SeqConfig, Token, layers};
pub use tagger::{Features, LstmTagger, Reading, TaggerConfig};
pub use transducer::{StartState, Transducer, TransducerConfig};
