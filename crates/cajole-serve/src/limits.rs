//! How much one client, one request or the whole service may demand. `SECURITY.md` lists these
//! constants with what each protects; a test compares that table with this file.

use std::time::Duration;

/// Bytes of a body that is read as a whole. Streams of lines have no such limit.
pub const MOST_BODY_BYTES: usize = 4 << 20;

/// Bytes of all bodies that are being read.
pub const MOST_BYTES_OF_BODIES: usize = 64 << 20;

/// Bytes of a body above which it is parsed outside the event loop.
pub const LARGE_BODY_BYTES: usize = 64 << 10;

/// Inputs of one body.
pub const MOST_INPUTS: usize = 1024;

/// Inputs of one body that asks for traces.
pub const MOST_EXPLAINED: usize = 64;

/// Steps of each attempt of these, since a trace has all of them.
pub const MOST_STEPS_EXPLAINED: usize = 2000;

/// Bytes of rules in a request.
pub const MOST_RULE_BYTES: usize = 64 << 10;

/// Rules compiled at the same time.
pub const MOST_COMPILING: usize = 2;

/// Files that are read from the folder of rules.
pub const MOST_RULE_FILES: usize = 1024;

/// Time for the head of a request, and between two requests of a connection.
pub const HEAD_TIME: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
pub const MOST_HEAD_BYTES: usize = 32 << 10;

/// Time for a body that is read as a whole.
pub const BODY_TIME: Duration = Duration::from_secs(30);

/// Time between two pieces of a stream of lines.
pub const IDLE_TIME: Duration = Duration::from_secs(60);

/// Time for a client to take what is written to it.
pub const WRITE_TIME: Duration = Duration::from_secs(30);

/// Time for requests in progress once the service is told to end.
pub const DRAIN_TIME: Duration = Duration::from_secs(30);

/// Connections at the same time.
pub const MOST_CONNECTIONS: usize = 2048;

/// Requests of one address at the same time, unless a flag allows more.
pub const MAX_REQUESTS_PER_CLIENT: usize = 512;

/// Inputs that wait.
pub const MOST_WAITING: usize = 8192;

/// Bytes of inputs that wait.
pub const MOST_BYTES_WAITING: usize = 32 << 20;

/// Inputs of a stream that wait or are worked on.
pub const LINES_OF_STREAM: usize = 512;

/// Bytes of these.
pub const BYTES_OF_STREAM: usize = 4 << 20;

/// Inputs that are answered together.
pub const LINES_TOGETHER: usize = 120;

/// Bytes of the inputs of a request up to which it is small. Small requests have threads of their own.
pub const SMALL_BYTES: usize = 2048;

/// Inputs of a request up to which it is small.
pub const SMALL_LINES: usize = 16;

/// Bytes of an input above which its memory is not kept for the next one.
pub const LONG_BYTES: usize = 1024;

/// Events that wait for a client that watches; a slower client is cut off.
pub const MOST_EVENTS: usize = 4096;

/// Milliseconds of work on one input, unless a flag allows more.
pub const MAX_DEADLINE_MS: u64 = 60_000;
