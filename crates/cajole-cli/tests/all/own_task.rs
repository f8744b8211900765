//! A task of one's own has all commands: the example as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::{Value, json};

/// The example's binary, beside ours. Cargo builds it with all tests of the crate, but not with this
/// one alone.
fn example() -> PathBuf {
    let profile = Path::new(env!("CARGO_BIN_EXE_cajole")).parent().unwrap();
    let example = profile.join("examples/own_task").with_extension(std::env::consts::EXE_EXTENSION);
    if !example.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "-q", "-p", "cajole-cli", "--example", "own_task", "--target-dir"]);
        build.arg(profile.parent().unwrap());
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "the example builds");
    }
    example
}

fn run(folder: &Path, args: &[&str]) -> Output {
    static EXAMPLE: LazyLock<PathBuf> = LazyLock::new(example);
    let mut command = Command::new(&*EXAMPLE);
    let output = command.current_dir(folder).args(args).output().expect("the example starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn a_task_of_ones_own_has_all_commands() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let inputs = ["0", "31", "421", "10234", "443322110", "0123401234", "1111", "40404"];
    let lines = inputs.map(|x| {
        let right: String = x.chars().rev().collect();
        json!({"input": x, "output": right}).to_string()
    });
    fs::write(at.join("in"), lines.join("\n")).unwrap();
    let model = "--model=reverser";

    let records = run(at, &["infer", model, "in", "--no-times"]).stdout;
    let records = String::from_utf8(records).unwrap();
    let records: Vec<Value> =
        records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), inputs.len());
    let failures = records.iter().filter(|record| record["g_before"] != json!(0.0)).count();
    assert!(0 < failures, "long inputs are too long for it");
    for (record, input) in records.iter().zip(inputs) {
        assert_eq!(record["status"], "satisfied", "{record}");
        assert_eq!(record["output"].as_str().unwrap().len(), input.len(), "{record}");
    }

    let report = run(at, &["compare", model, "in", "--json"]).stdout;
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(
        (&report["rows"][1]["method"], &report["rows"][1]["failures"]),
        (&json!("gbi"), &json!(failures))
    );

    let text = String::from_utf8(run(at, &["explain", model, "443322110"]).stdout).unwrap();
    assert!(text.contains("443322110") && text.contains("iteration"), "{text}");

    let row: Value =
        serde_json::from_slice(&run(at, &["eval", model, "in", "--json"]).stdout).unwrap();
    assert_eq!((&row["task"], &row["measure"]), (&json!("reversing"), &json!("accuracy")));
    assert_eq!((&row["failures"], &row["conversion"]), (&json!(failures), &json!(100.0)));
}
