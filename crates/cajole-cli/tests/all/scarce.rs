//! Commands where a user may have few threads. Results are the same, and nothing panics.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cajole_testing::outside::note_skipped;

/// A user that nothing else runs as, since the limit counts all threads of a user.
const NOBODY: [&str; 4] = ["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups"];

/// Runs a copy of the command as a user that may have `most` processes and threads.
fn run(folder: &Path, most: usize, args: &[&str]) -> Output {
    let limit = format!("--nproc={most}:{most}");
    let mut command = Command::new("prlimit");
    command.current_dir(folder).arg(limit).args(NOBODY).arg(folder.join("cajole")).args(args);
    // As on a machine with more cores than threads are granted.
    command.env("RAYON_NUM_THREADS", "8").output().unwrap()
}

/// Tests of this user take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A folder that everyone can use, with a copy of the command; `None` if no limits can be set.
fn folder() -> Option<(tempfile::TempDir, MutexGuard<'static, ()>)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_cajole"), folder.path().join("cajole")).unwrap();
    let mut tried = Command::new("prlimit");
    tried.arg("--nproc=99:99").args(NOBODY);
    let tried = tried.arg(folder.path().join("cajole")).arg("--version").output();
    if tried.is_ok_and(|output| output.status.success()) {
        return Some((folder, turn));
    }
    note_skipped("threads can be limited only by root, with prlimit and setpriv");
    None
}

#[test]
fn whatever_threads_there_are_do_the_work() {
    let Some((folder, _turn)) = folder() else { return };
    let at = folder.path();
    let line = |i: usize| "az".repeat(1 + i % 9) + &"bz".repeat(i % 5) + "\n";
    fs::write(at.join("in"), (0..400).map(line).collect::<String>()).unwrap();
    let gold = "{\"input\": \"az\", \"output\": \"aaa\"}\n".repeat(30);
    fs::write(at.join("gold"), gold).unwrap();
    fs::write(at.join("text"), "The old man the boats.\n".repeat(3)).unwrap();
    let rule = "arithmetic = 'count(out, \"a\") = 3 * count(in, \"a\")'\n";
    fs::write(at.join("rule.toml"), rule).unwrap();
    for args in [
        &["infer", "in", "--no-times"][..],
        &["eval", "gold", "--json"],
        &["lint", "rule.toml", "gold", "--characters", "--model=transducer"],
        &["explain", "azbz"],
        &["parse", "text"],
        &["tag", "text"],
        &["train", "transduction", "--set=training.epochs=1", "--overwrite", "--out=net"],
    ] {
        let whole = run(at, 200, args);
        assert!(whole.status.success(), "{args:?}: {}", String::from_utf8_lossy(&whole.stderr));
        for most in [1, 2, 3, 5, 9] {
            let output = run(at, most, args);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{args:?} with {most} threads: {said}");
            // Only the time of engines may differ.
            let is_same = output.stdout == whole.stdout || args[0] == "lint";
            assert!(is_same, "{args:?} with {most}: {}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

#[test]
fn what_needs_more_threads_says_so() {
    let Some((folder, _turn)) = folder() else { return };
    let at = folder.path();
    fs::write(at.join("in"), "azbz\n").unwrap();
    fs::write(at.join("rule.toml"), "checker = { command = ['cat'] }\n").unwrap();
    for (args, part) in [
        (&["--threads=8", "infer", "in"][..], "cannot start 8 threads"),
        (&["serve", "--listen=127.0.0.1:0"], "Resource temporarily unavailable"),
        (&["infer", "in", "--constraint=rule.toml"], "\"cat\" could not be started: Resource"),
    ] {
        for most in [1, 2, 3] {
            let output = run(at, most, args);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{args:?} with {most}: {said}");
            assert!(said.contains(part), "{args:?} with {most}: {said}");
        }
    }
}
