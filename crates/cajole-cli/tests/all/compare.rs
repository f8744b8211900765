//! `cajole compare` as a user runs it: its figures are those of the records of `cajole infer`.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn cajole(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).args(args).output().unwrap()
}

#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = cajole(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the transducer should write.
fn right(input: &str) -> String {
    input.replace("az", "A").replace("bz", "zb").replace('A', "aaa")
}

fn inputs() -> Vec<String> {
    (0..24).map(|i| "az".repeat(i % 12 + 1) + &"bzaz".repeat(i / 5)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The share of places, over the longer of both, that have the right letter or the end, in per cent.
fn accuracy(output: &str, gold: &str) -> f64 {
    let (output, gold) = (output.to_owned() + ".", gold.to_owned() + ".");
    let same = output.bytes().zip(gold.bytes()).filter(|(a, b)| a == b).count();
    100.0 * same as f64 / output.len().max(gold.len()) as f64
}

/// The records of `infer` for the file with this engine.
fn records(at: &Path, engine: &str) -> Vec<Value> {
    let engine = format!("--engine={engine}");
    let text = printed(at, &["infer", "in", "--no-times", &engine]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn figures_are_those_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (inputs, engines) = (inputs(), ["gbi", "beam", "masked", "exact", "sample", "auto"]);
    let lines = inputs.iter().map(|x| json!({"input": x, "output": right(x)}).to_string());
    fs::write(at.join("in"), lines.collect::<Vec<_>>().join("\n")).unwrap();
    let engine_list = format!("--engines={}", engines.join(","));
    let report = printed(at, &["compare", "in", "--json", "--out=page", &engine_list]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let methods: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(methods, [&["network"], &engines[..]].concat());

    let own = records(at, "masked");
    let is_failure = |i: usize| own[i]["g_before"] != json!(0.0);
    let failures: Vec<usize> = (0..inputs.len()).filter(|&i| is_failure(i)).collect();
    assert!(2 < failures.len() && failures.len() < inputs.len(), "{failures:?}");
    for row in rows {
        assert_eq!(row["total"], inputs.len());
        assert_eq!(row["failures"], failures.len());
    }
    for (row, engine) in rows[1..].iter().zip(engines) {
        let records = records(at, engine);
        let output = |i: usize| records[i]["output"].as_str().unwrap();
        let over = |of: &dyn Fn(usize) -> f64, some: &[usize]| {
            mean(&some.iter().map(|&i| of(i)).collect::<Vec<_>>())
        };
        let share = |is: bool| if is { 100.0 } else { 0.0 };
        let all: Vec<usize> = (0..inputs.len()).collect();
        let accuracy = |i: usize| accuracy(output(i), &right(&inputs[i]));
        for (name, expected) in [
            ("satisfied", over(&|i| share(records[i]["status"] == "satisfied"), &failures)),
            ("exact", over(&|i| share(output(i) == right(&inputs[i])), &failures)),
            ("metric", over(&accuracy, &failures)),
            ("whole_metric", over(&accuracy, &all)),
            ("passes", over(&|i| records[i]["passes"].as_f64().unwrap(), &failures)),
        ] {
            let figure = row[name].as_f64().unwrap();
            assert!((figure - expected).abs() < 1e-6, "{engine}: {name} is not {expected}: {row}");
        }
    }
    let read = |name: &str| fs::read_to_string(at.join("page").join(name)).unwrap();
    let kept: Value = serde_json::from_str(&read("compare.json")).unwrap();
    assert_eq!(kept["rows"], report["rows"]);
    for engine in engines {
        assert!(read("compare.md").contains(&format!("| {engine} ")), "{engine}");
        assert!(read("compare.html").contains(engine), "{engine}");
    }
}

#[test]
fn lines_may_have_no_right_output_and_no_failures() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "bz\nazbz\n\nbzbz\n").unwrap();
    let text = printed(at, &["compare", "in", "--engines=beam"]);
    assert!(text.contains("3 inputs; the network's own output violates the rules for 0"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("accuracy"), "{text}");
    let page = printed(at, &["compare", "in", "--engines=beam", "--json", "--out=page"]);
    assert_eq!(serde_json::from_str::<Value>(&page).unwrap()["rows"][1]["failures"], 0);
    fs::write(at.join("in"), "").unwrap();
    let text = printed(at, &["compare", "in", "--out=page", "--overwrite"]);
    assert!(text.contains("0 inputs"), "{text}");
    for name in ["compare.json", "compare.md", "compare.html"] {
        let text = fs::read_to_string(at.join("page").join(name)).unwrap();
        assert!(!text.contains("NaN") && !text.contains("inf,"), "{name}");
    }
}

#[test]
fn lines_for_another_network_end_it_early() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "The dog barked .\n".repeat(30)).unwrap();
    let output = cajole(at, &["compare", "in", "--engines=beam"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    for part in ["none of the first 20 lines of in", "in:1: ", "--model"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_rule_that_costs_accuracy_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // The network is right, and the rule is wrong.
    fs::write(at.join("rule.toml"), "arithmetic = 'count(out,\"a\") = 0'\n").unwrap();
    let lines = ["az", "azbz", "bzaz"].map(|x| json!({"input": x, "output": right(x)}).to_string());
    fs::write(at.join("in"), lines.join("\n")).unwrap();
    let args = ["compare", "in", "--constraint=rule.toml", "--engines=beam,gbi"];
    let text = printed(at, &args);
    assert!(text.contains("warning: Satisfying these rules costs accuracy"), "{text}");
    assert!(text.contains("on the 3 failures") && text.contains("accuracy 100.0"), "{text}");
    let page = printed(at, &[&args[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&page).unwrap();
    assert_eq!(report["notes"].as_array().unwrap().len(), 1);
    let outputs = &report["tables"][1]["rows"][0][2]["text"];
    assert!(outputs.as_str().unwrap().starts_with(['✓', '✗']), "{outputs}");
    // The usual rules are right.
    let text = printed(at, &["compare", "in", "--engines=beam"]);
    assert!(!text.contains("warning"), "{text}");
}

#[test]
fn bad_lines_are_passed_over_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "az\nq\nbz\n{\"input\": 1}\n").unwrap();
    let output = cajole(at, &["compare", "in", "--engines=beam", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["rows"][0]["total"], 2);
    let said = String::from_utf8(output.stderr).unwrap();
    for part in ["in:2: ", "\"q\"", "in:4: ", "2 lines"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let first = printed(at, &["compare", "in", "--engines=beam", "--json", "--lines=1"]);
    assert_eq!(serde_json::from_str::<Value>(&first).unwrap()["rows"][0]["total"], 1);
    for (args, part) in [
        (&["compare", "in", "--model=expressions"][..], "--constraint"),
        (&["compare", "in", "--engines=magic"], "magic"),
        (&["compare", "nowhere"], "nowhere"),
    ] {
        let output = cajole(at, args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(part), "{args:?}: {said}");
    }
}

/// `null` means that no right output is given, for all commands.
#[test]
fn right_outputs_that_are_null_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let lines = [
        json!({"input": "azbz", "gold": null}),
        json!({"input": "bz", "gold": null, "output": "zb"}),
        json!({"input": "az", "output": "aaa"}),
    ];
    fs::write(at.join("in"), lines.each_ref().map(Value::to_string).join("\n")).unwrap();
    let told = "1 of 3 inputs have no right output (it is missing or null";
    let text = printed(at, &["compare", "in", "--engines=beam"]);
    assert!(text.contains(told), "{text}");
    let eval = cajole(at, &["eval", "in"]);
    let said = String::from_utf8_lossy(&eval.stderr);
    assert!(eval.status.success() && said.contains(told), "{said}");
    fs::write(at.join("rule.toml"), "must-not-have = ['b']\n").unwrap();
    let lint = cajole(at, &["lint", "rule.toml", "in", "--characters"]);
    let said = String::from_utf8_lossy(&lint.stderr);
    assert!(
        said.contains("in:1: expected the right output") && said.contains("null is none"),
        "{said}"
    );
    assert_eq!(said.matches("passed over").count(), 1, "{said}");
    fs::write(at.join("in"), lines[0].to_string()).unwrap();
    let eval = cajole(at, &["eval", "in"]);
    let said = String::from_utf8_lossy(&eval.stderr);
    assert!(said.contains("warning: no input has a right output, which null is, too"), "{said}");
}
