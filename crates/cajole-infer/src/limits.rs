//! How much one line, one flag or one run may demand. `SECURITY.md` lists these constants with what
//! each protects; a test compares that table with this file.

pub use cajole_core::{MOST_STEPS, MOST_WIDTH};

/// Tokens of one line, unless a flag allows more. What a decode records grows with the length of the
/// input: about 1.5 MB per token for the built-in parser, the largest of the built-in networks.
pub const MAX_TOKENS: usize = 256;

/// The most that `--max-tokens` accepts.
pub const MOST_TOKENS: usize = 1 << 14;

/// Bytes of one line, unless a flag allows more. JSON can take fifty times its size in memory.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// The most that `--max-line-bytes` accepts.
pub const MOST_LINE_BYTES: usize = 1 << 30;

/// A line that has not ended after this many bytes ends the run: the file holds no lines.
pub const ENDLESS_LINE_BYTES: usize = 1 << 29;

/// Bytes of a lot of lines, after which a thread adds no more to it.
pub const LOT_BYTES: usize = 1 << 18;

/// Bytes of lines that all threads together work on or hold finished records of.
pub const BYTES_IN_FLIGHT: usize = 4 << 20;

/// Tokens of the inputs that a thread takes through the network together, if there are several.
pub const TOKENS_TOGETHER: usize = 1024;

/// Tokens of the inputs that a thread repairs in step, if there are several: these are recorded.
pub const TOKENS_IN_STEP: usize = 256;

/// The most threads.
pub const MOST_THREADS: usize = 512;

/// The most milliseconds of a deadline: a day.
pub const MOST_DEADLINE_MS: u64 = 24 * 60 * 60 * 1000;

/// The most failures, examples or other items that a report shows one by one.
pub const MOST_SHOWN: usize = 100_000;
