//! `cajole infer` as a user runs it.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::failure::check_failed;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).args(["--threads=2", "infer", "--no-times"]).args(args);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that must succeed; returns what it prints.
#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> Vec<u8> {
    let output = command(folder, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    output.stdout
}

/// Runs a command with this on its standard input.
fn fed(mut command: Command, input: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    })
}

/// Runs a command that must fail, and looks for every part in its message.
#[track_caller]
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    let output = command(folder, args).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{args:?} should fail: {}", said(&output));
    check_failed(&output, args, parts);
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

fn records(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Lines with an identifier, some blank, some too long for the network to get right.
fn lines(n: usize) -> String {
    let line = |i: usize| match i % 16 {
        15 => "\n".to_owned(), // the last line of a batch
        7 => format!("{{\"id\": {i}, \"input\": \"{}\"}}\n", "azbz".repeat(6 + i / 16 % 4)),
        k => format!("{{\"id\": {i}, \"input\": \"{}\"}}\n", "azbz".repeat(1 + k % 2)),
    };
    (0..n).map(line).collect()
}

#[test]
fn lines_come_from_anywhere_and_records_go_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // More than any buffer holds.
    let text = lines(6000);
    assert!(1 << 17 < text.len());
    fs::write(at.join("in.jsonl"), &text).unwrap();
    fs::write(at.join("packed"), gzipped(text.as_bytes())).unwrap();
    let whole = printed(at, &["in.jsonl", "--engine=masked"]);
    let masked = ["--engine=masked"];
    assert!(printed(at, &["packed", "--engine=masked"]) == whole);
    assert!(fed(command(at, &masked), text.as_bytes()).stdout == whole);
    assert!(fed(command(at, &masked), &gzipped(text.as_bytes())).stdout == whole);
    // A pipe with a name, such as a shell's `<(…)`, can be read only once.
    let named = fed(command(at, &["/dev/stdin", "--engine=masked"]), text.as_bytes());
    assert!(named.stdout == whole, "{}", said(&named));
    for out in ["out.jsonl", "out.jsonl.gz"] {
        let told = printed(at, &["in.jsonl", "--engine=masked", "--out", out]);
        assert!(String::from_utf8(told).unwrap().contains(out));
    }
    assert!(fs::read(at.join("out.jsonl")).unwrap() == whole);
    assert!(unzipped(&fs::read(at.join("out.jsonl.gz")).unwrap()) == whole);

    let records = records(&whole);
    let asked: Vec<(usize, &str)> =
        text.lines().enumerate().filter(|(_, line)| !line.is_empty()).collect();
    assert_eq!(records.len(), asked.len());
    for (record, (i, line)) in records.iter().zip(asked) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&record["line"], &record["id"]), (&json!(i + 1), &line["id"]));
        let count = |value: &Value| value.as_str().unwrap().matches('a').count();
        assert_eq!(record["status"], "satisfied");
        assert_eq!(count(&record["output"]), 3 * count(&line["input"]), "{record}");
    }
}

#[test]
fn bad_lines_are_told_and_make_the_command_fail_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "az\n{\"input\": 3}\nq\nbz\n").unwrap();
    let output = command(at, &["in"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let of = |key: &str| -> Vec<Value> {
        records(&output.stdout).iter().map(|record| record[key].clone()).collect()
    };
    assert_eq!(of("line"), [1, 2, 3, 4].map(Value::from));
    assert_eq!(of("status"), ["satisfied", "bad-line", "bad-line", "satisfied"]);
    let said = said(&output);
    for part in ["in:2: ", "in:3: ", "\"q\"", "2 lines could not be worked on"] {
        assert!(said.contains(part), "{said}");
    }
    check_error(at, &["in", "--strict"], &["in:2: ", "not 3"]);
    let summary = command(at, &["in", "--out=out", "--json"]).output().unwrap();
    let summary: Value = serde_json::from_slice(&summary.stdout).unwrap();
    assert_eq!((&summary["lines"], &summary["bad_lines"]), (&json!(4), &json!(2)));
}

#[test]
fn the_summary_counts_what_is_in_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), lines(300)).unwrap();
    let args = ["in", "--out=out", "--json", "--engine=beam"];
    let summary: Value = serde_json::from_slice(&printed(at, &args)).unwrap();
    let records = records(&fs::read(at.join("out")).unwrap());
    let n = |holds: &dyn Fn(&Value) -> bool| records.iter().filter(|r| holds(r)).count();
    let is_failure = |r: &Value| r["g_before"] != json!(0.0);
    assert_eq!(summary["lines"], 300);
    assert_eq!(summary["inputs"], records.len());
    assert_eq!(summary["failures"], n(&is_failure));
    assert!(0 < n(&is_failure), "{summary}");
    assert_eq!(summary["converted"], n(&|r| is_failure(r) && r["status"] == "satisfied"));
    assert_eq!((&summary["timed_out"], &summary["bad_lines"]), (&json!(0), &json!(0)));
    let late = ["in", "--out=late", "--json", "--deadline-ms=0"];
    let summary: Value = serde_json::from_slice(&printed(at, &late)).unwrap();
    let records = self::records(&fs::read(at.join("late")).unwrap());
    let timed_out = records.iter().filter(|r| r["status"] == "timed-out").count();
    assert!(0 < timed_out, "{summary}");
    assert_eq!(summary["timed_out"], timed_out);
}

#[test]
fn an_impatient_run_lets_outputs_be() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("in"), lines(300)).unwrap();
    let with = |more: &[&str]| records(&printed(dir.path(), &[&["in"], more].concat()));
    let own = with(&["--engine=network"]);
    let failures = own.iter().filter(|record| record["status"] == "unchanged").count();
    assert!(0 < failures, "some need a repair");
    for (own, let_be) in own.iter().zip(with(&["--patience=0"])) {
        assert_eq!((&own["output"], &own["status"]), (&let_be["output"], &let_be["status"]));
    }
    let most = |records: Vec<Value>| records.iter().filter_map(|r| r["steps"].as_u64()).max();
    // Towards each candidate there is a descent of its own.
    let once = most(with(&["--patience=1"]));
    assert!(once <= Some(2) && once < most(with(&[])), "{once:?}");
}

#[test]
fn an_output_that_is_there_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "az\nbz\n").unwrap();
    fs::write(at.join("rule.toml"), "pattern = '.*'").unwrap();
    printed(at, &["in", "--out=out"]);
    let kept = || fs::read(at.join("out")).unwrap();
    let before = kept();
    check_error(at, &["in", "--out=out"], &["out exists", "--resume", "--overwrite"]);
    let overwrite = ["--out=out", "--overwrite"];
    for (args, parts) in [
        (&["nowhere"][..], &["nowhere", "No such file"][..]),
        (&["in", "--constraint=no.toml"], &["no.toml", "No such file"]),
        (&["in", "--model=cook"], &["cook", "transducer"]),
        (&["in", "--set=moves=[\"deco\"]"], &["\"deco\""]),
        (&["in", "--set=schedule.step=1"], &["schedule.step"]),
        (&["out"], &["is the same file as out"]),
    ] {
        check_error(at, &[args, &overwrite].concat(), parts);
        assert!(kept() == before, "{args:?}");
    }
    printed(at, &["in", "--out=out", "--overwrite", "--constraint=rule.toml", "--engine=beam"]);
    assert_eq!(records(&kept()).len(), 2);
    check_error(at, &["--out=out", "--resume"], &["standard input", "--resume needs a file"]);
    fs::write(at.join("other"), "my notes\n").unwrap();
    check_error(at, &["in", "--out=other", "--resume"], &["other", "other.run.json is missing"]);
    assert_eq!(fs::read_to_string(at.join("other")).unwrap(), "my notes\n");
}

#[test]
fn an_unfinished_run_is_gone_on_with_by_the_same_settings_only() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), "az\nbz\nazaz\n".repeat(40) + "q\n").unwrap();
    fs::copy(at.join("in"), at.join("as-in")).unwrap();
    fs::write(at.join("rule.toml"), "pattern = '.*'").unwrap();
    check_error(at, &["in", "--out=out", "--strict"], &["in:121: "]);
    let before = fs::read(at.join("out")).unwrap();
    assert_eq!(records(&before).len(), 120, "the whole lot before that of the bad line");
    for (args, what) in [
        (&["in", "--engine=beam"][..], "engine"),
        (&["in", "--constraint=rule.toml"], "rules"),
        (&["in", "--set=schedule.step-size=0.5"], "settings of gbi"),
        (&["in", "--preset=best"], "settings of gbi"),
        (&["in", "--explain"], "trace"),
        (&["in", "--width=2"], "width"),
        (&["in", "--model=expressions"], "model"),
        (&["as-in"], "input"),
    ] {
        let args = [args, &["--out=out", "--resume"]].concat();
        check_error(at, &args, &["out is the output of an unfinished run", "changed", what]);
        assert!(fs::read(at.join("out")).unwrap() == before, "{args:?}");
    }
    let output = command(at, &["in", "--out=out", "--resume", "--json"]).output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&summary["resumed_after_line"], &summary["lines"], &summary["bad_lines"]),
        (&json!(120), &json!(121), &json!(1))
    );
    assert_eq!(records(&fs::read(at.join("out")).unwrap()).len(), 121);
}

/// Leaves an unfinished run behind, changes one file that it read, and resumes it.
#[test]
fn nothing_that_a_run_reads_may_change_before_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let train = ["train", "transduction", "--set=training.epochs=1", "--out=net"];
    let mut trained = Command::new(env!("CARGO_BIN_EXE_cajole"));
    assert!(trained.current_dir(at).args(train).output().unwrap().status.success());
    let files = [
        ("in", "az\nbz\n".repeat(60) + "q\n"),
        (
            "rule.toml",
            "[[all]]\ngrammar-file = 'e.ebnf'\n[[all]]\nchecker = {command = \
          ['sh', 'check.sh'], mode = 'exit-code'}\n"
                .to_owned(),
        ),
        ("e.ebnf", "e = (\"a\" | \"z\" | \"b\")* ;\n".to_owned()),
        ("check.sh", "true\n".to_owned()),
    ];
    let write_all =
        || files.iter().for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
    write_all();
    let run = ["in", "--out=out", "--model=net", "--constraint=rule.toml", "--engine=network"];
    check_error(at, &[&run[..], &["--strict"]].concat(), &["in:121: "]);
    let before = fs::read(at.join("out")).unwrap();
    assert_eq!(records(&before).len(), 120);
    let resume = [&run[..], &["--resume"]].concat();
    for (name, changed) in [
        ("in", "content of in"),
        ("rule.toml", "rules"),
        ("e.ebnf", "content of e.ebnf"),
        ("check.sh", "content of check.sh"),
        ("net/config.json", "content of net/config.json"),
    ] {
        let path = at.join(name);
        let original = fs::read(&path).unwrap();
        // As many bytes as before.
        let text = String::from_utf8(original.clone()).unwrap();
        let other = match name {
            "in" => text.replacen("az", "bz", 1),
            "check.sh" => text.replace("true", "pwd "),
            "rule.toml" => text.replace("'e.ebnf'", "\"e.ebnf\""),
            _ => text.replacen('\n', " ", 1),
        };
        assert!(other != text && other.len() == text.len(), "{name}");
        fs::write(&path, other).unwrap();
        check_error(at, &resume, &["out is the output of an unfinished run", changed]);
        assert!(fs::read(at.join("out")).unwrap() == before, "{name}");
        fs::write(&path, original).unwrap();
    }
    let output = command(at, &resume).output().unwrap();
    assert!(said(&output).contains("in:121: "), "{}", said(&output));
    assert_eq!(records(&fs::read(at.join("out")).unwrap()).len(), 121);
}

/// Kills runs at twenty moments, each resuming the one before, and compares the final output with
/// that of a run that was not killed. The machine's speed does not matter: a run that finishes
/// before it is killed is compared too, and the next ones start over and are killed sooner.
fn check_killed(out: &str) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), lines(12_000)).unwrap();
    let whole = format!("whole-{out}");
    let start = Instant::now();
    printed(at, &["in", "--engine=masked", "--out", &whole]);
    let mut longest = start.elapsed() / 8;
    let whole = fs::read(at.join(whole)).unwrap();
    let check_same = || {
        let resumed = fs::read(at.join(out)).unwrap();
        assert!(resumed == whole, "{} bytes are not {}", resumed.len(), whole.len());
    };
    let resume = ["in", "--engine=masked", "--resume", "--out", out];
    let (mut state, mut killed) = (11u64, 0);
    while killed < 20 {
        let mut command = command(at, &resume);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        thread::sleep(longest.mul_f64((state >> 40) as f64 / (1 << 24) as f64));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            check_same();
            fs::remove_file(at.join(out)).unwrap();
            longest /= 2;
        } else {
            killed += 1;
        }
    }
    printed(at, &resume);
    check_same();
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    check_killed("out.jsonl");
}

#[test]
fn a_killed_run_goes_on_to_the_same_gzipped_bytes() {
    check_killed("out.jsonl.gz");
}

#[test]
fn who_stops_reading_is_not_told_off() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), lines(20_000)).unwrap();
    let mut command = command(at, &["in", "--engine=masked"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    assert_eq!(records(first.as_bytes())[0]["line"], 1);
}

/// The peak memory of a run over `n` lines, in KiB.
#[cfg(target_os = "linux")]
fn peak_memory(folder: &Path, n: usize) -> u64 {
    fs::write(folder.join("many"), "bz\naz\n".repeat(n / 2)).unwrap();
    let mut command = command(folder, &["many", "--out=out", "--overwrite"]);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(now.unwrap_or(0));
        thread::sleep(Duration::from_millis(5));
    }
    let written = fs::read_to_string(folder.join("out")).unwrap();
    assert_eq!(written.lines().count(), n);
    peak
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_number_of_lines() {
    let folder = tempfile::tempdir().unwrap();
    let few = peak_memory(folder.path(), 50_000);
    let many = peak_memory(folder.path(), 200_000);
    assert!(0 < few && many < 200 << 10, "{many} KiB");
    assert!(many < few + (8 << 10), "{few} KiB for 50,000 lines, {many} KiB for 200,000");
}

#[test]
fn a_rule_that_nothing_satisfies_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules"), "pattern = 'a[^abz]'").unwrap();
    let args = ["--constraint=rules", "--max-steps=1", "-"];
    let output = fed(command(folder.path(), &args), b"az\n");
    assert!(output.status.success(), "{}", said(&output));
    let warning = "warning: rules: no output can satisfy the rule \"pattern\"\n";
    assert!(said(&output).contains(warning), "{}", said(&output));
}
