//! How many bytes of a file are read.
//!
//! Files come from strangers, and a few megabytes of gzip can hold gigabytes. Every reader checks
//! these limits while it reads, before it builds anything from what it read. They are far above what
//! real files need.

/// Bytes of a corpus, after decompression: the text is held in memory as a whole.
pub const MOST_CORPUS_BYTES: u64 = 256 << 20;

/// Bytes of a file that a person writes: settings, rules, grammars, parameters.
pub const MOST_SETTINGS_BYTES: u64 = 4 << 20;

/// Bytes of a vocabulary of a checkpoint.
pub const MOST_VOCABULARY_BYTES: u64 = 64 << 20;

/// Bytes of a file of word vectors, after decompression. It is read line by line.
pub const MOST_VECTORS_BYTES: u64 = 8 << 30;

/// Bytes of a line of any of these files.
pub const MOST_BYTES_OF_LINE: usize = 1 << 20;

/// How many times its size a gzipped file may expand to. Text rarely exceeds 20.
pub const MOST_EXPANSION: u64 = 100;

/// Bytes that any gzipped file may hold, whatever its own size: small files can be repetitive.
pub(crate) const UNPACKED_BYTES: u64 = 4 << 20;
