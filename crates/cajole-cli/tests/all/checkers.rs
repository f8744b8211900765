//! Checkers that cannot run, or that print more than their replies, in all commands.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

fn cajole(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).args(args).output().unwrap()
}

/// Every command that judges outputs, with the files that it reads.
const COMMANDS: [&[&str]; 8] = [
    &["infer", "in", "--constraint=rule.toml"],
    &["infer", "in", "--constraint=rule.toml", "--out=out"],
    &["compare", "in", "--constraint=rule.toml"],
    &["eval", "in", "--constraint=rule.toml"],
    &["explain", "az", "--constraint=rule.toml"],
    &["lint", "rule.toml", "gold"],
    &["parse", "sentences", "--constraint=rule.toml"],
    &["tag", "sentences", "--constraint=rule.toml"],
];

fn folder(rule: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("in", &"azbz\n".repeat(20));
    write("gold", &"{\"input\": \"a\", \"output\": \"b\"}\n".repeat(20));
    write("sentences", "Dogs bark.\n");
    write("rule.toml", rule);
    folder
}

#[test]
fn one_that_cannot_run_is_reported_before_any_work() {
    const ENDS: &str =
        "checker = { command = ['sh', '-c', 'echo no licence >&2; echo x >> started; exit 3'] }";
    let missing = "checker = { command = ['./nowhere'] }";
    let each = "checker = { command = ['no-such-program-at-all'], mode = 'exit-code' }";
    let inner = "[[any]]\nmust-have = ['a']\n[[any]]\nchecker = { command = ['./nowhere'] }";
    let ended = ["\"sh\" ended without a reply (exit status: 3)", "its last output: no licence"];
    for (rule, parts) in [
        (ENDS, &ended[..]),
        (missing, &["\"./nowhere\" could not be started: No such file"]),
        (each, &["\"no-such-program-at-all\" could not be started"]),
        (inner, &["\"./nowhere\" could not be started"]),
    ] {
        for args in COMMANDS.iter().filter(|args| rule != inner || args[0] == "infer") {
            let folder = folder(&format!("{rule}\n"));
            let output = cajole(folder.path(), args);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
            assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
            assert!(output.stdout.is_empty(), "{args:?}");
            assert!(!folder.path().join("out").exists());
            let started = fs::read_to_string(folder.path().join("started")).unwrap_or_default();
            assert!(started.lines().count() <= 1, "{args:?}: {started}");
        }
    }
}

/// It ends by itself, but only after the trial: engines must not start it again for every output.
#[test]
fn one_that_ends_late_is_not_started_without_end() {
    let ends = "echo x >> started; sleep 0.3; echo broken >&2; exit 3";
    let folder = folder(&format!("checker = {{ command = ['sh', '-c', '{ends}'] }}\n"));
    let started = Instant::now();
    let output = cajole(folder.path(), &["compare", "in", "--constraint=rule.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("none of the 20 inputs can be measured: in:1: "), "{said}");
    assert!(said.contains("its last output: broken"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(30));
    let starts = fs::read_to_string(folder.path().join("started")).unwrap().lines().count();
    assert!(starts <= 8, "{starts} starts");
}

/// As in `infer`, no engine works on what cannot be measured, and the command fails.
#[test]
fn compare_leaves_out_what_cannot_be_measured() {
    let folder = folder("checker = { command = ['sh', 'check.sh'] }\n");
    let script = "while read -r line; do
        case $line in
            *zb*) exit 9 ;;
            *) echo '{\"loss\": 1}' ;;
        esac
    done\n";
    fs::write(folder.path().join("check.sh"), script).unwrap();
    fs::write(folder.path().join("in"), "az\nbz\naz\n").unwrap();
    let args = ["--json", "compare", "in", "--engines=gbi", "--constraint=rule.toml"];
    let output = cajole(folder.path(), &[&args[..], &["--max-steps=2"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("in:2: its rules cannot be measured: "), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &report["rows"][0];
    assert_eq!((&row["total"], &row["failures"]), (&Value::from(2), &Value::from(2)), "{row}");
}

/// As docs/rules.md says, a checker that sends the id back may print stray lines.
#[test]
fn stray_lines_do_no_harm_beside_ids() {
    let folder = folder("checker = { command = ['sh', 'check.sh'] }\n");
    let script = "echo loading; while read -r line; do
        id=${line#*:}; id=${id%%,*}
        echo \"looking at $id\"; echo '{\"loss\": 7, \"id\": -1}'
        echo \"{\\\"id\\\": $id, \\\"loss\\\": 0}\"; echo done
    done\n";
    fs::write(folder.path().join("check.sh"), script).unwrap();
    let output = cajole(folder.path(), &["infer", "in", "--constraint=rule.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    let records = String::from_utf8(output.stdout).unwrap();
    assert_eq!(records.matches("\"status\":\"satisfied\"").count(), 20, "{records}");
}
