//! Why a checker gave no verdict.

use super::reply::ReplyError;

/// A checker failed to give a verdict on an output.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the checker {program:?} {cause}{}", quoted(.last_words))]
pub struct Trouble {
    /// The program.
    pub program: String,
    /// What went wrong.
    pub cause: Cause,
    /// The last lines it wrote besides replies, if any.
    pub last_words: String,
}

/// What can go wrong with a checker.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The program does not exist or cannot be run.
    #[error("could not be started: {error}")]
    Start {
        /// The system's error.
        error: String,
    },
    /// It took too long: it hangs, or does not read its input.
    #[error("gave no verdict within {ms} ms")]
    Timeout {
        /// How long it was given.
        ms: u64,
    },
    /// It exited instead of replying.
    #[error("ended without a reply ({status})")]
    Exited {
        /// Its exit status.
        status: String,
    },
    /// It was killed instead of exiting with a code.
    #[error("was killed ({status})")]
    Killed {
        /// Its exit status.
        status: String,
    },
    /// It is still running but can no longer reply.
    #[error("closed its standard output")]
    Closed,
    /// It exceeded its output limit.
    #[error("wrote more than {limit} bytes")]
    Flood {
        /// The limit per output.
        limit: usize,
    },
    /// It wrote without being asked, or in reply to another request.
    #[error("wrote an unsolicited line: {line:?}")]
    Unasked {
        /// What it wrote.
        line: String,
    },
    /// It wrote a line that is not a valid reply.
    #[error("replied {line:?}: {error}")]
    Reply {
        /// The line, or its beginning.
        line: String,
        /// What is wrong with it.
        error: ReplyError,
    },
}

/// The beginning of what a program wrote, for a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    let rest = if LONGEST < bytes.len() { "…" } else { "" };
    format!("{}{rest}", text.trim_end())
}

fn quoted(last_words: &str) -> String {
    if last_words.is_empty() {
        return String::new();
    }
    format!("; its last output: {last_words}")
}
