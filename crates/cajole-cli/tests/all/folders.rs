//! Hugging Face folders through every command, as users name them: `--model FOLDER`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cajole_testing::folders::{write_labels, write_writer};
use serde_json::{Value, json};

const PAIRS: &str = "pattern = '([ab][cde ])*'\n";
const FEW: &str = "arithmetic = 'count(out, \"B-PER\") + count(out, \"B-ORG\") <= 1'\n";

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).arg("--threads=2").args(args).output().expect("it starts")
}

#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs all commands that answer lines on a folder. The right outputs of the lines are the
/// network's own, some of which violate the rules.
fn check_commands((write, seed): (fn(&Path, u64), u64), rules: &str, inputs: &[Value]) {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    fs::create_dir(at.join("net")).unwrap();
    write(&at.join("net"), seed);
    fs::write(at.join("rules.toml"), rules).unwrap();
    let text = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    fs::write(at.join("in"), text(inputs)).unwrap();
    let asked = ["--model=net", "--constraint=rules.toml"];
    let with = |command: &'static str, rest: &[&'static str]| -> Vec<&str> {
        [command].into_iter().chain(asked).chain(rest.iter().copied()).collect()
    };
    let own = printed(at, &with("infer", &["in", "--no-times", "--engine=network"]));
    let own = records(&own);
    let failures = own.iter().filter(|record| record["g_before"] != json!(0.0)).count();
    assert!(0 < failures, "{own:?}");
    let golds: Vec<Value> = inputs
        .iter()
        .zip(&own)
        .map(|(line, record)| {
            let mut line = line.clone();
            line["output"] = record["output"].clone();
            line
        })
        .collect();
    fs::write(at.join("gold"), text(&golds)).unwrap();

    for record in records(&printed(at, &with("infer", &["in", "--no-times"]))) {
        assert_eq!(record["status"], "satisfied", "{record}");
    }
    let report = printed(at, &with("compare", &["gold", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["rows"][1]["failures"], json!(failures));
    let eval: Value =
        serde_json::from_str(&printed(at, &with("eval", &["gold", "--json"]))).unwrap();
    assert_eq!((&eval["failures"], &eval["conversion"]), (&json!(failures), &json!(100.0)));
    let failing = own.iter().position(|record| record["g_before"] != json!(0.0)).unwrap();
    let input = inputs[failing].to_string();
    let explained: Vec<&str> = with("explain", &[]).into_iter().chain([input.as_str()]).collect();
    assert!(printed(at, &explained).contains("iteration"));
}

#[test]
fn writers_have_all_commands() {
    let inputs = ["abc", "deeda", "cab", "eda", "bead", "ace"].map(|text| json!({"input": text}));
    check_commands((write_writer, 5), PAIRS, &inputs);
}

#[test]
fn labels_have_all_commands() {
    let inputs = ["ann paid bob", "acme sold bob a car", "lee left", "may 9 is on a sunday"]
        .map(|text| json!({"tokens": text.split(' ').collect::<Vec<_>>()}));
    check_commands((write_labels, 3), FEW, &inputs);
}

#[test]
fn right_labels_are_linted() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rules.toml"), "consistent = true\n").unwrap();
    let gold = json!({"tokens": ["Ann", "saw", "Ann"], "output": "B-PER O O"});
    fs::write(dir.path().join("gold"), format!("{gold}\n")).unwrap();
    let report = printed(dir.path(), &["lint", "rules.toml", "gold"]);
    assert!(report.contains("Ann"), "{report}");
}

#[test]
fn errors_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    write_writer(dir.path(), 1);
    fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    let model = format!("--model={}", dir.path().display());
    fs::write(dir.path().join("in"), "abc\n").unwrap();
    let output = run(dir.path(), &["infer", &model, "in"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("save_pretrained"), "{said}");
    fs::write(dir.path().join("map.toml"), "[network]\nheads = 0\n").unwrap();
    let args = ["import", "torch", "in", "--mapping", "map.toml", "--out", "net"];
    let output = run(dir.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("map.toml"), "{said}");
}
