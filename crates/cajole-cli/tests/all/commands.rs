//! The commands as a user runs them.

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

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is JSON and nothing else")
}

/// Runs a command that must fail, and looks for every part in its message.
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    check_failed(&cajole(folder, args), args, parts);
}

/// An input that the built-in transducer gets wrong: its output misses one `az`.
const FAILURE: &str = "bzazbzazazazazazazazazaz";

/// A small experiment: one seed, little training, few inputs.
const SMALL: [&str; 12] = [
    "reproduce",
    "transduction",
    "--seed=7",
    "--json",
    "--set=training.epochs=16",
    "--set=test-inputs=24",
    "--set=tuning.inputs=20",
    "--set=tuning.failures=5",
    "--set=tuning.step-sizes=[1e-4,1e-3]",
    "--set=tuning.shorter-step-sizes=[1e-5]",
    "--set=rivals.samples=4",
    "--set=rivals.masked-width=4",
];

#[test]
fn an_experiment_reports_the_same_at_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: &str, out: &str| {
        let args = [&SMALL[..], &["--threads", threads, "--out", out]].concat();
        let mut rows = json(&cajole(folder.path(), &args))["rows"].clone();
        for row in rows.as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("milliseconds"); // the only figure that may differ
        }
        rows
    };
    let rows = run("1", "one");
    assert_eq!(rows, run("2", "two"));

    let rows = rows.as_array().unwrap();
    for row in rows {
        for name in ["net", "method", "constraint"] {
            assert!(row[name].is_string(), "{name} in {row}");
        }
        for name in ["total", "failures", "conversion", "accuracy_before", "accuracy_after"] {
            assert!(row[name].is_number(), "{name} in {row}");
        }
    }
    let methods: Vec<&str> = rows.iter().filter_map(|row| row["method"].as_str()).collect();
    for method in ["gbi paper", "gbi best", "beam 2..64", "masked greedy", "masked beam 4"] {
        assert!(methods.contains(&method), "{method} among {methods:?}");
    }
    let one = folder.path().join("one");
    let html = fs::read_to_string(one.join("report.html")).unwrap();
    assert!(html.contains("<svg") && html.contains("gbi best"));
    assert!(fs::read_to_string(one.join("report.md")).unwrap().contains("| gbi best"));
    let nets = one.join("nets");
    let (first, second) = (nets.join("encoder-7"), folder.path().join("two/nets/encoder-7"));
    let weights = |net: &Path| fs::read(net.join("model.safetensors")).unwrap();
    assert_eq!(weights(&first), weights(&second), "the same seed gives the same weights");

    let model = first.to_str().unwrap();
    let row = json(&cajole(folder.path(), &["eval", "--model", model, "--split=dev", "--json"]));
    assert_eq!(row["total"], 112);
}

#[test]
fn explain_shows_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let one = json(&cajole(folder.path(), &["explain", FAILURE, "--json"]));
    assert_eq!(one["status"], "satisfied");
    assert_eq!(one["output"].as_str().map(|y| y.matches('a').count()), Some(30));
    assert_ne!(one["steps"], 0);
    let trace = one["trace"]["steps"].as_array().unwrap();
    assert_eq!(trace.len() as u64, one["steps"].as_u64().unwrap() + 1);
    for name in ["iteration", "output", "g", "log_prob", "distance", "milliseconds"] {
        assert!(trace[0].get(name).is_some(), "{name}");
    }
    let text = cajole(folder.path(), &["explain", FAILURE]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("iteration") && text.contains("Satisfied after"), "{text}");
    assert!(text.contains(&"aaa".repeat(9)), "the right output is known: {text}");
    assert!(!text.contains('\x1b'), "no colours but on a terminal");
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn a_trained_network_can_be_used_and_a_finished_run_leaves_no_state() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["train", "transduction", "--set=training.epochs=2", "--out=net", "--json"];
    assert_eq!(json(&cajole(folder.path(), &args))["epochs"], 2);
    let net = folder.path().join("net");
    for file in ["model.safetensors", "config.json", "vocab.source.txt", "README.md"] {
        assert!(net.join(file).exists(), "{file}");
    }
    assert!(!net.join("training.safetensors").exists());
    let output = cajole(folder.path(), &["explain", "azbz", "--model=net"]);
    assert!(output.status.success());

    // A damaged, a foreign and an incomplete checkpoint.
    let weights = fs::read(net.join("model.safetensors")).unwrap();
    fs::write(net.join("model.safetensors"), &weights[..weights.len() / 2]).unwrap();
    check_error(
        folder.path(),
        &["explain", "azbz", "--model=net"],
        &["model.safetensors", "damaged"],
    );
    fs::write(net.join("config.json"), r#"{"task": "cooking"}"#).unwrap();
    check_error(
        folder.path(),
        &["explain", "azbz", "--model=net"],
        &["config.json", "\"cooking\"", "transduction"],
    );
    fs::remove_file(net.join("config.json")).unwrap();
    check_error(
        folder.path(),
        &["explain", "azbz", "--model=net"],
        &["config.json", "save_pretrained"],
    );
}

#[test]
fn a_killed_run_goes_on_and_ends_where_it_would_have() {
    let folder = tempfile::tempdir().unwrap();
    let train = |out: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
        command.current_dir(folder.path()).stderr(Stdio::null()).stdout(Stdio::null());
        command.args(["train", "transduction", "--set=training.epochs=40", "--out", out]);
        command
    };
    let state = folder.path().join("killed/training.safetensors");
    kill_after(&mut train("killed"), &state);
    check_error(
        folder.path(),
        &["train", "transduction", "--out=killed", "--seed=2"],
        &["killed", "unfinished run", "changed since", "seed"],
    );
    assert!(train("killed").status().unwrap().success());
    assert!(train("whole").status().unwrap().success());
    let weights = |out: &str| fs::read(folder.path().join(out).join("model.safetensors")).unwrap();
    assert_eq!(weights("killed"), weights("whole"));
    assert!(!state.exists());
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    check_error(at, &["explain", "azby"], &["input:1", "\"y\"", "1 line could not be explained"]);
    check_error(at, &["explain", "--model=tagger"], &["give the inputs"]);
    check_error(at, &["eval", "--model=tagger"], &["give a file"]);
    check_error(at, &["explain", "--model=nowhere"], &["nowhere is no folder", "transducer"]);
    check_error(at, &["train", "transduction", "--config=no.toml"], &["no.toml", "No such file"]);
    check_error(at, &["train", "cooking"], &["cooking", "transduction"]);
    let set = |what| {
        check_error(at, &["train", "transduction", "--out=x", "--set", what], &[what]);
        assert!(!at.join("x").exists(), "nothing is left behind");
    };
    set("training.epoch=3");
    set("trainin.epochs=3");
    set("training.epochs=many");
    set("training.epochs");
    set("training.epochs.first=3");
    let set = |what| check_error(at, &["eval", "--set", what], &[what]);
    set("schedule.step=3");
    set("schedul.max-steps=3");
    set("width=wide");
    check_error(at, &["eval", "--set", "moves=[\"deco\"]"], &["\"deco\"", "decoder"]);

    let config = cajole_experiments::transduction::TransductionConfig::DEFAULT;
    fs::write(at.join("own.toml"), config.replace("clip = 1.0", "clip = \"short\"")).unwrap();
    let own = ["train", "transduction", "--config=own.toml"];
    check_error(at, &own, &["own.toml", "clip", "short"]);
    fs::write(at.join("own.toml"), config.replace("hidden = 32", "hiden = 32")).unwrap();
    check_error(at, &own, &["own.toml", "hiden", "hidden"]);
}

#[test]
fn settings_reach_the_steps() {
    let folder = tempfile::tempdir().unwrap();
    let explained = |settings: &[&str]| {
        let args = [&["explain", FAILURE, "--json"], settings].concat();
        json(&cajole(folder.path(), &args))["trace"].clone()
    };
    let all = explained(&["--preset=best"]);
    let biases = explained(&["--preset=best", "--set=moves=[\"decoder.b\", \"output.b\"]"]);
    assert!(biases["moving"].as_u64() < all["moving"].as_u64(), "fewer weights move");
    assert_eq!(explained(&["--preset=small"])["moving"], biases["moving"], "biases only");
    assert_eq!(explained(&[])["moving"], biases["moving"], "that is the default");
    let steps = |trace: &Value| trace["steps"].as_array().unwrap().len();
    let limited = explained(&["--max-steps=1", "--set=restarts=[]", "--set=sources=[]"]);
    assert_eq!(steps(&limited), 2, "the network's own output, and one step");
    let wide = explained(&["--set=width=3", "--set=sources=[]", "--max-steps=1"]);
    assert_ne!(wide["steps"][0]["passes"], limited["steps"][0]["passes"], "another beam");
}

#[test]
fn every_network_is_explained_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let tree = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))))";
    let srl = r#"[{"p": 2, "bio": "B-ARG0 I-ARG0 B-V B-ARG1 I-ARG1"}]"#;
    fs::write(at.join("sentences"), format!("{{\"tree\": \"{tree}\", \"srl\": {srl}}}\n")).unwrap();
    let pairs = r#"{"input": "a + b", "output": "( a + b )", "constraint": "must-have = ['(']"}"#;
    fs::write(at.join("pairs"), pairs).unwrap();
    for (model, file, measure) in [
        ("parser", "sentences", "F1"),
        ("tagger", "sentences", "F1"),
        ("expressions", "pairs", "accuracy"),
    ] {
        let model = format!("--model={model}");
        let line = fs::read_to_string(at.join(file)).unwrap();
        let output = cajole(at, &["explain", &model, line.trim()]);
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(output.status.success() && text.contains("iteration"), "{model}: {text}");
        let row = json(&cajole(at, &["eval", &model, file, "--json"]));
        assert_eq!((&row["total"], &row["measure"]), (&1.into(), &measure.into()), "{row}");
        let before = row["whole_metric_before"].as_f64().unwrap();
        assert!((0.0..=100.0).contains(&before), "{row}");
        let text = String::from_utf8(cajole(at, &["eval", &model, file]).stdout).unwrap();
        assert!(text.contains(measure) && text.contains("before"), "{text}");
    }
}
