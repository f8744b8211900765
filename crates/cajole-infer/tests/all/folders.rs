//! Hugging Face folders as they are: text and words through their tokenizers, rules over what users
//! see, every engine, and errors for folders that do not fit together.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cajole_core::Search;
use cajole_infer::answer::Status;
use cajole_infer::engine::Engine;
use cajole_infer::line::Line;
use cajole_infer::{Opened, Registry, Settings};
use cajole_rules::Rules;
use cajole_testing::folders::{LABELS, LETTERS, write_labels, write_writer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A rule that texts of [`write_writer`] seldom satisfy.
const PAIRS: &str = "pattern = '([ab][cde ])*'\n";

/// A rule that tags of [`write_labels`] seldom satisfy.
const AT_MOST: &str = r#"[[all]]
arithmetic = 'count(out, "B-PER") + count(out, "B-ORG") <= 2'

[[all]]
consistent = true
"#;

fn engine(name: &str) -> Engine {
    name.parse().unwrap()
}

fn folder(write: fn(&Path, u64), seed: u64) -> (TempDir, Opened) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), seed);
    let opened = open(dir.path()).unwrap_or_else(|error| panic!("{error}"));
    (dir, opened)
}

fn open(folder: &Path) -> Result<Opened, String> {
    Registry::standard().open(folder.to_str().unwrap()).map_err(|error| error.to_string())
}

fn settings(network: &Opened, engine: Engine) -> Settings {
    Settings::of(&**network).by(engine)
}

fn lines(texts: &[String]) -> Vec<Line> {
    let line = |(text, i): (&String, u64)| Line::parse(i, text.clone()).unwrap().unwrap();
    texts.iter().zip(1..).map(line).collect()
}

/// The records of these lines, all at once.
fn records(network: &Opened, rules: &str, engine: Engine, texts: &[String]) -> Vec<Value> {
    let rules = Arc::new(Rules::parse("here", rules, None, network.vocabulary()).unwrap());
    let settings = settings(network, engine);
    let lines = lines(texts).into_iter().map(Ok).collect();
    let records = network.answer(lines, Some(&rules), &settings).unwrap();
    records.iter().map(|record| record.to_json(false)).collect()
}

/// Words of the letters that the writer knows.
fn texts(n: usize) -> Vec<String> {
    let letters: Vec<char> = LETTERS.chars().filter(|c| *c != ' ').collect();
    let text = |i: usize| -> String {
        (0..3 + i % 7).map(|t| letters[(i * (t + 3) + t * t) % letters.len()]).collect()
    };
    (0..n).map(text).collect()
}

fn sentences(n: usize) -> Vec<String> {
    let words = ["ann", "lee", "paid", "acme", "on", "may", "9", "bob"];
    let sentence = |i: usize| {
        let tokens: Vec<&str> =
            (0..4 + i % 6).map(|t| words[(i * (t + 1) + 3 * t) % words.len()]).collect();
        json!({ "tokens": tokens }).to_string()
    };
    (0..n).map(sentence).collect()
}

/// Sentences in which no word occurs twice. If all words were the same, networks that hardly see
/// positions would tag them all alike, whatever moves.
fn of_different_words(n: usize) -> Vec<String> {
    let words = ["ann", "lee", "paid", "acme", "on", "may", "9", "bob"];
    let sentence = |i: usize| {
        let mut tokens = words;
        tokens.rotate_left(i % words.len());
        json!({ "tokens": tokens[..4 + i % 5] }).to_string()
    };
    (0..n).map(sentence).collect()
}

#[test]
fn writers_write_what_the_rules_allow() {
    let (_dir, network) = folder(write_writer, 5);
    assert_eq!(network.name(), "writer");
    let texts = texts(24);
    let own = records(&network, PAIRS, Engine::network(), &texts);
    let is_pairs = |text: &str| {
        let letters: Vec<char> = text.chars().collect();
        letters
            .chunks(2)
            .all(|pair| matches!(pair, [a, b] if "ab".contains(*a) && "cde ".contains(*b)))
    };
    let failures = own.iter().filter(|record| record["g_before"] != json!(0.0)).count();
    assert!(12 < failures, "{failures} of 24 fail");
    for (record, text) in own.iter().zip(&texts) {
        let output = record["output"].as_str().unwrap();
        assert_eq!(record["g_after"] == json!(0.0), is_pairs(output), "{text}: {record}");
        assert!(output.chars().count() < 13 && output.chars().all(|c| LETTERS.contains(c)));
    }
    for engine in [Engine::gbi(), engine("masked"), Engine::auto()] {
        for record in records(&network, PAIRS, engine.clone(), &texts) {
            assert_eq!(record["status"], "satisfied", "{engine}: {record}");
            assert!(is_pairs(record["output"].as_str().unwrap()), "{record}");
        }
    }
    for name in ["beam", "exact", "sample"] {
        for record in records(&network, PAIRS, engine(name), &texts) {
            let is_satisfied = record["status"] == "satisfied";
            assert_eq!(is_satisfied, is_pairs(record["output"].as_str().unwrap()), "{record}");
        }
    }
}

#[test]
fn labels_obey_rules_over_words() {
    let (_dir, network) = folder(write_labels, 3);
    assert_eq!(network.name(), "labels");
    assert!(network.vocabulary().names().iter().eq(LABELS));
    let sentences = sentences(24);
    let own = records(&network, AT_MOST, Engine::network(), &sentences);
    let failures = own.iter().filter(|record| record["g_before"] != json!(0.0)).count();
    assert!(6 < failures, "{failures} of 24 fail");
    for record in records(&network, AT_MOST, Engine::gbi(), &sentences) {
        assert_eq!(record["status"], "satisfied", "{record}");
        let tags: Vec<&str> = record["output"].as_str().unwrap().split(' ').collect();
        let tokens = record["tokens"].as_array().unwrap();
        assert_eq!(tags.len(), tokens.len());
        let begun = tags.iter().filter(|tag| tag.starts_with("B-")).count();
        let arguments = record["arguments"].as_array().unwrap();
        assert!(begun == arguments.len() && begun <= 2, "{record}");
        for argument in arguments {
            let at = |end: &str| argument[end].as_u64().unwrap() as usize;
            let words: Vec<&str> =
                tokens[at("start")..at("end")].iter().filter_map(Value::as_str).collect();
            assert_eq!(argument["text"], words.join(" "), "{record}");
        }
    }
}

#[test]
fn text_is_split_into_words_and_words_into_pieces() {
    let (_dir, network) = folder(write_labels, 3);
    let of_text = records(&network, AT_MOST, Engine::network(), &["Ann paid Bob.".to_owned()]);
    assert_eq!(of_text[0]["tokens"], json!(["Ann", "paid", "Bob", "."]));
    let tokens = json!({"tokens": ["Ann", "paid", "Bob", "."]}).to_string();
    let of_tokens = records(&network, AT_MOST, Engine::network(), &[tokens]);
    assert_eq!(of_text[0]["output"], of_tokens[0]["output"]);
    let gold = json!({"input": "a b", "gold": "O X"}).to_string();
    let bad = &records(&network, AT_MOST, Engine::network(), &[gold])[0];
    assert!(bad["error"].as_str().unwrap().contains("\"X\""), "{bad}");
    let long = records(&network, AT_MOST, Engine::network(), &["a ".repeat(63)]);
    assert!(long[0]["error"].as_str().unwrap().contains("at most 64"), "{}", long[0]);
}

#[test]
fn outputs_do_not_depend_on_threads_or_batches() {
    type Job = (fn(&Path, u64), &'static str, Vec<String>);
    let jobs: [Job; 2] = [(write_writer, PAIRS, texts(20)), (write_labels, AT_MOST, sentences(20))];
    for (write, rules, texts) in jobs {
        let (_dir, network) = folder(write, 3);
        let rules = Arc::new(Rules::parse("here", rules, None, network.vocabulary()).unwrap());
        let settings = settings(&network, Engine::gbi());
        let at = |threads: usize, batch: usize| -> Vec<Value> {
            let settings = settings.clone().threads(threads);
            let lines = lines(&texts);
            let answered = lines.chunks(batch).flat_map(|some| {
                network
                    .answer(some.iter().cloned().map(Ok).collect(), Some(&rules), &settings)
                    .unwrap()
            });
            answered.map(|record| record.to_json(false)).collect()
        };
        let alone = at(1, 1);
        assert_eq!(at(2, 20), alone);
        assert_eq!(at(1, 7), alone);
    }
}

#[test]
fn comparisons_know_texts_that_are_right() {
    let (_dir, network) = folder(write_writer, 5);
    let inputs = texts(12);
    let own = records(&network, PAIRS, Engine::network(), &inputs);
    let lines = inputs
        .iter()
        .zip(&own)
        .map(|(text, record)| json!({"input": text, "output": record["output"]}).to_string());
    let lines = self::lines(&lines.collect::<Vec<_>>());
    let rules = Arc::new(Rules::parse("here", PAIRS, None, network.vocabulary()).unwrap());
    let settings = settings(&network, Engine::gbi());
    let of = cajole_infer::compare::Options::new("pairs", network.engines()).shown(3);
    let (report, bad) =
        network.compare(Some(&rules), &settings, &of, &lines, &cajole_tasks::Silent).unwrap();
    assert!(bad.is_empty());
    assert_eq!(report.rows[0].figure(cajole_report::Figure::WholeExact), 100.0);
    assert_eq!(network.measure(), "characters");
    assert_eq!(report.rows.len(), 1 + network.engines().len());
}

/// The error of a folder after a change.
fn refused(write: fn(&Path, u64), change: impl FnOnce(&Path)) -> String {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 1);
    change(dir.path());
    open(dir.path()).err().expect("it does not open")
}

fn edit(folder: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(name);
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

#[test]
fn folders_that_do_not_fit_together_are_refused() {
    let missing = |folder: &Path| fs::remove_file(folder.join("tokenizer.json")).unwrap();
    for write in [write_writer as fn(&Path, u64), write_labels] {
        let error = refused(write, missing);
        assert!(error.contains("tokenizer.json") && error.contains("save_pretrained"), "{error}");
    }
    // The tokenizer of the other network has more pieces than this one has symbols.
    let other = |folder: &Path| {
        let dir = tempfile::tempdir().unwrap();
        write_labels(dir.path(), 1);
        fs::copy(dir.path().join("tokenizer.json"), folder.join("tokenizer.json")).unwrap();
    };
    let error = refused(write_writer, other);
    assert!(error.contains("tokenizer.json") && error.contains("10 symbols"), "{error}");
    let error = refused(write_labels, |folder| {
        edit(folder, "config.json", |config| config["model_type"] = json!("gpt2"));
    });
    let names = ["\"gpt2\"", "bert", "distilbert", "marian", "t5"];
    assert!(names.iter().all(|name| error.contains(name)), "{error}");
    let error = refused(write_writer, |folder| {
        edit(folder, "generation_config.json", |own| own["forced_bos_token_id"] = json!(10));
    });
    assert!(error.contains("generation_config.json") && error.contains("10"), "{error}");
    let error = refused(write_writer, |folder| {
        fs::write(folder.join("tokenizer.json"), "{}").unwrap();
    });
    assert!(error.contains("tokenizer.json"), "{error}");
}

#[test]
fn labels_need_not_be_tags() {
    let dir = tempfile::tempdir().unwrap();
    write_labels(dir.path(), 3);
    let names = ["ADJ", "NOUN", "VERB", "DET", "X"];
    edit(dir.path(), "config.json", |config| {
        let labels = names.iter().enumerate().map(|(i, name)| (i.to_string(), json!(name)));
        config["id2label"] = labels.collect();
    });
    let network = open(dir.path()).unwrap();
    let rules = "arithmetic = 'count(out, \"NOUN\") = 2'\n";
    for record in records(&network, rules, Engine::gbi(), &of_different_words(16)) {
        assert_eq!(record["status"], json!(Status::Satisfied), "{record}");
        let output = record["output"].as_str().unwrap();
        assert_eq!(output.split(' ').filter(|tag| *tag == "NOUN").count(), 2);
        assert!(output.split(' ').all(|tag| names.contains(&tag)), "{record}");
    }
}

/// A writer after a change of its settings of generation.
fn generating(settings: &Value) -> (TempDir, Opened) {
    let dir = tempfile::tempdir().unwrap();
    write_writer(dir.path(), 5);
    edit(dir.path(), "generation_config.json", |own| {
        own["eos_token_id"] = json!(2);
        let own = own.as_object_mut().unwrap();
        own.extend(settings.as_object().unwrap().clone());
    });
    let network = open(dir.path()).unwrap();
    (dir, network)
}

fn outputs(network: &Opened, texts: &[String]) -> Vec<String> {
    let records = records(network, PAIRS, Engine::network(), texts);
    records.iter().map(|record| record["output"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn settings_of_generation_are_obeyed() {
    type Check = fn(&[String], &[String]) -> bool;
    let distinct: Check = |outputs, _| {
        outputs.iter().all(|y| {
            let mut letters: Vec<char> = y.chars().collect();
            letters.sort_unstable();
            letters.windows(2).all(|pair| pair[0] != pair[1])
        })
    };
    let shorter: Check = |outputs, _| outputs.iter().all(|y| y.len() <= 2);
    let longer: Check = |outputs, _| outputs.iter().all(|y| 8 <= y.len());
    let ends: Check = |outputs, own| {
        let cut = own.iter().map(|y| y.split('a').next().unwrap_or_default());
        outputs.iter().zip(cut).all(|(y, own)| y == own)
    };
    let without: Check = |outputs, _| outputs.iter().all(|y| !y.contains('b'));
    let not_first: Check = |outputs, _| outputs.iter().all(|y| !y.starts_with('b'));
    let cases: [(Value, Check); 7] = [
        (json!({"max_new_tokens": 3}), shorter),
        (json!({"no_repeat_ngram_size": 1}), distinct),
        // Symbol 4 is an "a".
        (json!({"eos_token_id": [2, 4]}), ends),
        (json!({"eos_token_id": [2, 4], "min_new_tokens": 9}), longer),
        (json!({"eos_token_id": [2, 4], "min_length": 10}), longer),
        (json!({"suppress_tokens": [3, 5]}), without),
        (json!({"begin_suppress_tokens": [5]}), not_first),
    ];
    let texts = texts(12);
    let own = outputs(&generating(&json!({})).1, &texts);
    let none: Vec<String> = Vec::new();
    assert!(cases[..2].iter().all(|(_, check)| !check(&own, &none)), "{own:?}");
    for (settings, check) in cases {
        let (_dir, network) = generating(&settings);
        let got = outputs(&network, &texts);
        assert!(check(&got, &own), "{settings}: {got:?}, and without {own:?}");
        assert!(network.remarks().is_empty(), "{:?}", network.remarks());
    }
    let (_dir, network) = generating(&json!({"repetition_penalty": 50.0}));
    assert_ne!(outputs(&network, &texts), own);
    let (_dir, network) = generating(&json!({"num_beams": 4, "early_stopping": "never"}));
    assert_eq!(network.beam().width, 4);
    assert_ne!(outputs(&network, &texts), own);
}

#[test]
fn settings_that_are_not_obeyed_are_named() {
    let settings = json!({
        "encoder_no_repeat_ngram_size": 2, "guidance_scale": 1.5, "do_sample": true, "top_k": 3,
        "temperature": 0.5, "diversity_penalty": 0.0, "typical_p": 0.5, "max_length": null,
    });
    let (_dir, network) = generating(&settings);
    let remarks = network.remarks().join("\n");
    for key in
        ["encoder_no_repeat_ngram_size", "guidance_scale", "do_sample", "typical_p", "max_length"]
    {
        assert!(remarks.contains(&format!("{key:?}")), "{key}: {remarks}");
    }
    assert!(
        !remarks.contains("diversity") && remarks.contains("generation_config.json"),
        "{remarks}"
    );
    let sample = network.searches().into_iter().find(|search| search.name() == "sample");
    let Some(Search::Sample { from, .. }) = sample else { panic!("it has samples") };
    assert_eq!((from.top_k, from.temperature), (3, 0.5));
}

#[test]
fn plain_lines_and_fields_are_the_same_text() {
    let (_dir, network) = folder(write_writer, 5);
    for text in [" ab", "  dab", "cab "] {
        let field = json!({"input": text}).to_string();
        let records = records(&network, PAIRS, Engine::network(), &[text.to_owned(), field]);
        assert_eq!(records[0]["output"], records[1]["output"], "{text:?}");
    }
}

#[test]
fn labels_may_have_the_names_that_transformers_gives() {
    let dir = tempfile::tempdir().unwrap();
    write_labels(dir.path(), 3);
    edit(dir.path(), "config.json", |config| {
        config["id2label"] = Value::Null;
        config["num_labels"] = json!(5);
    });
    let network = open(dir.path()).unwrap();
    assert_eq!(network.vocabulary().names()[4], "LABEL_4");
}

#[test]
fn weights_that_overflow_are_failures() {
    let dir = tempfile::tempdir().unwrap();
    write_writer(dir.path(), 5);
    let path = dir.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let start = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    bytes[start..]
        .chunks_exact_mut(4)
        .for_each(|value| value.copy_from_slice(&3e38f32.to_le_bytes()));
    fs::write(path, bytes).unwrap();
    let network = open(dir.path()).unwrap();
    let record = &records(&network, PAIRS, Engine::network(), &texts(1))[0];
    assert_eq!(record["status"], "failed", "{record}");
    assert!(record.to_string().contains("overflow"), "{record}");
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let error = refused(write_writer, |folder| {
        edit(folder, "config.json", |own| {
            own["quantization_config"] = json!({"quant_method": "gptq"});
        });
    });
    assert!(error.contains("quantization_config") && error.contains("gptq"), "{error}");
    let error = refused(write_labels, |folder| {
        fs::write(folder.join("adapter_config.json"), r#"{"peft_type": "LORA"}"#).unwrap();
    });
    assert!(error.contains("LORA") && error.contains("merge"), "{error}");
    let error = refused(write_labels, |folder| {
        fs::remove_file(folder.join("config.json")).unwrap();
    });
    assert!(error.contains("model.safetensors") && error.contains("config.json"), "{error}");
    let error = refused(write_labels, |folder| {
        edit(folder, "config.json", |own| {
            own["architectures"] = json!(["BertForSequenceClassification"]);
        });
    });
    assert!(error.contains("BertForSequenceClassification"), "{error}");
    let error = refused(write_writer, |folder| {
        fs::write(folder.join("generation_config.json"), "[]").unwrap();
    });
    assert!(error.contains("generation_config.json"), "{error}");
}
