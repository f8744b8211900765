//! Networks for users' own pairs, as a user trains them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::failure::check_failed;
use crate::knife::kill_after;

fn cajole(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).args(args).output().expect("the command starts")
}

/// Runs a command that must fail, and looks for every part in its message.
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    check_failed(&cajole(folder, args), args, parts);
}

/// A few pairs in a folder, as `train.jsonl` and `dev.jsonl`.
fn folder_with_pairs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (split, n) in [("train", "200"), ("dev", "20")] {
        let args = ["generate", "expressions", "--n", n, "--operands=2..=4", "--split", split];
        let output = cajole(folder.path(), &args);
        assert!(output.status.success());
        fs::write(folder.path().join(format!("{split}.jsonl")), output.stdout).unwrap();
    }
    folder
}

/// A small network on these pairs.
const TRAIN: [&str; 7] = [
    "train",
    "pairs",
    "--train=train.jsonl",
    "--dev=dev.jsonl",
    "--set=network.hidden=16",
    "--set=training.batch-size=8",
    "--json",
];

#[test]
fn expressions_are_written_as_json_lines() {
    let folder = tempfile::tempdir().unwrap();
    let generate = |args: &[&str]| {
        let output = cajole(folder.path(), &[&["generate", "expressions", "--n=3"], args].concat());
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let text = generate(&["--operands=3", "--seed=5"]);
    assert_eq!(text, generate(&["--operands=3..=3", "--seed=5"]));
    assert_ne!(text, generate(&["--operands=3", "--seed=6"]));
    for (i, line) in text.lines().enumerate() {
        let pair: Value = serde_json::from_str(line).unwrap();
        assert_eq!(pair["id"], format!("train-5-{i}"));
        let [input, output] = ["input", "output"].map(|field| pair[field].as_str().unwrap());
        assert_eq!(input.split(' ').count(), 5);
        assert_eq!(output.replace(['(', ')', ' '], ""), input.replace(' ', ""));
    }
    assert_eq!(text.lines().count(), 3);
    check_error(
        folder.path(),
        &["generate", "expressions", "--operands=9..=5"],
        &["9..=5 operands", "2 to 100"],
    );
}

#[test]
fn a_network_is_trained_on_pairs_and_bad_lines_are_left_out() {
    let folder = folder_with_pairs();
    let train = folder.path().join("train.jsonl");
    let text = fs::read_to_string(&train).unwrap();
    fs::write(&train, format!("{text}{{\"input\": \"a\"}}\n")).unwrap();
    let args = [&TRAIN[..], &["--out=net", "--set=training.epochs=2", "--half"]].concat();
    let output = cajole(folder.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let card: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&card["task"], &card["pairs"], &card["epochs"]),
        (&"pairs".into(), &200.into(), &2.into())
    );
    assert!(said.contains("left out: train.jsonl:201: not a pair in JSON: missing field `output`"));
    for file in ["model.safetensors", "config.json", "vocab.source.txt", "vocab.target.txt"] {
        assert!(folder.path().join("net").join(file).exists(), "{file}");
    }
    assert!(!folder.path().join("net/training.safetensors").exists());
    check_error(folder.path(), &["explain", "--model=net"], &["give the inputs"]);
    check_error(folder.path(), &["parse", "--model=net"], &["\"pairs\"", "not \"parsing\""]);
}

#[test]
fn a_transformer_is_trained_on_pairs_and_works_in_all_commands() {
    let folder = folder_with_pairs();
    let args = [
        "train",
        "pairs",
        "--train=train.jsonl",
        "--dev=dev.jsonl",
        "--json",
        "--network=transformer",
        "--out=net",
        "--set=transformer.hidden=32",
        "--set=transformer.inner=32",
        "--set=transformer.layers=1",
        "--set=transformer.training.epochs=3",
    ];
    let run = |args: &[&str]| {
        let output = cajole(folder.path(), args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let card: Value = serde_json::from_str(&run(&args)).unwrap();
    assert_eq!(card["network"]["decoder"]["width"], 32);
    let written = fs::read_to_string(folder.path().join("net/README.md")).unwrap();
    assert!(written.contains("transformer, 1 encoder and 1 decoder layers of 32 units"));

    fs::write(folder.path().join("rule.toml"), "arithmetic = 'len(out) <= 2'\n").unwrap();
    let rule = ["--model=net", "--constraint=rule.toml"];
    let records = run(&[&["infer", "--engine=gbi"], &rule[..], &["dev.jsonl"]].concat());
    let records: Vec<Value> = records.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(records.len(), 20);
    let is_repaired = |record: &Value| record["engine"] == "gbi" && record["g_after"] == 0.0;
    assert!(records.iter().any(is_repaired), "{records:?}");
    for command in ["eval", "compare", "explain"] {
        assert!(!run(&[&[command], &rule[..], &["dev.jsonl"]].concat()).is_empty(), "{command}");
    }
}

#[test]
fn a_killed_run_goes_on_and_ends_where_it_would_have() {
    let folder = folder_with_pairs();
    // Enough epochs that the first is over long before the last, on a busy machine too.
    const LONG: [&str; 2] = ["--set=training.epochs=40", "--set=training.patience=40"];
    let train = |out: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
        command.current_dir(folder.path()).stderr(Stdio::null()).stdout(Stdio::null());
        command.args(TRAIN).args(LONG).args(["--out", out]);
        command
    };
    let state = folder.path().join("killed/training.safetensors");
    kill_after(&mut train("killed"), &state);
    let other = [&TRAIN[..], &LONG, &["--out=killed", "--seed=2"]].concat();
    check_error(folder.path(), &other, &["killed", "unfinished run", "changed since", "seed"]);
    assert!(train("killed").status().unwrap().success());
    assert!(train("whole").status().unwrap().success());
    let weights = |out: &str| fs::read(folder.path().join(out).join("model.safetensors")).unwrap();
    assert_eq!(weights("killed"), weights("whole"));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder_with_pairs();
    let at = folder.path();
    check_error(at, &["train", "pairs"], &["--train <FILE>", "--dev <FILE>"]);
    check_error(at, &["train", "pairs", "--train=train.jsonl"], &["--dev <FILE>"]);
    let of_pairs = |task: &str, flag: &str| {
        check_error(at, &["train", task, flag], &[&flag.replace('=', " "), "for pairs only"]);
    };
    of_pairs("transduction", "--train=a.jsonl");
    of_pairs("parsing", "--dev=a.jsonl");
    of_pairs("srl", "--train=a.jsonl");
    let with = |flag| [&TRAIN[..], &[flag]].concat();
    check_error(at, &with("--network=net1"), &["--network", "net1", "lstm nor transformer"]);
    let uneven = ["--network=transformer", "--set=transformer.heads=5"];
    check_error(at, &[&TRAIN[..4], &uneven].concat(), &["5 heads do not divide 128 hidden units"]);
    check_error(at, &with("--quick"), &["--quick", "generate expressions"]);
    check_error(at, &with("--set=symbols=letters"), &["letters", "characters"]);
    check_error(at, &with("--set=network.layers=0"), &["0 layers"]);
    // An override that would have no effect.
    let no_effect = |flags: [&str; 2], parts: &[&str]| {
        check_error(at, &[&TRAIN[..4], &flags[..]].concat(), parts);
    };
    let transformer = "--network=transformer";
    no_effect(
        [transformer, "--set=training.epochs=2"],
        &["--set training.epochs=2 has no effect", "it is transformer.training"],
    );
    no_effect([transformer, "--set=network.hidden=8"], &["--set network.hidden=8", "transformer"]);
    no_effect(["--set=kind=transformer", "--set=training.epochs=2"], &["transformer.training"]);
    let lstm = ["--network=lstm", "--set=transformer.training.epochs=2"];
    no_effect(
        lstm,
        &["--set transformer.training.epochs=2 has no effect", "--network transformer"],
    );
    check_error(at, &["reproduce", "pairs"], &["pairs", "transduction, parsing, srl"]);
    let missing = ["train", "pairs", "--train=no.jsonl", "--dev=dev.jsonl"];
    check_error(at, &missing, &["no.jsonl", "No such file"]);
    fs::write(at.join("dev.jsonl"), "{\"input\": 1, \"output\": \"\"}\n").unwrap();
    check_error(at, &TRAIN, &["dev.jsonl has no pair", "on line 1: the input is 1, neither"]);
}
