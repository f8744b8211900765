//! `cajole srl-eval` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::failure::check_failed;

fn srl_eval(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).arg("srl-eval").args(args).output().expect("the command starts")
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
    check_failed(&srl_eval(folder, args), args, parts);
}

const GOLD: &str = "-  (ARG1*)   *
-  (R-ARG1*) *
be (V*)      *
-  (C-ARG1*) (ARG0*)
go *         (V*)

-
";

/// A continuation is missing, so what it continues is wrong; and one lemma differs.
const TEST: &str = "-    (ARG1*)   *
-    (R-ARG1*) *
be   (V*)      *
-    *         (ARG0*)
come *         (V*)

-
";

#[test]
fn the_table_is_srl_evals() {
    let folder = folder(GOLD, TEST);
    let output = srl_eval(folder.path(), &["gold", "test"]);
    assert!(output.status.success());
    let want = "Number of Sentences    :           2
Number of Propositions :           2
Percentage of perfect props :   0.00

              corr.  excess  missed    prec.    rec.      F1
------------------------------------------------------------
   Overall        1       1       2    50.00   33.33   40.00
----------
      ARG0        0       0       1     0.00    0.00    0.00
      ARG1        0       1       1     0.00    0.00    0.00
    R-ARG1        1       0       0   100.00  100.00  100.00
------------------------------------------------------------
         V        1       0       1   100.00   50.00   66.67
------------------------------------------------------------
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), want);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("sentence 1, word 4: the predicate is \"go\", not \"come\""), "{said}");
}

#[test]
fn as_json() {
    let folder = folder(GOLD, TEST);
    let output = srl_eval(folder.path(), &["gold", "test", "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["propositions"], &value["perfect"]), (&2.into(), &0.into()));
    assert_eq!(value["overall"]["precision"], 50.0);
    assert_eq!(value["roles"]["V"]["missed"], 1);
    assert_eq!(value["mismatches"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder(GOLD, "-\n\n-\n");
    let at = folder.path();
    check_error(at, &["gold", "nowhere"], &["nowhere", "No such file"]);
    check_error(
        at,
        &["gold", "test"],
        &["lengths of sentence 1 differ", "5 rows from gold:1", "1 rows from test:1"],
    );
    fs::write(at.join("few"), GOLD.split("\n\n").next().unwrap()).unwrap();
    check_error(at, &["gold", "few"], &["numbers of sentences differ", "2 in gold", "1 in few"]);
    fs::write(at.join("odd"), GOLD.replace("(R-ARG1*)", "(R-ARG1*")).unwrap();
    check_error(at, &["gold", "odd"], &["odd:2: ", "\"R-ARG1\"", "is not closed"]);
    fs::write(at.join("latin"), b"-\n\xe9\n").unwrap();
    check_error(at, &["latin", "few"], &["latin:2: ", "UTF-8"]);
}

#[test]
fn help_shows_the_format() {
    let output = srl_eval(Path::new("."), &["--help"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("know  (V*)"), "{said}");
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let folder = folder(GOLD, TEST);
    fs::write(folder.path().join("marked"), format!("\u{feff}{GOLD}")).unwrap();
    let plain = srl_eval(folder.path(), &["gold", "test"]);
    let marked = srl_eval(folder.path(), &["marked", "test"]);
    assert!(marked.status.success() && marked.stdout == plain.stdout, "{marked:?}");
    assert!(marked.stderr == plain.stderr, "{marked:?}");
}
