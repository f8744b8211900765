//! Word vocabularies with unknown-word classes, and word vectors.

pub mod lexicon;
pub mod vectors;

pub(crate) use lexicon::is_entry;
pub use lexicon::{Lexicon, Lookup, Reads};
pub use vectors::{Vectors, VectorsError};
