//! Word vocabularies with unknown-word classes, and word vectors.

pub mod lexicon;
pub mod vectors;

pub use lexicon::{Lexicon, Lookup, Reads};
pub use vectors::{Vectors, VectorsError};
