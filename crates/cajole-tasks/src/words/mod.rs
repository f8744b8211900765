//! What networks know of words: a vocabulary with classes of unknown words, and word vectors.

pub mod lexicon;
pub mod vectors;

pub use lexicon::{Lexicon, Lookup, Reads};
pub use vectors::{Vectors, VectorsError};
