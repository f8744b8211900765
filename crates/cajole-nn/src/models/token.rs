//! What sequence-to-sequence networks read, one element at a time.

use cajole_core::model::Symbol;

/// One element of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Token {
    /// Its index in the network's own embeddings.
    pub word: Symbol,
    /// Its index in the fixed word vectors.
    pub vector: Symbol,
}

/// An element without a word vector.
impl From<Symbol> for Token {
    fn from(word: Symbol) -> Token {
        Token { word, vector: 0 }
    }
}
