//! Sentences as the pieces of words that an encoder reads.

use std::path::Path;

use cajole_files::limits::MOST_VOCABULARY_BYTES;
use cajole_files::text_of;
use cajole_nn::models::transformer::{EmbeddingConfig, Pieces, PiecesError};

use crate::checkpoint::LoadError;
use crate::words::tokens::TOKENIZER;
use crate::words::{EncodeError, Tokens};

/// The tokenizer of an encoder, and what the encoder can read.
#[derive(Debug)]
pub struct Splitter {
    tokens: Tokens,
    reads: EmbeddingConfig,
    /// The contents of `tokenizer.json`.
    text: String,
}

/// Why an encoder cannot read a sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// It has no pieces.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// It is too long, or has a piece that the encoder does not know.
    #[error(transparent)]
    Pieces(#[from] PiecesError),
}

/// An encoder that cannot tell the predicate from other words.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path}: the encoder has {types} types of pieces (type_vocab_size); the predicate is marked by a \
     second one, which BERT has",
    path = path.display()
)]
struct NoMark {
    path: std::path::PathBuf,
    types: usize,
}

impl Splitter {
    /// The splitter of a folder whose encoder reads this.
    ///
    /// # Errors
    /// If there is no tokenizer, it is another network's, or the encoder cannot mark a piece.
    pub fn open(folder: &Path, reads: EmbeddingConfig) -> Result<Self, LoadError> {
        let tokens = Tokens::open(folder, reads.symbols)?;
        tokens.check(reads.symbols)?;
        if reads.types < 2 {
            let path = folder.join("config.json");
            return Err(LoadError::other(NoMark { path, types: reads.types }));
        }
        let text = text_of(&folder.join(TOKENIZER), MOST_VOCABULARY_BYTES)?;
        Ok(Splitter { tokens, reads, text })
    }

    /// The contents of `tokenizer.json`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pieces of a sentence.
    ///
    /// # Errors
    /// If it is longer than the encoder reads, or the tokenizer fails.
    pub fn split(&self, words: &[String]) -> Result<Pieces, SplitError> {
        let pieces = self.tokens.read_any_words(words)?;
        self.reads.check(pieces.pieces.iter().copied())?;
        Ok(pieces)
    }
}
