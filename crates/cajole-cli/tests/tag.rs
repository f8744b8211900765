//! `cajole tag` as a user runs it, with small networks that are trained here.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use cajole_nn::checkpoint::Precision;
use cajole_tasks::experiment::Silent;
use cajole_tasks::srl::config::{CorpusConfig, NetworkConfig, Source};
use cajole_tasks::srl::{Sentence, Splits, SrlConfig, bio, conll2012, generated, props, tagger};
use cajole_tasks::treebank::generated::Genre;
use cajole_tasks::words::Reads;
use serde_json::{Value, json};

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

/// Tags what has to succeed; returns what is printed.
#[track_caller]
fn tagged(args: &[&str]) -> String {
    let output = tag(args);
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn tagged_as_json(args: &[&str]) -> Vec<Value> {
    let text = tagged(&[args, &["--json"]].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a command that has to fail, and looks for every part in what it says.
#[track_caller]
fn check_error(args: &[&str], parts: &[&str]) {
    let output = command(folder(), args).output().unwrap();
    let said = said(&output);
    assert!(!output.status.success(), "{args:?} should fail");
    assert!(!said.contains("panicked"), "{said}");
    for part in parts {
        assert!(said.contains(part), "{args:?} should say {part:?}, not:\n{said}");
    }
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
    };
    let splits = Splits::load(&corpus, None, 1).unwrap();
    let (trained, card) =
        cajole_tasks::srl::train(&network, &config, &corpus, &splits, None, &Silent).unwrap();
    tagger::save(folder, &trained, &card, Precision::F32).unwrap();
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

/// The spans of a bracketed tree: of phrases, or of all nodes.
fn spans(tree: &str, phrasal: bool) -> BTreeSet<(u64, u64)> {
    let (mut spans, mut open, mut at) = (BTreeSet::new(), Vec::new(), 0);
    let spaced = tree.replace('(', " ( ").replace(')', " ) ");
    let parts: Vec<&str> = spaced.split_whitespace().collect();
    for (i, part) in parts.iter().enumerate() {
        match *part {
            "(" => open.push(at),
            ")" => {
                let is_leaf = parts[i - 3] == "(";
                at += u64::from(is_leaf);
                let start = open.pop().unwrap();
                if !is_leaf || !phrasal {
                    spans.insert((start, at));
                }
            }
            _ => {}
        }
    }
    spans
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
        "mixed:3: no sentence in JSON",
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
fn arguments_are_nodes_of_the_inputs_tree() {
    let file = corpus("nodes.jsonl");
    let sentences = sentences();
    for nodes in ["phrasal", "all"] {
        let answers = tagged_as_json(&[&file, "--nodes", nodes, "--trees=input"]);
        let asked = sentences.iter().flat_map(|s| s.propositions.iter().map(move |p| (s, p)));
        let asked: Vec<_> = asked.collect();
        assert_eq!(answers.len(), asked.len());
        let mut converted = 0;
        for (answer, (sentence, proposition)) in answers.iter().zip(asked) {
            assert_eq!(answer["id"], sentence.id);
            assert_eq!(answer["tokens"], json!(sentence.tokens));
            assert_eq!(answer["predicate"], proposition.predicate);
            assert_eq!(answer["lemma"], proposition.lemma);
            assert_eq!(answer["tree"], "input");
            let allowed = spans(&sentence.tree.as_ref().unwrap().to_string(), nodes == "phrasal");
            let arguments = answer["arguments"].as_array().unwrap();
            let all_are_nodes = arguments.iter().all(|argument| {
                let span = (argument["start"].as_u64().unwrap(), argument["end"].as_u64().unwrap());
                argument["role"] == "V" || argument["role"] == "C-V" || allowed.contains(&span)
            });
            let status = answer["status"].as_str().unwrap();
            assert_eq!(all_are_nodes, status != "unsatisfied", "{answer}");
            assert_eq!(all_are_nodes, answer["g_after"] == 0.0, "{answer}");
            assert_eq!(status == "satisfied", answer["g_before"] == 0.0, "{answer}");
            assert_eq!(status == "satisfied", answer["steps"] == 0, "{answer}");
            converted += usize::from(status == "converted");

            // Arguments and tags say the same, in the words of the sentence.
            let tags: Vec<String> = serde_json::from_value(answer["tags"].clone()).unwrap();
            let by_tags = bio::arguments(&tags).unwrap();
            assert_eq!(by_tags.len(), arguments.len());
            for (by_tags, argument) in by_tags.into_iter().zip(arguments) {
                assert_eq!(argument["role"], by_tags.role);
                assert_eq!(argument["text"], sentence.tokens[by_tags.at].join(" "));
            }
        }
        assert!(0 < converted, "{nodes}: a network so small violates its constraint somewhere");
    }
}

#[test]
fn trees_of_a_file_of_the_parser_or_none() {
    let sentences = &sentences()[..6];
    let text: Vec<String> = sentences
        .iter()
        .map(|s| json!({ "tokens": s.tokens, "pos": s.pos }).to_string() + "\n")
        .collect();
    let trees: Vec<String> =
        sentences.iter().map(|s| format!("{}\n", s.tree.as_ref().unwrap())).collect();
    // Blank lines are no sentences and take no tree.
    let file = write("bare", &(text[..2].concat() + "\n\n" + &text[2..].concat()));
    write("right.ptb", &trees.concat());
    let input = write("with-trees", &{
        let line = |s: &Sentence| {
            let tree = s.tree.as_ref().unwrap().to_string();
            json!({ "tree": tree }).to_string() + "\n"
        };
        sentences.iter().map(line).collect::<String>()
    });
    let of_file = tagged(&[&file, "--trees=right.ptb", "--nodes=phrasal"]);
    assert_eq!(of_file, tagged(&[&input, "--nodes=phrasal"]), "the same trees, given otherwise");
    for (args, tree) in [
        (["bare", "--trees=auto"], json!("parser")),
        (["with-trees", "--trees=parser"], json!("parser")),
        (["bare", "--trees=right.ptb"], json!("file")),
        (["with-trees", "--trees=auto"], json!("input")),
        (["with-trees", "--trees=none"], Value::Null),
    ] {
        let answers = tagged_as_json(&args);
        assert!(answers.iter().all(|answer| answer["tree"] == tree), "{args:?}");
        let free = answers.iter().filter(|answer| answer["status"] == "unconstrained").count();
        assert_eq!(free, if tree.is_null() { answers.len() } else { 0 }, "{args:?}");
    }

    let run = ["tag", "--model=words", "bare"];
    let error = |trees: &str, parts: &[&str]| {
        check_error(&[&run[..], &[&format!("--trees={trees}")]].concat(), parts);
    };
    write("short.ptb", &trees[..5].concat());
    error("short.ptb", &["bare:8", "this is sentence 6", "short.ptb has only 5 trees", "1 line"]);
    write("long.ptb", &(trees.concat() + &trees[0]));
    error("long.ptb", &["long.ptb has 7 trees for 6 sentences"]);
    write("other.ptb", &("(S (NP (NN one)))\n".to_owned() + &trees[1..].concat()));
    let n = sentences[0].tokens.len();
    error("other.ptb", &["bare:1", &format!("tree 1 of other.ptb has 1 leaves for {n} tokens")]);
    write("broken.ptb", &("(S (NP\n".to_owned() + &trees[1..].concat()));
    error("broken.ptb", &["broken.ptb:1", "never closed"]);
    error("nowhere.ptb", &["nowhere.ptb", "No such file"]);
    error("atuo", &["atuo", "the name of a treebank ends in"]);
    error("input", &["bare:1", "there is no \"tree\" in the input", "6 lines could not"]);
}

/// Every format says what JSON says, as the readers of these formats understand it.
#[test]
fn formats_say_the_same() {
    let file = corpus("formats.jsonl");
    let answers = tagged_as_json(&[&file]);
    let expected: Vec<String> = answers
        .iter()
        .map(|answer| {
            let tags: Vec<&str> = answer["tags"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tag| tag.as_str().unwrap())
                .collect();
            format!("{} {}", answer["predicate"], tags.join(" "))
        })
        .collect();
    let shown =
        |p: &cajole_tasks::srl::Proposition| format!("{} {}", p.predicate, p.tags.join(" "));

    let text = tagged(&[&file, "--format=conll"]);
    let read: Vec<_> = conll2012::sentences(&text).map(|found| found.unwrap().item).collect();
    assert_eq!(read.iter().flat_map(|s| &s.propositions).map(shown).collect::<Vec<_>>(), expected);
    for (read, given) in read.iter().zip(sentences()) {
        assert_eq!((&read.tokens, &read.pos, &read.tree), (&given.tokens, &given.pos, &given.tree));
    }

    let text = tagged(&[&file, "--format=props"]);
    let found: Vec<_> = props::sentences(&text).map(|found| found.unwrap().item).collect();
    assert_eq!(found.iter().flat_map(|s| &s.propositions).map(shown).collect::<Vec<_>>(), expected);
    write("found.props", &text);
    let gold: String = sentences()
        .into_iter()
        .map(|s| props::Props { words: s.tokens.len(), propositions: s.propositions })
        .map(|props| props.text().unwrap() + "\n")
        .collect();
    write("gold.props", &gold);
    let scored = command(folder(), &["srl-eval", "gold.props", "found.props"]).output().unwrap();
    assert!(scored.status.success() && scored.stderr.is_empty(), "{}", said(&scored));

    let text = tagged(&[&file, "--format=bio"]);
    let mut columns = Vec::new();
    for (block, sentence) in text.split_terminator("\n\n").zip(sentences()) {
        let rows: Vec<Vec<&str>> = block.lines().map(|row| row.split('\t').collect()).collect();
        assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), sentence.tokens);
        for (i, p) in (1..).zip(&sentence.propositions) {
            let tags: Vec<&str> = rows.iter().map(|row| row[i]).collect();
            columns.push(format!("{} {}", p.predicate, tags.join(" ")));
        }
    }
    assert_eq!(columns, expected);

    let text = tagged(&[&file, "--format=text"]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), answers.len());
    for (line, answer) in lines.iter().zip(&answers) {
        for argument in answer["arguments"].as_array().unwrap() {
            let (role, text) = (argument["role"].as_str(), argument["text"].as_str());
            let bracket = format!("[{} {}]", role.unwrap(), text.unwrap());
            assert!(line.contains(&bracket), "{bracket} in {line}");
        }
    }
    assert!(!text.contains('\x1b'), "no colours but on a terminal");

    // What was written in columns can be tagged again, and two propositions of a word cannot be.
    write("again.gold_conll", &tagged(&[&file, "--format=conll"]));
    assert_eq!(tagged(&["again.gold_conll"]), text);
    write("twice", r#"{"tokens": ["Owners", "left"], "predicates": [1, 1]}"#);
    assert_eq!(tagged(&["twice"]).lines().count(), 3);
    let columns = ["tag", "--model=words", "twice", "--format=props"];
    check_error(&columns, &["twice:1", "the word 1, counted from 0", "several propositions"]);
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

#[test]
fn steps_are_explained() {
    let file = corpus("explained.jsonl");
    let args = [&*file, "--explain", "--nodes=phrasal"];
    let answers = tagged_as_json(&args);
    let plain = tagged_as_json(&[&file, "--nodes=phrasal"]);
    assert!(plain[0].get("trace").is_none());
    let mut faults = 0;
    for (answer, plain) in answers.iter().zip(&plain) {
        assert_eq!(answer["tags"], plain["tags"]);
        let trace = answer["trace"].as_array().unwrap();
        assert_eq!((&trace[0]["iteration"], &trace[0]["g"]), (&json!(0), &answer["g_before"]));
        assert!(trace[0]["accuracy"].is_number(), "the right roles are known");
        for step in trace {
            let said = step["faults"].as_array().unwrap();
            assert_eq!(said.is_empty(), step["g"] == 0.0, "{step}");
            faults += said.len();
            for fault in said {
                let fault = fault.as_str().unwrap();
                let (message, words) = fault.split_once(": “").unwrap();
                assert!(message.ends_with("is no node of the tree"), "{fault}");
                let sentence = answer["tokens"].as_array().unwrap();
                let sentence: Vec<&str> = sentence.iter().map(|t| t.as_str().unwrap()).collect();
                assert!(sentence.join(" ").contains(words.trim_end_matches('”')), "{fault}");
            }
        }
    }
    assert!(0 < faults);
    let text = tagged(&args);
    for part in ["step by step", "iteration", "Step 0: ", "is no node of the tree: “", "[V ", "^^"]
    {
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
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    assert_eq!(answers, sentences().iter().map(|s| s.propositions.len()).sum::<usize>());
}

#[test]
fn what_is_wrong_is_said() {
    write("fine", "Owners left .\n");
    check_error(&["tag", "fine"], &["name a checkpoint with --model"]);
    check_error(&["tag", "--model=nowhere", "fine"], &["nowhere", "No such file"]);
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
    let moves = "--set=gbi.best.moves=[\"nothing\"]";
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
