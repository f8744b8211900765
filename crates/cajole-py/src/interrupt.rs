//! Work without the interpreter that Ctrl-C can stop.

use std::thread;
use std::time::Duration;

use cajole_core::Cancel;
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
    let mut signal = None;
    let waiting = thread::current();
    let result = thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let result = work();
            waiting.unpark();
            result
        });
        while !worker.is_finished() {
            py.detach(|| thread::park_timeout(TICK));
            if let Err(error) = py.check_signals() {
                cancel.set();
                signal.get_or_insert(error);
            }
        }
        py.detach(|| worker.join())
    });
    match (signal, result) {
        (Some(signal), _) => Err(signal),
        (None, Ok(result)) => Ok(result),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}
