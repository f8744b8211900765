//! An option gives the same records, whether it is a flag or a field.

use std::process::Command;
use std::sync::Arc;

use cajole_infer::infer::Tally;
use cajole_infer::options::{FIELDS, Field, Place};
use cajole_infer::record::Record;
use cajole_infer::run::Each;
use cajole_infer::source::Source;
use cajole_infer::{Registry, Run};
use cajole_rules::Rules;
use serde_json::{Value, json};

/// The output of a command for these lines, whether it succeeds or not.
fn printed_for(args: &[&str], lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lines"), lines).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder.path()).args(args);
    let stdin = std::fs::File::open(folder.path().join("lines")).unwrap();
    String::from_utf8(command.stdin(stdin).output().unwrap().stdout).unwrap()
}

/// Two inputs that need a repair, one that needs none, and a bad one.
const LINES: &str = "azbzazazazazazazazazbz\nazbz\nbzazazazazbzazazazazaz\nqq\n";

/// A value of every option, with its flags.
fn samples() -> Vec<(&'static str, Value, &'static [&'static str])> {
    vec![
        ("engine", json!("masked:width=3"), &["--engine", "masked:width=3"]),
        ("preset", json!("paper"), &["--preset", "paper"]),
        ("settings", json!(["schedule.step-size=0.01"]), &["--set", "schedule.step-size=0.01"]),
        ("deadline_ms", json!(0), &["--deadline-ms", "0"]),
        ("max_steps", json!(1), &["--max-steps", "1"]),
        ("patience", json!(1), &["--patience", "1"]),
        ("width", json!(8), &["--width", "8"]),
        ("max_tokens", json!(5), &["--max-tokens", "5"]),
        ("max_line_bytes", json!(5), &["--max-line-bytes", "5"]),
        ("threads", json!(1), &["--threads", "1"]),
        ("trace", json!(true), &["--explain"]),
        ("times", json!(false), &["--no-times"]),
        ("log_probs", json!(true), &["--log-probs"]),
        ("strict", json!(true), &["--strict"]),
    ]
}

/// The records that the library gives under these options, without times.
fn answered(options: &[(&str, &Value)]) -> String {
    let mut run = Run::default();
    for (name, value) in options {
        run.read(name, *value).unwrap();
    }
    let network = Registry::standard().open("transducer").unwrap();
    let text = network.usual_rules().unwrap();
    let rules = Arc::new(Rules::parse("rules", text, None, network.vocabulary()).unwrap());
    let settings = run.settings(&*network).unwrap();
    let lines = std::io::Cursor::new(LINES.as_bytes());
    let source = Source::of("lines".to_owned(), lines).unwrap();
    let mut source = source.with_max_bytes(run.max_line_bytes());
    let mut written = String::new();
    let mut put = |records: Vec<Record>| {
        for record in records {
            written += &record.to_line(false);
            written.push('\n');
        }
        Ok(())
    };
    let each = Each { source: &mut source, put: &mut put, tally: &Tally::default(), told: &|_| {} };
    let ended = network.infer_each(Some(&rules), &settings, each);
    assert_eq!(ended.is_err(), run.strict == Some(true));
    written
}

#[test]
fn a_flag_is_what_the_table_says() {
    let samples = samples();
    let names: Vec<&str> = samples.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, FIELDS.iter().map(|field| field.name).collect::<Vec<_>>());
    let usual = answered(&[]);
    for (name, value, flags) in samples {
        let given = answered(&[(name, &value)]);
        // What changes no record, or would be seen with times only.
        let is_silent = ["threads", "times"].contains(&name);
        assert_eq!(given == usual, is_silent, "{name} {value} gives {given}");
        let without = if name == "times" { &[][..] } else { &["--no-times"] };
        let printed = printed_for(&[&["infer"][..], without, flags].concat(), LINES);
        assert_eq!(printed, given, "{flags:?}");
    }
}

/// Commands that compare engines have the options that are not of one run.
#[test]
fn every_command_that_answers_lines_has_the_flags_of_all() {
    for command in ["infer", "compare", "eval", "explain", "parse", "tag"] {
        let help = printed_for(&[command, "--help"], "");
        for field in FIELDS {
            let flag = format!("--{} ", field.flag);
            let is_there = help.replace('\n', " \n").contains(&flag);
            let is_expected = field.is_of(Place::Commands)
                || field.is_of(Place::Program)
                || field.is_of(Place::Infer) && command == "infer";
            let has_own = field.flag == "explain" && ["parse", "tag"].contains(&command);
            assert_eq!(is_there, is_expected || has_own, "{command} --{}", field.flag);
        }
    }
}

#[test]
fn a_table_has_every_name_once() {
    for (i, field) in FIELDS.iter().enumerate() {
        assert!(std::ptr::eq(Field::named(field.name).unwrap(), field));
        assert!(FIELDS[..i].iter().all(|other| other.flag != field.flag), "{field:?}");
    }
}
