//! The messages of commands that must fail.

use std::process::Output;

/// Looks for every part in the message of a command that failed.
#[track_caller]
pub(crate) fn check_failed(output: &Output, args: &[&str], parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{args:?} should fail");
    assert!(!said.contains("panicked"), "{said}");
    assert!(said.matches("No such file").count() < 2, "it is said twice: {said}");
    for part in parts {
        assert!(said.contains(part), "{args:?} should say {part:?}, not:\n{said}");
    }
}
