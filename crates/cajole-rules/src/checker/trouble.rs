//! Why a checker gave no verdict.

use super::reply::ReplyError;

/// A checker gave no verdict on an output.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the checker {program:?} {cause}{}", quoted(.last_words))]
pub struct Trouble {
    /// The program that was asked.
    pub program: String,
    /// What went wrong.
    pub cause: Cause,
    /// The last lines that it wrote besides replies, if any.
    pub last_words: String,
}

/// What can go wrong with a checker.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Cause {
    /// There is no such program, or it cannot be run.
    #[error("could not be started: {error}")]
    Start {
        /// What the system says.
        error: String,
    },
    /// It took too long: it hangs, or does not read what it is asked.
    #[error("gave no verdict within {ms} ms")]
    Timeout {
        /// How long it was waited for.
        ms: u64,
    },
    /// It ended where it should have replied.
    #[error("ended without a reply ({status})")]
    Exited {
        /// How.
        status: String,
    },
    /// It was killed where it should have exited with a code.
    #[error("was killed ({status})")]
    Killed {
        /// By what.
        status: String,
    },
    /// It lives on, but can no longer reply.
    #[error("closed its standard output")]
    Closed,
    /// It wrote more than it may.
    #[error("wrote more than {limit} bytes")]
    Flood {
        /// How much it may write over one output.
        limit: usize,
    },
    /// It wrote when it had not been asked, or in reply to something else.
    #[error("wrote what nobody asked for: {line:?}")]
    Unasked {
        /// What it wrote.
        line: String,
    },
    /// It wrote a line that is no reply.
    #[error("replied {line:?}: {error}")]
    Reply {
        /// The line, or its beginning.
        line: String,
        /// What is wrong with it.
        error: ReplyError,
    },
}

/// What a program wrote, to be quoted in a message: its beginning, if it is long.
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
    format!("; its last words: {last_words}")
}
