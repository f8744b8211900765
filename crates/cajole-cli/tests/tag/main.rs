//! `cajole tag` as a user runs it, with small networks that are trained here.

#[path = "../failure/mod.rs"]
mod failure;
mod formats;
mod trees;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use cajole_experiments::srl::SrlConfig;
use cajole_files::Folder;
use cajole_nn::checkpoint::Precision;
use cajole_tasks::corpora::Source;
use cajole_tasks::srl::{CorpusConfig, NetworkConfig, Recipe, Splits};
use cajole_tasks::words::Reads;
use cajole_tasks::{Checkpoint, Silent};
use cajole_treebank::generated::Genre;
use cajole_treebank::roles::{Sentence, generated};
use serde_json::{Value, json};

use failure::check_failed;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).env_remove("CAJOLE_DATA").args(args);
    command
}

fn tag(args: &[&str]) -> Output {
    command(folder(), &[&["tag", "--model=words"], args].concat())
        .output()
        .expect("the command starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs `cajole tag`, which must succeed; returns what it prints.
#[track_caller]
fn tagged(args: &[&str]) -> String {
    let output = tag(args);
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn tagged_as_json(args: &[&str]) -> Vec<Value> {
    let text = tagged(&[args, &["--json"]].concat());
    text.lines().flat_map(answers).collect()
}

/// The answers of a record, one for each predicate, with its line and identifier.
fn answers(record: &str) -> Vec<Value> {
    let record: Value = serde_json::from_str(record).unwrap();
    let mut answers = record["answers"].as_array().unwrap().clone();
    for answer in &mut answers {
        (answer["line"], answer["id"]) = (record["line"].clone(), record["id"].clone());
    }
    answers
}

/// Runs a command that must fail, and looks for every part in its message.
#[track_caller]
fn check_error(args: &[&str], parts: &[&str]) {
    check_failed(&command(folder(), args).output().unwrap(), args, parts);
}

/// A folder with the taggers `words` and `tags`, named for what they read, which all tests share.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        train(&folder.path().join("words"), Reads::Words, 12);
        train(&folder.path().join("tags"), Reads::Tags, 1);
        folder
    });
    folder.path()
}

fn train(folder: &Path, reads: Reads, epochs: usize) {
    let mut config: SrlConfig = toml::from_str(SrlConfig::DEFAULT).unwrap();
    config.training.epochs = epochs;
    config.training.step_size = 1e-2;
    (config.sizes.input_dropout, config.sizes.dropout, config.sizes.recurrent_dropout) =
        (0.0, 0.0, 0.0);
    (config.training.batch_size, config.training.shard_size) = (16, 8);
    (config.sizes.embedding, config.sizes.indicator, config.sizes.lemma_embedding) = (16, 8, 8);
    let corpus = CorpusConfig {
        source: Source::Generated { train: 500, dev: 10, test: 0 },
        reads,
        lemmas: reads == Reads::Tags,
        verbal: true,
        often: 2,
        vectors: None,
    };
    let network = NetworkConfig {
        name: "tiny".to_owned(),
        corpus: "generated".to_owned(),
        layers: 2,
        hidden: 24,
        share: 100,
        epochs: None,
        step_size: None,
        constraint_loss: None,
        domains: false,
        seeds: Vec::new(),
        encoder: None,
    };
    let splits = Splits::load(&corpus, None, 1).unwrap();
    let SrlConfig { sizes, training, readings, seed, .. } = &config;
    let (network, corpus, reading) = (&network, &corpus, readings[0]);
    let recipe = Recipe { network, sizes, training, corpus, reading, seed: *seed, encoder: None };
    let (trained, card) = cajole_tasks::srl::train(&recipe, &splits, None, &Silent).unwrap();
    trained.save(&Folder::create(folder).unwrap(), &card, Precision::F32).unwrap();
}

/// Sentences that were not trained on, with trees and roles.
fn sentences() -> Vec<Sentence> {
    generated::sentences(Genre::News, 30, 9)
}

/// Writes them as corpora have them; returns the name of the file.
fn corpus(name: &str) -> String {
    let line = |sentence: &Sentence| {
        let srl = sentence.propositions.iter().map(|p| {
            json!({ "p": p.predicate, "lemma": p.lemma, "roleset": p.roleset, "bio": p.tags.join(" ") })
        });
        json!({
            "id": sentence.id,
            "genre": sentence.genre,
            "tokens": sentence.tokens,
            "pos": sentence.pos,
            "tree": sentence.tree.as_ref().unwrap().to_string(),
            "srl": srl.collect::<Vec<_>>(),
        })
        .to_string()
    };
    write(name, &sentences().iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn write(name: &str, text: &str) -> String {
    fs::write(folder().join(name), text).unwrap();
    name.to_owned()
}

/// The words of a line of text, without brackets and roles.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let parts: Vec<&str> = line.split(' ').collect();
    for part in parts {
        match part.strip_prefix('[') {
            Some(role) if !role.is_empty() => {}
            _ => words.push(part.strip_suffix(']').unwrap_or(part).to_owned()),
        }
    }
    words
}

#[test]
fn text_in_brackets_out_in_order_whatever_the_line() {
    let lines: [&[u8]; 8] = [
        b"The owner opened the door.",
        b"",
        br#"{"tokens": ["owners""#,
        b"caf\xe9",
        br#"{"tokens": ["The", "owner", "left"], "predicates": [0, 2]}"#,
        br#"{"tokens": ["a", "b"], "predicates": [7]}"#,
        b"Qzxv qzxv .",
        br#"{"text": "The owner left", "tree": "(S (NP (DT The) (NN owner)))", "predicates": [1]}"#,
    ];
    fs::write(folder().join("mixed"), lines.join(&b'\n')).unwrap();
    let output = tag(&["mixed"]);
    assert!(!output.status.success(), "four lines are bad");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let blocks: Vec<&str> = text.split_terminator("\n\n").collect();
    let expected = [("The owner opened the door .", 1), ("The owner left", 2), ("Qzxv qzxv .", 1)];
    assert_eq!(blocks.len(), expected.len(), "{text}");
    for (block, (sentence, lines)) in blocks.iter().zip(expected) {
        assert_eq!(block.lines().count(), lines, "{block}");
        for line in block.lines() {
            let line = line.split_once(": ").map_or(line, |(_, line)| line);
            assert_eq!(words(line).join(" "), sentence, "{line}");
        }
    }
    assert!(text.contains("[V opened]"), "{text}");
    assert_eq!(blocks[2], "Qzxv qzxv .", "no predicate, so the bare words");
    let complaints = said(&output);
    for part in [
        "mixed:3: no JSON object",
        "mixed:4: the line is not UTF-8",
        "mixed:6: predicate 7, counted from 0, is none of the 2 tokens",
        "mixed:8: the tree has 2 leaves for 3 tokens",
        "4 lines could not be tagged",
    ] {
        assert!(complaints.contains(part), "{complaints}");
    }

    // The same from standard input.
    let mut child = command(folder(), &["tag", "--model=words"]);
    child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&lines.join(&b'\n')).unwrap();
    let piped = child.wait_with_output().unwrap();
    assert!(said(&piped).contains("standard input:6"), "{}", said(&piped));
    assert_eq!(piped.stdout, output.stdout);
}

#[test]
fn the_same_bytes_at_any_number_of_threads() {
    let file = corpus("threads.jsonl");
    let bare: String = sentences().iter().map(|s| s.tokens.join(" ") + "\n").collect();
    let bare = write("threads.txt", &bare.repeat(3));
    for args in [
        [&*file, "--format=json", "--nodes=phrasal", "--explain"],
        [&*bare, "--format=text", "--trees=parser", "--preset=paper"],
    ] {
        let one = tagged(&[&args[..], &["--threads=1"]].concat());
        assert_eq!(one, tagged(&[&args[..], &["--threads=2"]].concat()), "{args:?}");
    }
}

/// The answers of `infer`, with the same settings.
fn inferred(args: &[&str]) -> Vec<u8> {
    let infer = ["infer", "--model=words", "--no-times"];
    command(folder(), &[&infer, args].concat()).output().unwrap().stdout
}

#[test]
fn records_are_those_of_infer() {
    let file = corpus("records.jsonl");
    let given = tagged(&[&file, "--json", "--explain"]).into_bytes();
    assert!(given == inferred(&[&file, "--explain"]), "the same bytes");
    let given = tagged(&[&file, "--json"]).into_bytes();
    for threads in ["--threads=1", "--threads=5"] {
        assert!(tagged(&[&file, "--json", threads]).into_bytes() == given, "{threads}");
    }
    // Bad lines have the same records, too.
    write("bad", "{\"tokens\": []}\n{oops\n\n{\"tokens\": [\"x\"], \"predicates\": [3]}\n");
    let given = tag(&["bad", "--json", "--trees=none"]).stdout;
    assert!(given == inferred(&["bad"]), "{}", String::from_utf8_lossy(&given));
    // Predicted trees are lines like any others.
    let lines: String = sentences().iter().map(|s| s.tokens.join(" ") + "\n").collect();
    let bare = write("bare.txt", &lines);
    let one_by_one: Vec<String> = sentences()
        .iter()
        .zip(1..)
        .map(|(s, line)| {
            let one = write("one.txt", &("\n".repeat(line - 1) + &s.tokens.join(" ")));
            tagged(&[&one, "--json"])
        })
        .collect();
    assert_eq!(tagged(&[&bare, "--json"]), one_by_one.concat());
}

#[test]
fn steps_are_explained() {
    let file = corpus("explained.jsonl");
    let args = [&*file, "--explain", "--nodes=phrasal"];
    let answers = tagged_as_json(&args);
    let plain = tagged_as_json(&[&file, "--nodes=phrasal"]);
    assert!(plain[0].get("trace").is_none());
    let mut faults = 0;
    for (answer, plain) in answers.iter().zip(&plain) {
        assert_eq!(answer["output"], plain["output"]);
        let trace = answer["trace"]["steps"].as_array().unwrap();
        assert_eq!((&trace[0]["iteration"], &trace[0]["g"]), (&json!(0), &answer["g_before"]));
        for step in trace {
            let said = step["faults"].as_array().cloned().unwrap_or_default();
            assert_eq!(said.is_empty(), step["g"] == 0.0, "{step}");
            faults += said.len();
            for fault in said {
                let message = fault["message"].as_str().unwrap();
                assert!(message.ends_with("is no node of the tree"), "{fault}");
                let (start, end) = (&fault["start"], &fault["end"]);
                let is_argument = |a: &&Value| (&a["start"], &a["end"]) == (start, end);
                let arguments = step["arguments"].as_array().unwrap();
                assert_eq!(arguments.iter().filter(is_argument).count(), 1, "{fault} in {step}");
            }
        }
    }
    assert!(0 < faults);
    let text = tagged(&args);
    for part in ["step by step", "iteration", "Step 0: ", "is no node of the tree", "[V ", "^^"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    write("one", r#"{"text": "The owner left", "predicates": [2]}"#);
    let text = tagged(&["one", "--explain", "--trees=none"]);
    assert!(text.contains("There is no tree, so arguments may be any words."), "{text}");
}

#[test]
fn networks_that_read_tags_are_given_tags() {
    write("tagless", "Owners left .\n");
    write("universal", r#"{"tokens": ["Owners", "left"], "pos": ["NOUN", "VERB"]}"#);
    let (tags, tagless, universal) = ("--model=tags", "tagless", "universal");
    check_error(&["tag", tags, tagless], &["tagless:1", "reads parts of speech", "\"pos\""]);
    check_error(&["tag", tags, universal], &["universal:1", "knows none of \"NOUN VERB\""]);
    let answers = {
        let file = corpus("tagged.jsonl");
        let output = command(folder(), &["tag", tags, &file, "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap().lines().flat_map(answers).count()
    };
    assert_eq!(answers, sentences().iter().map(|s| s.propositions.len()).sum::<usize>());
}

#[test]
fn what_is_wrong_is_said() {
    write("fine", "Owners left .\n");
    check_error(&["tag", "--model=nowhere", "fine"], &["nowhere is no folder", "tagger"]);
    check_error(&["tag", "--model=words", "no-file"], &["no-file", "No such file"]);
    check_error(&["tag", "--model=words", "no.gold_conll"], &["no.gold_conll", "No such file"]);
    check_error(&["parse", "--model=words", "fine"], &["\"srl\"", "not \"parsing\""]);
    let transducer = ["train", "transduction", "--set=training.epochs=1", "--out=transducer"];
    assert!(command(folder(), &transducer).output().unwrap().status.success());
    check_error(&["tag", "--model=transducer"], &["\"transduction\"", "not \"srl\""]);
    let run = ["tag", "--model=words", "fine"];
    check_error(&[&run[..], &["--json", "--format=bio"]].concat(), &["--json"]);
    check_error(
        &[&run[..], &["--explain", "--format=bio"]].concat(),
        &["--explain", "text and json"],
    );
    let moves = "--set=moves=[\"nothing\"]";
    check_error(&[&run[..], &[moves]].concat(), &["\"nothing\""]);
    write("bad.gold_conll", "a 0 0 go VB (TOP(VP*)) go 01 - - * (V*) -\n\na b\n");
    let output = tag(&["bad.gold_conll"]);
    assert!(
        said(&output).contains("bad.gold_conll:3: 2 columns of at least 12"),
        "{}",
        said(&output)
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2, "the good one");
}

#[test]
fn help_teaches() {
    for (name, parts) in [
        (
            "tag",
            &["[ARG0 The dog] [V chased] [ARG1 the cat] .", "\"predicates\"", "--trees", "CoNLL"][..],
        ),
        ("parse", &["a blank line for a blank or a bad one", "\"tokens\""]),
    ] {
        let output = command(Path::new("."), &[name, "--help"]).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        for part in parts {
            assert!(help.contains(part), "{part:?} in {help}");
        }
    }
}
