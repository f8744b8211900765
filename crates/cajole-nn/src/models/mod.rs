//! Networks, one per file: parameters, encoder, one decoder step.

pub mod elmo;
mod seq2seq;
mod sequence;
mod tagger;
mod token;
mod transducer;
pub mod transformer;

pub use crate::layers::lstm_layer::CellKind;
pub use seq2seq::{Architecture, Seq2Seq, Seq2SeqConfig, layers};
pub use sequence::{SequenceConfig, SequenceLane, SequenceNetwork};
pub use tagger::{Features, LstmTagger, Reading, TaggerConfig};
pub use token::Token;
pub use transducer::{StartState, Transducer, TransducerConfig};
