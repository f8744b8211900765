//! The last lines that a program writes besides replies.
//!
//! A program blocks once its standard error pipe is full. So the pipe is drained all the time, and
//! only as much is kept as a message can quote.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const MOST_BYTES: usize = 2048;
const MOST_LINES: usize = 5;

/// The end of one or more streams, and how much was written in total.
pub(super) struct Tail {
    state: Mutex<State>,
    closed: Condvar,
    limit: usize,
}

struct State {
    last: VecDeque<u8>,
    n_bytes: usize,
    n_open: usize,
}

impl Tail {
    /// The tail of `n_open` streams, which may write `limit` bytes in total.
    pub(super) fn new(n_open: usize, limit: usize) -> Self {
        let state = State { last: VecDeque::new(), n_bytes: 0, n_open };
        Tail { state: Mutex::new(state), closed: Condvar::new(), limit }
    }

    /// Discards what has been written.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.last.clear();
        state.n_bytes = 0;
    }

    /// Appends bytes; returns whether the limit is exceeded.
    pub(super) fn push(&self, bytes: &[u8]) -> bool {
        let mut state = self.state();
        state.n_bytes = state.n_bytes.saturating_add(bytes.len());
        state.last.extend(bytes);
        let surplus = state.last.len().saturating_sub(MOST_BYTES);
        state.last.drain(..surplus);
        self.limit < state.n_bytes
    }

    /// Marks one stream as ended.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.n_open = state.n_open.saturating_sub(1);
        self.closed.notify_all();
    }

    /// Waits for all streams to end, with a timeout.
    pub(super) fn wait(&self, timeout: Duration) {
        let is_open = |state: &mut State| 0 < state.n_open;
        let waited = self.closed.wait_timeout_while(self.state(), timeout, is_open);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether the limit is exceeded.
    pub(super) fn is_flooded(&self) -> bool {
        self.limit < self.state().n_bytes
    }

    /// The last lines as text.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.state().last.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.trim().lines().collect();
        lines[lines.len().saturating_sub(MOST_LINES)..].join("\n")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_all_bytes_counted() {
        let tail = Tail::new(1, 9);
        assert!(!tail.push(b"1\n2\n3\n4\n"));
        assert!(tail.push(b"5\n6\n\n"));
        assert_eq!(tail.text(), "2\n3\n4\n5\n6");
        tail.clear();
        assert!(!tail.is_flooded() && tail.text().is_empty());
        assert!(tail.push(&[b'x'; 3 * MOST_BYTES]) && tail.is_flooded());
        assert_eq!(tail.text().len(), MOST_BYTES);
    }
}
