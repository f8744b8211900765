//! evalb's own output for its own samples and for 400 trees of the English Web Treebank, line by
//! line. The files are no part of the repository: without them nothing is compared.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cajole_tasks::parsing::evalb::{Evaluation, Params};

/// The folder of fixtures: beside the data folder, or shared beside the workspace.
fn fixtures() -> Option<PathBuf> {
    let beside = std::env::var_os("CAJOLE_DATA").map(|data| Path::new(&data).join("../fixtures"));
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    let found = beside.into_iter().chain([shared]).find(|folder| folder.join("evalb").is_dir());
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: no fixtures of evalb (see CAJOLE_DATA)");
    }
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn evaluate(folder: &Path, gold: &str, test: &str, params: &str) -> Evaluation {
    let params = Params::parse(&text(&folder.join(params))).unwrap();
    Evaluation::of_files(&folder.join(gold), &folder.join(test), &params).unwrap()
}

#[track_caller]
fn check_lines(ours: &str, theirs: &str) {
    for (i, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(a, b, "line {}", i + 1);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

#[test]
fn its_sample() {
    let Some(folder) = fixtures() else { return };
    let folder = folder.join("evalb/sample");
    let ours = evaluate(&folder, "sample.gld", "sample.tst", "sample.prm");
    check_lines(&ours.to_string(), &text(&folder.join("sample.rsl.regenerated")));
}

#[test]
fn four_hundred_trees() {
    let Some(folder) = fixtures() else { return };
    let folder = folder.join("evalb_oracle");
    let ours = evaluate(&folder, "gold.ptb", "test.ptb", "../evalb/COLLINS.prm");
    check_lines(&ours.to_string(), &text(&folder.join("evalb_COLLINS.out")));
    let messages: Vec<String> = ours.messages().collect();
    check_lines(&messages.join("\n"), &text(&folder.join("evalb_COLLINS.err")));
}

/// These were printed by an older evalb, which always has 0 for the crossing brackets of the
/// totals, and were edited: lines are indented differently. Every other figure is compared.
#[test]
fn misquoted_words() {
    let Some(folder) = fixtures() else { return };
    let folder = folder.join("evalb/bug");
    let ours = evaluate(&folder, "bug.gld", "bug.tst", "../new.prm").to_string();
    let ours: Vec<Vec<&str>> = ours.lines().map(|l| l.split_whitespace().collect()).collect();
    let theirs = text(&folder.join("bug.rsl-new"));
    let theirs: Vec<Vec<&str>> = theirs.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(ours.len(), theirs.len());
    for (i, (mut a, mut b)) in ours.into_iter().zip(theirs).enumerate() {
        if b.first() == Some(&"62.83") {
            assert_eq!((a.remove(5), b.remove(5)), ("36", "0"));
        }
        assert_eq!(a, b, "line {}", i + 1);
    }
}

/// Without quotation marks in the parameters each sentence is an error. The file holds both of
/// evalb's streams, and its totals are broken off; the full stop was not deleted.
#[test]
fn misquoted_words_are_errors_otherwise() {
    let Some(folder) = fixtures() else { return };
    let folder = folder.join("evalb/bug");
    let ours = evaluate(&folder, "bug.gld", "bug.tst", "../sample/sample.prm");
    let theirs = text(&folder.join("bug.rsl-old"));
    let table = ours.to_string();
    let unmatched = |line: &&str| line.contains("unmatch");
    let messages: Vec<String> = ours.messages().collect();
    assert_eq!(messages, theirs.lines().filter(unmatched).collect::<Vec<_>>());
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.ends_with(" 0.00") && !line.contains('='));
        rows.take(5).map(str::to_owned).collect()
    };
    assert_eq!(rows(&table), rows(&theirs));
    let summary = |text: &str| text[text.find("-- All --").unwrap()..].to_owned();
    check_lines(&summary(&table), &summary(&theirs));
}

#[test]
fn collins_is_built_in() {
    let Some(folder) = fixtures() else { return };
    let params = Params::parse(&text(&folder.join("evalb/COLLINS.prm"))).unwrap();
    assert_eq!(params, Params::collins());
}
