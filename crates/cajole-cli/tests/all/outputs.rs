//! Outputs: who may write to them, what ends a run early, and how it resumes.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::check_failed;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn cajole(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

#[track_caller]
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    check_failed(&cajole(folder, args), args, parts);
}

#[track_caller]
fn check_fine(folder: &Path, args: &[&str]) {
    let ran = cajole(folder, args);
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Waits until `is_so`, for two minutes at most: enough for a busy machine.
#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited in vain");
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// Lines, the first of which are fast and the others slow enough to be interrupted.
fn write_lines(at: &Path, n: usize) {
    let lines: String = (0..n).map(|i| format!("{}\n", "azbzaz".repeat(2 + i % 7))).collect();
    fs::write(at.join("in"), lines).unwrap();
}

#[test]
fn an_output_is_never_something_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "azaz\n").unwrap();
    fs::write(at.join("rule.toml"), "pattern = '.*'").unwrap();
    fs::hard_link(at.join("in"), at.join("hard")).unwrap();
    std::os::unix::fs::symlink("in", at.join("soft")).unwrap();
    for out in ["in", "hard", "soft", "./in"] {
        for command in ["infer", "parse", "tag"] {
            let args = [command, "in", "--overwrite", "--out", out];
            check_error(at, &args, &[out, "is the same file as in", "name another output"]);
        }
    }
    let args = ["infer", "in", "--constraint=rule.toml", "--overwrite", "--out=rule.toml"];
    check_error(at, &args, &["rule.toml is the same file as rule.toml"]);
    assert_eq!(fs::read_to_string(at.join("in")).unwrap(), "azaz\n");
}

#[test]
fn a_second_run_on_one_output_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_lines(at, 10);
    // A run that waits for its input holds the output.
    let mut first = command(at, &["infer", "--out", "out"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = first.stdin.take().unwrap();
    stdin.write_all(b"azaz\n").unwrap();
    wait_until(|| at.join("out.run.json").exists());
    for how in ["--overwrite", "--resume"] {
        let args = ["infer", "in", "--out", "out", how];
        check_error(at, &args, &["out is being written by another run"]);
    }
    drop(stdin);
    assert!(first.wait().unwrap().success());
    assert_eq!(fs::read_to_string(at.join("out")).unwrap().lines().count(), 1);
}

#[test]
fn a_finished_checkpoint_is_not_trained_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let train = ["train", "transduction", "--set=training.epochs=1", "--out=net"];
    check_fine(at, &train);
    let weights = || fs::read(at.join("net/model.safetensors")).unwrap();
    let before = weights();
    check_error(at, &[&train[..], &["--seed=2"]].concat(), &["net holds a finished checkpoint"]);
    assert!(weights() == before);
    check_fine(at, &[&train[..], &["--seed=2", "--overwrite"]].concat());
    assert!(weights() != before);
}

#[test]
fn two_runs_do_not_train_in_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let train = ["train", "transduction", "--out=net"];
    let mut first =
        command(at, &train).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| at.join("net/training.json").exists());
    check_error(at, &train, &["net is being written by another run"]);
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn signals_leave_whole_records_and_say_how_to_go_on() {
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        write_lines(at, 1_500);
        let run = ["infer", "in", "--no-times", "--engine=beam", "--out", "out"];
        let mut child = command(at, &run).spawn().unwrap();
        wait_until(|| fs::metadata(at.join("out")).is_ok_and(|meta| 0 < meta.len()));
        signal(&child, name);
        let code_of = child.wait().unwrap().code();
        let said: Vec<String> =
            BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap).collect();
        assert_eq!(code_of, Some(code), "{said:?}");
        let last = said.last().unwrap();
        assert!(last.starts_with("interrupted: out is whole up to here"), "{last}");
        let text = fs::read_to_string(at.join("out")).unwrap();
        assert!(text.ends_with("}\n") && text.lines().count() < 1_500, "whole records only");
        assert!(!text.contains("cancelled"), "what was given up is not answered");
        check_fine(at, &[&run[..], &["--resume"]].concat());
        check_fine(at, &["infer", "in", "--no-times", "--engine=beam", "--out", "whole"]);
        assert!(fs::read(at.join("out")).unwrap() == fs::read(at.join("whole")).unwrap());
    }
}

#[test]
fn a_signal_ends_checkers_and_what_they_started() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_lines(at, 10);
    // Neither it nor its child ends at the end of its input.
    let script = "sleep 1000 & echo $! >> children; sleep 1000\n";
    fs::write(at.join("check.sh"), script).unwrap();
    let rule = "checker = { command = ['sh', 'check.sh'], timeout-ms = 60000 }\n";
    fs::write(at.join("rule.toml"), rule).unwrap();
    let mut run = command(at, &["infer", "in", "--constraint=rule.toml"]).spawn().unwrap();
    // The first is of the trial before any work.
    let children = || fs::read_to_string(at.join("children")).unwrap_or_default();
    wait_until(|| 2 <= children().lines().count() && children().ends_with('\n'));
    let child = children().lines().last().unwrap().to_owned();
    signal(&run, "-INT");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let alive = || {
        let status = fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        status.is_ok_and(|status| !status.contains(") Z "))
    };
    wait_until(|| !alive());
}

#[test]
fn who_resumes_hears_of_bad_lines_before() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "az\nq\naz\n").unwrap();
    let args = ["infer", "in", "--out=out"];
    check_error(at, &args, &["1 line could not be worked on"]);
    let resume = [&args[..], &["--resume"]].concat();
    check_error(at, &resume, &["1 line could not be worked on"]);
    for other in ["az\n", "az\nq\naz\naz\n"] {
        fs::write(at.join("in"), other).unwrap();
        check_error(at, &resume, &["a finished run", "changed since: content of in"]);
    }
    fs::remove_file(at.join("out.run.json")).unwrap();
    check_error(at, &resume, &["out.run.json is missing"]);
}

/// Writes records to a file, cuts it off at several places as a kill would, and resumes.
#[test]
fn parsers_and_taggers_go_on_like_infer() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let lines = "Dogs bark .\nThe dog chased a cat .\n\nMen saw her .\n".repeat(3);
    fs::write(at.join("in"), lines).unwrap();
    for command in ["parse", "tag"] {
        check_fine(at, &[command, "in", "--out=whole.jsonl"]);
        let whole = fs::read(at.join("whole.jsonl")).unwrap();
        assert_eq!(whole.iter().filter(|&&byte| byte == b'\n').count(), 9);
        let json = cajole(at, &[command, "in", "--json"]);
        assert!(json.stdout == whole, "the same records as on standard output");
        let run = [command, "in", "--out=out.jsonl"];
        for cut in [1, whole.len() / 3, whole.len() - 1] {
            check_fine(at, &run);
            fs::write(at.join("out.jsonl"), &whole[..cut]).unwrap();
            check_fine(at, &[&run[..], &["--resume"]].concat());
            assert!(fs::read(at.join("out.jsonl")).unwrap() == whole, "{command} cut at {cut}");
            fs::remove_file(at.join("out.jsonl")).unwrap();
        }
        fs::remove_file(at.join("whole.jsonl")).unwrap();
    }
}

/// Cuts off outputs of the parser and the tagger, and changes what they read.
#[test]
fn parsers_and_taggers_name_what_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (lines, trees) = ("Dogs bark .\n", "(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))\n");
    for command in ["parse", "tag"] {
        fs::write(at.join("in"), lines.repeat(9)).unwrap();
        fs::write(at.join("trees.ptb"), trees.repeat(9)).unwrap();
        let run = [command, "in", "--out=out.jsonl"];
        check_fine(at, &run);
        let whole = fs::read(at.join("out.jsonl")).unwrap();
        fs::write(at.join("out.jsonl"), &whole[..whole.len() / 2]).unwrap();
        let refused = |more: &[&str], what: &str| {
            let args = [&run[..], &["--resume"], more].concat();
            check_error(at, &args, &["out.jsonl is the output of a finished run", what]);
        };
        refused(&["--max-steps=3"], "max");
        refused(&["--width=2"], "width");
        if command == "tag" {
            refused(&["--trees=trees.ptb"], "trees");
            refused(&["--nodes=phrasal"], "rules");
            refused(&["--patience=2"], "patience");
        }
        fs::write(at.join("in"), lines.replace("bark", "purr").repeat(9)).unwrap();
        refused(&[], "content of in");
        let left = fs::read(at.join("out.jsonl")).unwrap();
        assert!(left == whole[..whole.len() / 2], "what is refused stays as it was");
        fs::remove_file(at.join("out.jsonl")).unwrap();
    }
}

#[test]
fn two_runs_do_not_share_an_output_whatever_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "Dogs bark .\n").unwrap();
    for name in ["parse", "tag"] {
        let out = format!("--out={name}.jsonl");
        let mut first = command(at, &[name, &out]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = first.stdin.take().unwrap();
        stdin.write_all(b"Dogs bark .\n").unwrap();
        wait_until(|| at.join(format!("{name}.jsonl.run.json")).exists());
        let second = [name, "in", &out, "--overwrite"];
        check_error(at, &second, &[".jsonl is being written by another run"]);
        drop(stdin);
        assert!(first.wait().unwrap().success());
    }
    let run = ["reproduce", "transduction", "--quick", "--out=report"];
    let mut first = command(at, &run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| at.join("report").exists());
    // The folder exists a moment before its lock.
    wait_until(|| {
        let second = cajole(at, &run);
        String::from_utf8_lossy(&second.stderr).contains("report is being written by another run")
    });
    first.kill().unwrap();
    first.wait().unwrap();
}
