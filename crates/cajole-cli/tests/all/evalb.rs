//! `cajole evalb` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::failure::check_failed;

fn evalb(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).arg("evalb").args(args).output().expect("the command starts")
}

/// A folder with a gold and a test file.
fn folder(gold: &str, test: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gold"), gold).unwrap();
    fs::write(folder.path().join("test"), test).unwrap();
    folder
}

/// Runs a command that must fail, and looks for every part in its message.
#[track_caller]
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    check_failed(&evalb(folder, args), args, parts);
}

const GOLD: &str = "(TOP (S (NP (NN dogs)) (VP (VBP run) (ADVP (RB away))) (. .)))\n";

/// Right except for a tag, with other words, blank, and malformed.
const TESTS: &str = "(TOP (S (NP (NNS dogs)) (VP (VBP run) (PRT (RB away))) (. .)))
(TOP (S (NP (NN cats)) (VP (VBP run) (ADVP (RB away))) (. .)))

(TOP (S (NP (NN dogs)
";

#[test]
fn the_table_is_evalbs() {
    let folder = folder(&GOLD.repeat(4), TESTS);
    let output = evalb(folder.path(), &["gold", "test"]);
    assert!(output.status.success());
    // Four brackets, S, NP, VP and ADVP; three words without the full stop; two tags right.
    let want = "  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
============================================================================
   1    4    0  100.00 100.00     4      4    4      0      3     2    66.67
   2    4    1    0.00   0.00     0      0    0      0      0     0     0.00
   3    4    2    0.00   0.00     0      0    0      0      0     0     0.00
   4    4    1    0.00   0.00     0      0    0      0      0     0     0.00
============================================================================
                100.00 100.00      4     4     4      0      3     2    66.67
=== Summary ===
";
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with(want), "{said}");
    assert!(said.contains("\n-- len<=40 --\nNumber of sentence        =      4\n"), "{said}");
    assert!(said.ends_with("Tagging accuracy          =  66.67\n"), "{said}");
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        complaints,
        "2 : Words unmatch (dogs|cats)\n4 : test:4: 3 brackets are not closed\n"
    );
}

#[test]
fn as_json() {
    let folder = folder(&GOLD.repeat(4), TESTS);
    let output = evalb(folder.path(), &["gold", "test", "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = &value["all"];
    assert_eq!(
        (&all["sentences"], &all["errors"], &all["skipped"]),
        (&4.into(), &2.into(), &1.into())
    );
    assert_eq!((&all["matched"], &all["f1"]), (&4.into(), &100.0.into()));
    assert_eq!(value["short"], *all);
    let second = &value["sentences"][1];
    assert_eq!((&second["id"], &second["status"]), (&2.into(), &1.into()));
    assert_eq!(second["reason"], "Words unmatch (dogs|cats)");
}

#[test]
fn parameters_come_from_a_file() {
    let folder = folder(GOLD, TESTS.lines().next().unwrap());
    let at = folder.path();
    fs::write(at.join("own.prm"), "LABELED 1\nDELETE_LABEL TOP\nCUTOFF_LEN 3\n").unwrap();
    let said = evalb(at, &["gold", "test", "--param=own.prm"]).stdout;
    // PRT is not ADVP here, and the full stop is a word.
    let row = "   1    4    0   75.00  75.00     3      4    4      0      4     3    75.00\n";
    let said = String::from_utf8(said).unwrap();
    assert!(
        said.contains(row) && said.contains("-- len<=3 --\nNumber of sentence        =      0")
    );

    fs::write(at.join("own.prm"), "\nCUTOFF_LEN forty\n").unwrap();
    let parts = ["own.prm", "line 2", "CUTOFF_LEN", "\"forty\""];
    check_error(at, &["gold", "test", "--param=own.prm"], &parts);
    check_error(at, &["gold", "test", "--param=no.prm"], &["no.prm", "No such file"]);
}

/// With MAX_ERROR 10, evalb still sums up after eleven errors, and stops at the twelfth before it
/// prints its row.
#[test]
fn the_twelfth_error_is_one_too_many() {
    for (errors, sums_up) in [(11, true), (12, false)] {
        let gold = "(X (Y y) (Z z))\n".repeat(errors);
        let folder = folder(&gold, &"(X (Y y))\n".repeat(errors));
        let output = evalb(folder.path(), &["gold", "test"]);
        assert_eq!(output.status.success(), sums_up);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.contains("=== Summary ==="), sums_up, "{said}");
        assert_eq!(
            said.lines().filter(|line| line.contains("    1    0.00")).count(),
            11,
            "{said}"
        );
    }
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder(&GOLD.repeat(12), &"(X (Y y))\n".repeat(12));
    let at = folder.path();
    check_error(at, &["gold", "nowhere"], &["nowhere", "No such file"]);
    check_error(
        at,
        &["gold", "test"],
        &["12 : Length unmatch (3|1)", "12 errors, and MAX_ERROR is 10: stopped at test:12"],
    );
    fs::write(at.join("few"), GOLD).unwrap();
    check_error(at, &["gold", "few"], &["numbers of lines differ", "12 in gold", "1 in few"]);
    fs::write(at.join("latin"), b"(X a)\n(X \xe9)\n").unwrap();
    check_error(at, &["latin", "few"], &["latin:2", "UTF-8"]);

    fs::write(at.join("long"), "x".repeat(1 << 21)).unwrap();
    check_error(at, &["long", "few"], &["long:1", "a line of more than 1048576 bytes"]);

    fs::write(at.join("empty"), "").unwrap();
    let output = evalb(at, &["empty", "empty"]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Number of sentence        =      0"), "{said}");
    assert!(said.contains("Bracketing FMeasure       =    nan"), "{said}");
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let folder = folder(GOLD, GOLD);
    let marked = |name, text: &str| fs::write(folder.path().join(name), format!("\u{feff}{text}"));
    marked("marked", GOLD).unwrap();
    marked("params", "LABELED 1\n").unwrap();
    let plain = evalb(folder.path(), &["gold", "test"]);
    for args in [["marked", "test"], ["gold", "marked"], ["marked", "marked"]] {
        let output = evalb(folder.path(), &args);
        assert!(output.status.success() && output.stdout == plain.stdout, "{args:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
    let output = evalb(folder.path(), &["gold", "test", "--param=params"]);
    assert!(output.status.success(), "{output:?}");
}
