//! What networks read of words: vocabularies with unknown-word classes, word vectors, pieces of words.

pub mod lexicon;
mod sentencepiece;
mod slow;
pub mod tokens;
pub mod vectors;

pub(crate) use lexicon::is_entry;
pub use lexicon::{Lexicon, Lookup, Reads};
pub use tokens::{EncodeError, Tokens};
pub use vectors::{Vectors, VectorsError};
