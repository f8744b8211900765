//! `cajole parse`, and how parsers are trained and measured, as a user runs them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use cajole_experiments::parsing::ParsingConfig;
use serde_json::Value;

use crate::failure::check_failed;
use crate::knife::kill_after;

/// A small network on few generated trees.
const TINY: [&str; 8] = [
    "--quick",
    "--set=treebanks.generated.source={kind=\"generated\",train=400,dev=10,test=8}",
    concat!(
        "--set=networks=[{name=\"gnmt\",treebank=\"generated\",architecture=\"gnmt\",layers=2,",
        "hidden=16,dropout=0.1,share=100,pointer=true,domains=true}]"
    ),
    "--set=training.epochs=4",
    "--set=training.batch-size=8",
    "--set=training.shard-size=4",
    "--set=training.step-size=1e-2",
    "--set=sizes.cap-factor=3",
];

/// The command in `folder`, without a data folder of the user's.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).env_remove("CAJOLE_DATA").args(args);
    command
}

fn cajole(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the command starts")
}

/// Runs a command that must succeed; returns what it prints.
#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = cajole(folder, args);
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that must fail, and looks for every part in its message.
#[track_caller]
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    check_failed(&cajole(folder, args), args, parts);
}

/// A folder with a trained parser in `net`, which all tests share.
fn trained() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let args = [&["train", "parsing", "--network=gnmt", "--out=net"], &TINY[..]].concat();
        assert!(printed(folder.path(), &args).contains("F1"));
        folder
    });
    folder.path()
}

/// The words of a bracketed tree.
#[track_caller]
fn words(tree: &str) -> Vec<&str> {
    assert!(tree.starts_with('(') && tree.ends_with(')'), "{tree:?}");
    let open = tree.matches('(').count();
    assert_eq!(open, tree.matches(')').count(), "{tree}");
    let words = tree.split_whitespace().filter(|part| part.ends_with(')'));
    words.map(|part| part.trim_end_matches(')')).collect()
}

/// Few steps: these tests are about lines, not about conversion.
const FEW_STEPS: [&str; 3] =
    ["--max-steps=10", "--set=restarts=[]", "--set=sources=[{kind=\"masked\",width=1}]"];

/// The same for an experiment.
const FEW_STEPS_EACH: [&str; 3] = [
    "--set=gbi.best.schedule.max-steps=10",
    "--set=gbi.best.restarts=[]",
    "--set=gbi.best.sources=[{kind=\"masked\",width=1}]",
];

fn parse(folder: &Path, args: &[&str]) -> Output {
    cajole(folder, &[&["parse", "--model=net"], &FEW_STEPS[..], args].concat())
}

#[test]
fn one_tree_a_line_in_order_whatever_the_line() {
    let at = trained();
    let lines: [&[u8]; 9] = [
        b"The dog saw a qzxv.",
        br#"{"tokens": ["Dogs", "(", "barked", ")"], "pos": ["NNS", "-LRB-", "VBD", "-RRB-"]}"#,
        br#"{"tokens": ["dogs""#,
        b"",
        b"caf\xe9",
        br#"{"text": "It doesn't."}"#,
        br#"{"tree": "(S (NP (PRP We)) (VP (VBP run)) (. .))"}"#,
        br#"{"tokens": ["a", "b"], "pos": ["X"]}"#,
        b"Yes",
    ];
    let expected: [&[&str]; 9] = [
        &["The", "dog", "saw", "a", "qzxv", "."],
        &["Dogs", "-LRB-", "barked", "-RRB-"],
        &[],
        &[],
        &[],
        &["It", "does", "n't", "."],
        &["We", "run", "."],
        &[],
        &["Yes"],
    ];
    fs::write(at.join("mixed"), lines.join(&b'\n')).unwrap();
    let output = parse(at, &["mixed"]);
    assert!(!output.status.success(), "three lines are bad");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), lines.len(), "{text}");
    for (line, expected) in text.lines().zip(expected) {
        match expected.is_empty() {
            true => assert_eq!(line, ""),
            false => assert_eq!(words(line), expected),
        }
    }
    let complaints = said(&output);
    for part in ["mixed:3: no JSON object", "mixed:5: the line is not UTF-8"] {
        assert!(complaints.contains(part), "{complaints}");
    }
    assert_eq!(complaints.matches("EOF while parsing").count(), 1, "said once: {complaints}");
    assert!(complaints.contains("mixed:8: 1 tags in \"pos\" for 2 tokens"), "{complaints}");
    assert!(complaints.contains("3 lines could not be parsed"), "{complaints}");

    // The same from standard input, and on any number of threads.
    let args = ["parse", "--model=net", "--threads=1"];
    let mut child = command(at, &[&args, &FEW_STEPS[..]].concat());
    child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&lines.join(&b'\n')).unwrap();
    let piped = child.wait_with_output().unwrap();
    assert!(!piped.status.success() && said(&piped).contains("standard input:5"));
    assert_eq!(piped.stdout, output.stdout);

    fs::write(at.join("one-bad"), "{}\n").unwrap();
    check_error(at, &["parse", "--model=net", "one-bad"], &["one-bad:1", "1 line could not"]);
}

#[test]
fn a_parser_is_built_in() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("one"), "The old man the boats.").unwrap();
    let tree = printed(folder.path(), &["parse", "one"]);
    assert_eq!(words(tree.trim_end()), ["The", "old", "man", "the", "boats", "."]);
    assert!(tree.contains("(NP "), "{tree}");
}

/// More lines than are parsed together, and several files.
#[test]
fn many_lines_and_files_keep_their_order() {
    let at = trained();
    let line = |i: usize| if i % 7 == 3 { String::new() } else { format!("w{i} ends") };
    let lines: Vec<String> = (0..150).map(line).collect();
    fs::write(at.join("first"), lines[..80].join("\n")).unwrap();
    fs::write(at.join("second"), lines[80..].join("\r\n") + "\r\n").unwrap();
    let output = parse(at, &["first", "second", "--width=1"]);
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), lines.len());
    for (tree, line) in text.lines().zip(&lines) {
        let found = if tree.is_empty() { Vec::new() } else { words(tree) };
        assert_eq!(found, line.split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn as_json_and_step_by_step() {
    let at = trained();
    let gold = r#"{"tree": "(S (NP (PRP We)) (VP (VBP run)) (. .))"}"#;
    fs::write(at.join("lines"), format!("The dog saw it.\n\n{gold}\n")).unwrap();
    let output = parse(at, &["lines", "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    let values: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let lines: Vec<u64> = values.iter().map(|value| value["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 3], "a blank line has no record");
    for value in &values {
        let is_satisfied = value["status"] == "satisfied";
        assert_eq!(is_satisfied, value["g_after"] == 0.0, "{value}");
        assert_eq!(is_satisfied, value["mended"] == 0, "{value}");
        for name in ["output", "engine", "g_before", "steps", "passes"] {
            assert!(!value[name].is_null(), "{name} in {value}");
        }
        assert!(value.get("trace").is_none());
    }
    assert_eq!(words(values[0]["tree"].as_str().unwrap()), ["The", "dog", "saw", "it", "."]);

    let output = parse(at, &["lines", "--json", "--explain"]);
    let lines = String::from_utf8(output.stdout).unwrap();
    let explained: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for (value, plain) in explained.iter().zip(&values) {
        assert_eq!(value["tree"], plain["tree"]);
        let trace = value["trace"]["steps"].as_array().unwrap();
        assert_eq!(trace[0]["iteration"], 0);
        assert_eq!(trace[0]["g"], plain["g_before"]);
    }
    let infer = ["infer", "--model=net", "lines", "--no-times"];
    let records = cajole(at, &[&infer, &FEW_STEPS[..]].concat()).stdout;
    assert_eq!(parse(at, &["lines", "--json"]).stdout, records, "the records of infer");
    for threads in ["--threads=1", "--threads=5"] {
        assert_eq!(parse(at, &["lines", "--json", threads]).stdout, records, "{threads}");
    }

    let text = String::from_utf8(parse(at, &["lines", "--explain"]).stdout).unwrap();
    for part in ["commands, step by step", "The dog saw it .", "iteration"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains('\x1b'), "no colours but on a terminal");
    assert!(text.contains(values[0]["tree"].as_str().unwrap()));

    fs::write(at.join("two"), "The dog saw it.\nWe run.\n").unwrap();
    let drawn = String::from_utf8(parse(at, &["two", "--pretty"]).stdout).unwrap();
    let trees: Vec<&str> = drawn.split_terminator("\n\n").collect();
    assert!(trees.len() == 2 && !drawn.contains('('), "a blank line after each tree:\n{drawn}");
    assert!(trees[0].contains("dog") && trees[1].contains("run"), "{drawn}");
}

#[test]
fn a_transformer_parses_and_its_card_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let sizes = ["--set=transformer.inner=32", "--set=transformer.training.epochs=1"];
    // By its architecture: no network of this file has that name.
    let renamed = ParsingConfig::QUICK.replace("name = \"transformer\"", "name = \"tf\"");
    fs::write(at.join("settings.toml"), renamed).unwrap();
    let train =
        ["train", "parsing", "--config=settings.toml", "--network=transformer", "--out=net"];
    let source = "--set=treebanks.generated.source={kind=\"generated\",train=60,dev=9,test=9}";
    let card = printed(at, &[&train[..], &sizes, &[source, "--json"]].concat());
    assert!(card.contains("\"name\": \"tf\"") && card.contains("\"is-norm-first\": true"));
    fs::write(at.join("lines"), "The dog saw a qzxv.\n").unwrap();
    let tree = String::from_utf8(parse(at, &["lines"]).stdout).unwrap();
    assert_eq!(words(tree.trim_end()), ["The", "dog", "saw", "a", "qzxv", "."]);

    let (config, parse) = (at.join("net/config.json"), ["parse", "--model=net", "lines"]);
    let card = fs::read_to_string(&config).unwrap();
    for (from, to, expected) in [
        ("\"cap-factor\": 6", "\"cap-factor\": -1", "invalid value: integer `-1`"),
        ("\"heads\": 4", "\"heads\": 0", "this must be at least 1"),
        ("\"end\": ", "\"end\": 1", "begins or ends"),
        ("\"inner\": 32", "\"inner\": 33", "encoder.0.feed.up.w"),
        ("\"decoder\"", "\"decoders\"", "unknown field `reads`"),
    ] {
        assert!(card.contains(from), "{from}");
        fs::write(&config, card.replacen(from, to, 1)).unwrap();
        check_error(at, &parse, &["net", expected]);
    }
}

#[test]
fn what_is_wrong_is_said() {
    let at = trained();
    check_error(at, &["parse", "--model=nowhere"], &["nowhere is no folder", "parser"]);
    check_error(at, &["parse", "--model=net", "no-file"], &["no-file", "No such file"]);
    check_error(at, &["train", "parsing", "--out=x"], &["no data folder", "--data", "--quick"]);
    assert!(!at.join("x").exists(), "nothing is left behind");
    let networks = ["\"net77\"", "gnmt", "simple"];
    check_error(at, &["train", "parsing", "--quick", "--network=net77"], &networks);
    let empty = at.join("empty");
    fs::create_dir_all(&empty).unwrap();
    check_error(at, &["train", "parsing", "--out=x", "--data=empty"], &["empty", "No such file"]);
    fs::write(at.join("moved"), "It moves.").unwrap();
    let moves = ["parse", "--model=net", "--set=moves=[\"deco\"]", "moved"];
    check_error(at, &moves, &["\"deco\"", "encoder.0.w_x"]);

    let transducer = ["train", "transduction", "--set=training.epochs=1", "--out=transducer"];
    printed(at, &transducer);
    check_error(at, &["parse", "--model=transducer"], &["\"transduction\"", "not \"parsing\""]);

    // A vocabulary that is not this network's.
    let damaged = at.join("damaged");
    fs::create_dir_all(&damaged).unwrap();
    for file in fs::read_dir(at.join("net")).unwrap() {
        let file = file.unwrap().path();
        fs::copy(&file, damaged.join(file.file_name().unwrap())).unwrap();
    }
    fs::write(damaged.join("vocab.labels.txt"), "NP\n").unwrap();
    check_error(at, &["parse", "--model=damaged"], &["vocab.labels.txt has 1 entries"]);
}

#[test]
fn a_killed_run_goes_on_and_ends_where_it_would_have() {
    let folder = tempfile::tempdir().unwrap();
    let train = |out: &str| {
        let args = ["train", "parsing", "--network=gnmt", "--out", out];
        // Long enough not to end before its first state is seen.
        let longer = ["--set=training.epochs=15"];
        let mut train = command(folder.path(), &[&args, &TINY[..], &longer].concat());
        train.stdout(Stdio::null()).stderr(Stdio::null());
        train
    };
    let state = folder.path().join("killed/training.safetensors");
    kill_after(&mut train("killed"), &state);
    let other = ["train", "parsing", "--network=gnmt", "--out=killed", "--seed=2"];
    let parts = ["killed", "unfinished run", "changed since", "seed"];
    check_error(folder.path(), &[&other, &TINY[..]].concat(), &parts);
    assert!(train("killed").status().unwrap().success());
    assert!(train("whole").status().unwrap().success());
    for file in ["model.safetensors", "config.json", "vocab.words.txt", "vocab.labels.txt"] {
        let bytes = |out: &str| fs::read(folder.path().join(out).join(file)).unwrap();
        assert!(bytes("killed") == bytes("whole"), "{file}");
    }
    assert!(!state.exists());
}

#[test]
fn an_experiment_writes_its_report_and_uses_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let few = [
        "reproduce",
        "parsing",
        "--json",
        "--set=widths=[1]",
        "--set=tuning={failures=2,step-sizes=[1e-2]}",
        "--set=rivals={beam-width=2,masked-width=2}",
        "--set=gbi.paper.schedule.max-steps=3",
    ];
    let args = [&few, &FEW_STEPS_EACH[..], &TINY[..]].concat();
    let run = || {
        let report: Value = serde_json::from_str(&printed(folder.path(), &args)).unwrap();
        report["rows"].as_array().unwrap().clone()
    };
    let rows = run();
    let at = folder.path().join("report");
    let methods: Vec<_> = rows.iter().filter_map(|row| row["method"].as_str()).collect();
    for method in ["greedy", "gbi paper", "gbi best", "constrained greedy", "masked greedy"] {
        assert!(methods.contains(&method), "{method} among {methods:?}");
    }
    for data in ["test", "letters", "fiction", "manual"] {
        assert!(rows.iter().any(|row| row["constraint"] == data), "{data}");
    }
    let read = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(report["rows"].as_array(), Some(&rows));
    assert!(read("report.html").contains("<svg") && read("report.html").contains("gbi best"));
    assert!(read("report.md").contains("| gbi best"));

    // Times are the same only if nothing is measured again.
    let weights = || fs::metadata(at.join("nets/gnmt/model.safetensors")).unwrap().modified();
    let before = weights().unwrap();
    let reports = ["report.json", "report.md", "report.html"].map(read);
    assert_eq!(run(), rows);
    assert_eq!(weights().unwrap(), before, "the parser is not trained again");
    assert_eq!(["report.json", "report.md", "report.html"].map(read), reports);

    let others = [&args[..], &["--seed=5"]].concat();
    check_error(folder.path(), &others, &["settings.json", "changed since: seed", "--out"]);
}

#[test]
fn sizes_of_nothing_are_refused_where_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (task, setting) in [
        ("parsing", "training.batch-size=0"),
        ("parsing", "training.shard-size=0"),
        ("parsing", "sizes.attention=0"),
        ("parsing", "sizes.embedding=0"),
        ("transduction", "training.batch-size=0"),
        ("transduction", "network.hidden=0"),
    ] {
        let set = format!("--set={setting}");
        check_error(folder.path(), &["train", task, "--quick", &set], &[setting, "at least 1"]);
    }
}

#[test]
fn explain_shows_an_example_where_nothing_needs_a_repair() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "The dog barked .\n").unwrap();
    let text = printed(at, &["parse", "in", "--explain"]);
    let (_, example) = text.split_once("Nothing here needs a repair. To show one:").unwrap();
    assert!(
        example.contains("a built-in example") && example.contains("Satisfied after"),
        "{text}"
    );
    assert!(!printed(at, &["parse", "in"]).contains("repair"));
    assert!(!printed(at, &["parse", "in", "--explain", "--json"]).contains("Nothing here"));
}
