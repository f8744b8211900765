//! Work without the interpreter that Ctrl-C can stop.

use std::thread;
use std::time::Duration;

use cajole_core::Cancel;
use cajole_core::corpus::{start_threads, usual_threads};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// How often to ask Python whether a signal has arrived.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Does `work` on another thread while this one listens for signals. A signal sets `cancel`, and is
/// raised when the work has ended.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    start_pool()?;
    let mut signal = None;
    let waiting = thread::current();
    let result = thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, move || {
            let result = work();
            waiting.unpark();
            result
        });
        let worker = worker.map_err(|error| no_thread(&error))?;
        while !worker.is_finished() {
            py.detach(|| thread::park_timeout(TICK));
            if let Err(error) = py.check_signals() {
                cancel.set();
                signal.get_or_insert(error);
            }
        }
        Ok::<_, PyErr>(py.detach(|| worker.join()))
    })?;
    match (signal, result) {
        (Some(signal), _) => Err(signal),
        (None, Ok(result)) => Ok(result),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}

/// Starts the threads that all work shares, unless they have been started.
pub(crate) fn start_pool() -> PyResult<()> {
    match start_threads(usual_threads()) {
        0 => Err(PyOSError::new_err(
            "cannot start a thread: this user or container may have no more",
        )),
        _ => Ok(()),
    }
}

/// The error that a thread cannot be started.
pub(crate) fn no_thread(error: &std::io::Error) -> PyErr {
    PyOSError::new_err(format!("cannot start a thread: {error}"))
}
