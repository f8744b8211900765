//! `cajole import` as a user runs it.

#[cfg(feature = "import")]
use std::fs;
use std::path::Path;
#[cfg(feature = "import")]
use std::path::PathBuf;
use std::process::{Command, Output};

#[cfg(feature = "import")]
use cajole_testing::outside;
#[cfg(feature = "import")]
use serde_json::Value;

use crate::failure::check_failed;

#[cfg(feature = "import")]
/// Some tensors, as PyTorch writes them.
const TENSORS: &[u8] = include_bytes!("../data/zip.pt");

fn import(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).arg("import").args(args).output().expect("the command starts")
}

/// Runs a command that must fail, and looks for every part in its message.
#[track_caller]
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    check_failed(&import(folder, args), args, parts);
    assert!(!folder.join("out").exists(), "nothing is left behind");
}

#[cfg(feature = "import")]
/// A file among the fixtures.
fn fixture(name: &str) -> Option<PathBuf> {
    outside::find(&format!("../fixtures/{name}"))
}

#[cfg(feature = "import")]
#[test]
fn an_archive_becomes_a_checkpoint() {
    let Some(archive) = fixture("allennlp_srl/serialization/model.tar.gz") else { return };
    let archive = archive.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = import(folder.path(), &["allennlp", archive, "--out", "srl"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "srl: 1 layer of 10 units; 164 words, 27 tags.\n");
    let srl = folder.path().join("srl");
    let card: Value = serde_json::from_slice(&fs::read(srl.join("config.json")).unwrap()).unwrap();
    assert_eq!(card["imported"]["archive"], "model.tar.gz");
    assert_eq!(card["imported"]["space"], "probability");
    for file in ["model.safetensors", "vocab.words.txt", "vocab.tags.txt", "README.md"] {
        assert!(srl.join(file).exists(), "{file}");
    }
    let again = ["allennlp", archive, "--out", "srl"];
    check_error(
        folder.path(),
        &again,
        &["srl/model.safetensors exists, and would be replaced: --overwrite"],
    );
    let json = import(folder.path(), &["allennlp", archive, "--out", "other", "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap(), card);
}

#[cfg(feature = "import")]
#[test]
fn archives_of_other_networks_and_damaged_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |archive: &Path, parts: &[&str]| {
        let archive = archive.to_str().unwrap();
        check_error(folder.path(), &["allennlp", archive, "--out=out"], parts);
    };
    fails(Path::new("absent.tar.gz"), &["cannot import absent.tar.gz", "No such file"]);
    if let Some(archive) = fixture("allennlp_srl/serialization/model.tar.gz") {
        let bytes = fs::read(archive).unwrap();
        let cut = folder.path().join("cut.tar.gz");
        fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
        fails(&cut, &["cut.tar.gz is damaged or of another format"]);
    }
    let name = "allennlp_simple_tagger_with_elmo/serialization/model.tar.gz";
    if let Some(archive) = fixture(name) {
        fails(&archive, &["model has type \"simple_tagger\"; known here: srl"]);
    }

    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    fails(&run, &["run has no \"weights.th\""]);
    fs::write(run.join("best.th"), TENSORS).unwrap();
    fails(&run, &["run has no \"config.json\""]);
    fs::write(run.join("config.json"), "local size = 3;\n{}").unwrap();
    fails(&run, &["config.json is damaged", "line 1 column 1", "Jsonnet"]);
    fs::write(run.join("config.json"), r#"{ "model": { "type": "crf_tagger" } }"#).unwrap();
    fails(&run, &["config.json: model has type \"crf_tagger\""]);
}

#[test]
fn elmo_needs_both_files() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["allennlp", "a.tar.gz", "--out=out", "--options=options.json"];
    check_error(folder.path(), &args, &["--weights <FILE>"]);
    let help = import(folder.path(), &["allennlp", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout);
    assert!(help.contains("--options options.json --weights weights.hdf5"), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

#[cfg(not(feature = "import"))]
#[test]
fn a_build_without_readers_says_how_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let how = "cargo build --release --features import";
    check_error(folder.path(), &["allennlp", "a.tar.gz", "--out=out"], &["a.tar.gz", how]);
    let torch = ["torch", "a.pth", "--mapping=a.toml", "--out=out"];
    check_error(folder.path(), &torch, &["cannot import a.pth", "PyTorch", how]);
}
