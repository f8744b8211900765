//! What no line and no flag may demand: each is refused by name, and later lines are answered.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use crate::failure::check_failed;

fn cajole(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cajole"))
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        // A command that refuses its flags does not read.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().unwrap()
    })
}

/// A line that is too long costs its own record; the line after it is answered.
#[track_caller]
fn check_passed_over(args: &[&str], long: &str, good: &str, said: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ran = cajole(folder.path(), args, &format!("{long}\n{good}\n"));
    check_failed(&ran, args, &[":1: ", said, "1 line could not be"]);
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(!out.trim().is_empty(), "{args:?}: the other line is answered: {out:?}");
}

#[test]
fn every_command_passes_over_a_line_of_too_many_tokens() {
    let words = "dogs ".repeat(100_000);
    let tokens = "the line has more than 256 tokens; --max-tokens allows more";
    for args in [&["parse"][..], &["tag"], &["infer", "--model", "parser"]] {
        check_passed_over(args, &words, "Dogs bark .", tokens);
    }
    let letters = "az".repeat(100_000);
    let good = r#"{"input": "azaz", "output": "aaazbaaazb"}"#;
    for args in [&["infer"][..], &["eval", "-"], &["compare", "--engines", "network"]] {
        check_passed_over(args, &letters, good, tokens);
    }
}

#[test]
fn every_command_passes_over_a_line_of_too_many_bytes() {
    let long = "x".repeat((1 << 20) + 1);
    let bytes = "the line is longer than 1048576 bytes; --max-line-bytes allows more";
    for args in [&["parse"][..], &["tag"], &["infer", "--model", "parser"]] {
        check_passed_over(args, &long, "Dogs bark .", bytes);
    }
}

#[test]
fn a_deadline_holds_inside_a_long_pass_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "the dog that saw a man ran ".repeat(140) + "\nDogs bark .\n"; // 980 tokens
    for command in [&["parse"][..], &["tag"], &["infer", "--model", "parser"]] {
        let args = [command, &["--max-tokens=1000", "--deadline-ms=20", "--json"]].concat();
        let ran = cajole(folder.path(), &args, &lines);
        assert!(ran.status.success(), "{args:?}: {ran:?}");
        let out = String::from_utf8_lossy(&ran.stdout);
        assert!(out.contains("\"timed-out\""), "{args:?}: {out}");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains("ran out of time"), "{args:?}: {said}");
    }
}

#[test]
fn flags_allow_more_or_less() {
    let folder = tempfile::tempdir().unwrap();
    let line = "azbz".repeat(75) + "\n"; // 300 symbols
    let network = ["infer", "--engine", "network", "--max-tokens", "300"];
    assert!(cajole(folder.path(), &network, &line).status.success());
    let fewer = ["infer", "--engine", "network", "--max-tokens", "3"];
    check_failed(&cajole(folder.path(), &fewer, "azbz\n"), &fewer, &["more than 3 tokens"]);
    let shorter = ["infer", "--max-line-bytes", "3"];
    check_failed(&cajole(folder.path(), &shorter, "azbz\n"), &shorter, &["longer than 3 bytes"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_lines_is_an_error_and_not_a_wait() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["infer", "parse", "tag"] {
        let args = [command, "/dev/zero"];
        let ran = cajole(folder.path(), &args, "");
        check_failed(&ran, &args, &["/dev/zero", "line 1 does not end within 536870912 bytes"]);
    }
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    let folder = tempfile::tempdir().unwrap();
    for (args, range) in [
        (&["infer", "--threads", "4000"][..], "threads is 4000; it goes from 1 to 512"),
        (&["infer", "--threads", "0"], "threads is 0; it goes from 1 to 512"),
        (&["infer", "--width", "1000000000"], "it goes from 1 to 1024"),
        (&["infer", "--max-steps", "9223372036854775807"], "it goes from 0 to 1000000"),
        (&["infer", "--max-tokens", "1000000000"], "it goes from 1 to 16384"),
        (&["infer", "--set", "width=1000000000"], "1000000000 is not in 1..=1024"),
        (&["infer", "--set", "schedule.step-size=nan"], "NaN is not a finite number"),
        (&["infer", "--set", "schedule.max-steps=9000000000"], "0..=1000000"),
        (
            &["train", "transduction", "--set", "training.batch-size=9223372036854775807"],
            "16777216",
        ),
        (&["train", "transduction", "--set", "training.batch-size=1000000000"], "16777216"),
        (&["train", "transduction", "--set", "training.epochs=9223372036854775807"], "16777216"),
        (&["train", "transduction", "--set", "network.hidden=1000000000"], "16777216"),
        (&["train", "transduction", "--set", "training.step-size=nan"], "finite number above 0"),
        (&["lint", "a.toml", "b.jsonl", "--examples", "9223372036854775807"], "0..=100000"),
    ] {
        check_failed(&cajole(folder.path(), args, ""), args, &[range]);
    }
}

#[test]
fn a_batch_larger_than_the_data_is_all_of_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["train", "transduction", "--out", "net", "--set", "training.epochs=1"];
    let args = [&args[..], &["--set", "training.batch-size=16777216"]].concat();
    let ran = cajole(folder.path(), &args, "");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
