//! How role taggers are trained and measured, as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cajole_experiments::srl::SrlConfig;
use cajole_nn::Decay;
use cajole_tasks::corpora::Source;
use cajole_tasks::srl::{FineTuning, Unlabelled};
use cajole_testing::folders::write_bert;
use serde_json::Value;

use crate::failure::check_failed;
use crate::knife::kill_after;

/// The command in `folder`, without a data folder of the user's.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).env_remove("CAJOLE_DATA").args(args);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that must succeed; returns what it prints.
#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = command(folder, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail, and looks for every part in its message.
#[track_caller]
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    check_failed(&command(folder, args).output().unwrap(), args, parts);
}

/// Settings for two tiny networks on few generated sentences, as `small.toml` in `folder`.
fn write_settings(folder: &Path) -> SrlConfig {
    let mut config: SrlConfig = toml::from_str(SrlConfig::QUICK).unwrap();
    let corpus = config.corpora.get_mut("generated").unwrap();
    corpus.source = Source::Generated { train: 300, dev: 30, test: 40 };
    config.networks.remove(1);
    for network in &mut config.networks {
        (network.hidden, network.layers, network.epochs) = (16, 2, Some(6));
    }
    config.networks[1].share = 50;
    config.networks[1].constraint_loss = Some(Unlabelled { share: 50, weight: 1.0 });
    (config.sizes.embedding, config.sizes.indicator) = (16, 8);
    (config.training.batch_size, config.training.shard_size) = (16, 8);
    config.training.step_size = 1e-2;
    config.tuning.failures = 10;
    config.tuning.step_sizes = vec![1e-1];
    config.tuning.penalties = vec![2.0, f32::INFINITY];
    fs::write(folder.join("small.toml"), toml::to_string(&config).unwrap()).unwrap();
    config
}

const REPORTS: [&str; 3] = ["report.json", "report.md", "report.html"];

/// The rows of a printed report, without the times.
fn rows(printed: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(printed).unwrap();
    let mut rows = report["rows"].as_array().unwrap().clone();
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        for time in ["milliseconds", "viterbi_ms", "repair_cost"] {
            row.remove(time).unwrap();
        }
    }
    rows
}

#[test]
fn a_killed_experiment_goes_on_and_reports_what_it_would_have() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_settings(at);
    let reproduce = ["reproduce", "srl", "--config=small.toml", "--json"];
    let out = |name| [&reproduce[..], &[name]].concat();

    // In training, and while outputs are repaired.
    for kept in ["nets/srl-100/training.safetensors", "measured/srl-100-step-size.json"] {
        kill_after(&mut command(at, &out("--out=killed")), &at.join("killed").join(kept));
        assert!(!at.join("killed/report.json").exists(), "{kept}");
    }
    let resumed = printed(at, &out("--out=killed"));
    let whole = printed(at, &[&out("--out=whole")[..], &["--threads=1"]].concat());
    let (resumed, whole) = (rows(&resumed), rows(&whole));
    assert_eq!(resumed.len(), whole.len());
    resumed.iter().zip(&whole).for_each(|(resumed, whole)| assert_eq!(resumed, whole));

    // No two rows have the same subject.
    let named = |row: &Value| {
        ["net", "method", "constraint", "limit"].map(|name| row[name].to_string()).join(" ")
    };
    let mut names: Vec<String> = whole.iter().map(named).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), whole.len());
    for part in ["letters, noise-free, phrasal", "test, noisy, all", "gbi cautious", "exact MAP"] {
        assert!(names.iter().any(|name| name.contains(part)), "{part} in {names:?}");
    }

    // Saved results are reused, to the last digit of the times.
    let read = |name: &str| fs::read_to_string(at.join("killed").join(name)).unwrap();
    let reports = REPORTS.map(read);
    assert_eq!(rows(&reports[0]), whole);
    assert!(reports[1].contains("| gbi best") && reports[2].contains("<svg"));
    assert!(reports.iter().all(|report| !report.contains("NaN")));
    printed(at, &out("--out=killed"));
    assert_eq!(REPORTS.map(read), reports);
    let others = [&out("--out=killed")[..], &["--seed=5"]].concat();
    check_error(at, &others, &["settings.json", "changed since: seed", "--out"]);
}

#[test]
fn what_is_wrong_with_settings_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let quick = ["\"net77\"", "srl-100, srl-10, srl-10-loss"];
    check_error(at, &["train", "srl", "--quick", "--network=net77"], &quick);
    check_error(at, &["train", "srl", "--network=net77"], &["\"net77\"", "srl-70", "srl-nw"]);
    check_error(at, &["train", "srl", "--out=x"], &["no data folder", "--data", "--quick"]);
    assert!(!at.join("x").exists(), "nothing is left behind");
    for (setting, reason) in [
        ("readings=[]", "at least one"),
        ("noise=[]", "at least one"),
        ("noise=[\"none\"]", "`none`"),
        ("training.batch-size=0", "at least 1"),
        ("sizes.indicator=0", "at least 1"),
        ("sizes.dropout=1.5", "1.5 is not at least 0 and less than 1"),
        ("tuning.failures=0", "at least 1"),
        ("tuning.step-sizes=[nan]", "NaN is not a finite number above 0"),
        ("tuning.penalties=[]", "at least one"),
        ("networks=[]", "at least one"),
        ("limits=[0]", "at least 1"),
        ("rivals.agenda-limit=0", "at least 1"),
        ("rivals.agenda-limits=1", "agenda-limits"),
        ("corpora.generated.reads=\"letters\"", "letters"),
    ] {
        let set = format!("--set={setting}");
        for task in ["train", "reproduce"] {
            let (key, _) = setting.split_once('=').unwrap();
            let key = key.rsplit('.').next().unwrap();
            check_error(at, &[task, "srl", "--quick", &set], &[setting, key, reason]);
        }
    }
    let network = "--set=networks=[{name=\"a\",corpus=\"nowhere\",layers=1,hidden=4,share=100}]";
    let parts = ["network a", "\"nowhere\"", "generated"];
    check_error(at, &["train", "srl", "--quick", network], &parts);
    check_error(at, &["reproduce", "srl", "--quick", network], &parts);

    let mut config = write_settings(at);
    config.networks[1].name = "srl 100".to_owned();
    fs::write(at.join("twice.toml"), toml::to_string(&config).unwrap()).unwrap();
    let parts = ["twice.toml", "two networks", "\"srl 100\""];
    check_error(at, &["reproduce", "srl", "--config=twice.toml", "--out=twice"], &parts);
    assert!(!at.join("twice/nets").exists(), "nothing was trained");
    let text = toml::to_string(&config).unwrap().replace("hidden = 16", "hidden = \"many\"");
    fs::write(at.join("own.toml"), text).unwrap();
    check_error(at, &["train", "srl", "--config=own.toml"], &["own.toml", "hidden", "many"]);
}

#[test]
fn a_tagger_that_was_not_trained_at_all_can_be_loaded() {
    let folder = tempfile::tempdir().unwrap();
    write_settings(folder.path());
    let train = ["train", "srl", "--config=small.toml", "--out=net", "--json"];
    let none =
        "--set=networks=[{name=\"a\",corpus=\"generated\",layers=1,hidden=4,share=1,epochs=0}]";
    let card = printed(folder.path(), &[&train[..], &[none]].concat());
    let card: Value = serde_json::from_str(&card).unwrap();
    assert!(card["dev-f1"].is_number(), "{card}");
    fs::write(folder.path().join("one"), "Dogs bark .\n").unwrap();
    printed(folder.path(), &["tag", "--model=net", "one"]);
}

/// An encoder becomes a tagger that all commands know.
#[test]
fn an_encoder_is_trained_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("bert")).unwrap();
    write_bert(&at.join("bert"), 1, 1000);
    let mut config = write_settings(at);
    let mut training = config.training.clone();
    (training.epochs, training.step_size) = (2, 5e-3);
    training.decay = Decay::WarmUp { share: 0.2 };
    let tuning = FineTuning { training, layer_factor: 0.9, top_factor: 2.0, nudges: Vec::new() };
    let mut encoder = config.networks[0].clone();
    (encoder.name, encoder.epochs, encoder.encoder) = ("tiny".to_owned(), None, Some(tuning));
    encoder.domains = false;
    config.networks.push(encoder);
    (config.studies, config.collapse) = (Vec::new(), None);
    fs::write(at.join("with.toml"), toml::to_string(&config).unwrap()).unwrap();

    let train = ["train", "srl", "--config=with.toml"];
    let with = |rest: &[&'static str]| [&train[..], rest].concat();
    let card = printed(at, &with(&["--encoder=bert", "--out=nets/tiny", "--json"]));
    let card: Value = serde_json::from_str(&card).unwrap();
    assert_eq!((&card["name"], &card["epochs"]), (&Value::from("tiny"), &Value::from(2)));
    fs::remove_dir_all(at.join("bert")).unwrap();
    fs::write(at.join("one"), "Dogs bark .\n").unwrap();
    printed(at, &["tag", "--model=nets/tiny", "one"]);
    let tree = "(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))";
    let line = serde_json::json!({"tree": tree, "predicates": [1]});
    fs::write(at.join("lines"), format!("{line}\n")).unwrap();
    let infer = printed(at, &["infer", "--model=nets/tiny", "--engine=auto", "lines"]);
    let record: Value = serde_json::from_str(infer.lines().next().unwrap()).unwrap();
    assert_eq!(record["answers"][0]["status"], "satisfied", "{record}");
    let long = vec!["a"; 999];
    let long = serde_json::json!({"tokens": long, "predicates": [0]});
    fs::write(at.join("long"), format!("{long}\n")).unwrap();
    let tag = ["tag", "--model=nets/tiny", "--max-tokens=2000", "--trees=none", "long"];
    check_error(at, &tag, &["1001 pieces", "at most 1000"]);
    let reproduce = ["reproduce", "srl", "--config=with.toml", "--nets=nets", "--json"];
    assert!(rows(&printed(at, &reproduce)).iter().all(|row| row["net"] == "tiny"));

    check_error(at, &with(&["--network=tiny", "--out=x"]), &["tiny", "--encoder FOLDER"]);
    check_error(at, &with(&["--encoder=bert", "--out=x"]), &["bert/config.json"]);
    check_error(at, &["train", "parsing", "--quick", "--encoder=bert"], &["srl only"]);
    check_error(at, &["train", "srl", "--quick", "--encoder=bert"], &["no network", "encoder"]);
}

#[test]
fn bad_sentences_are_named_and_the_others_tagged() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let good = "x 0 0 Dogs NNS (TOP(S(NP*) - - - - * (ARG0*) -\n\
                x 0 1 bark VBP (VP*))) bark 01 - - * (V*) -\n";
    // Each takes two lines, with a blank line between two.
    let bad = [
        (good.replace("(VP*)))", "(VP*))"), "1 brackets still open"),
        (good.replace("(TOP", "TOP"), "TOP(S(NP*)"),
        (good.replace("(V*)", "(V*) *"), "14 columns, where the first row of the sentence has 13"),
        (
            good.replace("(ARG0*) ", "").replace("(V*) ", ""),
            "0 columns of arguments for 1 predicates",
        ),
        (good.replace("(ARG0*)", "(ARG0*"), "within another, \"ARG0\""),
        (good.replace("(ARG0*)", "*)"), "closes an argument that was not opened"),
    ];
    let sentences = bad.iter().map(|(text, _)| text.as_str());
    let sentences: Vec<&str> = [good].into_iter().chain(sentences).chain([good]).collect();
    fs::write(at.join("some.gold_conll"), sentences.join("\n")).unwrap();
    check(at, "some.gold_conll", 3, bad.iter().map(|(_, reason)| *reason));

    let good = concat!(
        r#"{"tokens": ["Dogs", "bark"], "pos": ["NNS", "VBP"], "#,
        r#""tree": "(S (NP (NNS Dogs)) (VP (VBP bark)))", "#,
        r#""srl": [{"p": 1, "lemma": "bark", "roleset": "bark.01", "bio": "B-ARG0 B-V"}]}"#
    );
    let bad = [
        (good.replace("B-ARG0", "I-ARG0"), "word 0 has the tag \"I-ARG0\""),
        (good.replace("B-ARG0", "X-ARG0"), "neither O nor B- or I-"),
        (good.replace("B-ARG0 ", ""), "1 tags for 2 words"),
        (good.replace("\"p\": 1", "\"p\": 5"), "word 5, counted from 0, of only 2"),
        (good.replace("bark)))", "bark)"), "never closed"),
        (good.replace("\"Dogs\"", "\"Do\\ngs\""), "\"Do\\ngs\", which is no word"),
    ];
    let sentences = bad.iter().map(|(text, _)| text.as_str());
    let sentences: Vec<&str> = [good].into_iter().chain(sentences).chain([good]).collect();
    fs::write(at.join("some.jsonl"), sentences.join("\n")).unwrap();
    check(at, "some.jsonl", 1, bad.iter().map(|(_, reason)| *reason));
}

/// Tags a file whose sentences, of `lines` lines each, are bad for these reasons, except the first
/// and the last.
#[track_caller]
fn check<'r>(folder: &Path, file: &str, lines: usize, reasons: impl Iterator<Item = &'r str>) {
    let output = command(folder, &["tag", file]).output().unwrap();
    let (said, text) = (said(&output), String::from_utf8(output.stdout).unwrap());
    assert!(!output.status.success() && !said.contains("panicked"), "{said}");
    assert_eq!(text.split_terminator("\n\n").count(), 2, "{text}");
    let mut n = 0;
    for (i, reason) in reasons.enumerate() {
        let own = (i + 1) * lines + 1..(i + 2) * lines + 1;
        let names = |line: usize| said.contains(&format!("{file}:{line}: "));
        assert!(own.clone().any(names), "none of {own:?} in {said}");
        assert!(said.contains(reason), "{reason:?} in {said}");
        n += 1;
    }
    assert!(said.contains(&format!("{n} lines could not be tagged")), "{said}");
}
