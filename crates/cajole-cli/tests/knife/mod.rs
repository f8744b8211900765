//! Killing a command in the middle of its work.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Kills a command as soon as it has written a file, and waits for its end.
#[track_caller]
pub(crate) fn kill_after(command: &mut Command, written: &Path) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Two minutes are enough for a busy machine.
    for _ in 0..60_000 {
        if written.exists() {
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(written.exists(), "{} was written, and the run was not over", written.display());
}
