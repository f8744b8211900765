//! How much of a corpus a reader accepts: nesting, sentences, words. How many bytes it reads is limited
//! by [`cajole_files::limits`].

/// Brackets within one another; deeper trees are rejected when read or built.
pub const MOST_DEPTH: usize = 1000;

/// Sentences of a file, malformed ones included.
pub const MOST_SENTENCES: usize = 1_000_000;

/// Words of a sentence in a format with one row per word.
pub const MOST_WORDS: usize = 100_000;
