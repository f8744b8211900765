//! Commands whose standard output is closed or leads nowhere.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the command with a redirection of the shell.
fn run(folder: &Path, args: &str, redirection: &str) -> Output {
    let script = format!("{} {args} {redirection}", env!("CARGO_BIN_EXE_cajole"));
    let mut bash = Command::new("bash");
    bash.current_dir(folder).args(["-o", "pipefail", "-c", &script]).output().unwrap()
}

#[test]
fn records_are_not_lost_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in"), "azbz\nbz\n").unwrap();
    fs::write(folder.path().join("t"), "(S (NP (NN a)) (VP (VB b)))\n").unwrap();
    for args in ["infer in", "explain azbz", "evalb t t", "generate expressions --n=1", "--help"] {
        let output = run(folder.path(), args, ">&-");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args}: {said}");
        assert!(said.contains("standard output is closed"), "{args}: {said}");
        // Whoever wants no output says so, and a closed standard error or input is nothing new.
        for redirection in [">/dev/null", "1<>/dev/null", "2>&- >/dev/null", "<&- | cat"] {
            let output = run(folder.path(), args, redirection);
            assert_eq!(output.status.code(), Some(0), "{args} {redirection}: {output:?}");
        }
    }
    // A reader that has seen enough is no error.
    fs::write(folder.path().join("many"), "azbz\n".repeat(20_000)).unwrap();
    let output = run(folder.path(), "infer many --engine=network", "| head -n 1 >/dev/null");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
