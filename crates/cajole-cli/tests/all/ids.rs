//! Ids come back as they were written, whatever number or string they are.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Whole numbers that a float cannot tell apart, decimals, what no float can hold, and escapes.
const IDS: [&str; 9] = [
    "123456789012345678901234567890",
    "123456789012345678901234567891",
    "18446744073709551616",
    "-9223372036854775809",
    "1.00",
    "1.0",
    "1e400",
    r#""\u00e9""#,
    "[18446744073709551616]",
];

fn printed(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    let output = command.current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A line for each id, with another field.
fn lines(field: &str) -> String {
    IDS.map(|id| format!("{{\"id\":{id},{field}}}\n")).concat()
}

fn check(records: &str) {
    assert_eq!(records.lines().count(), IDS.len(), "{records}");
    for ((number, id), record) in (1..).zip(IDS).zip(records.lines()) {
        let start = format!("{{\"line\":{number},\"id\":{id},");
        assert!(record.starts_with(&start), "expected {start} in {record}");
        assert!(record.contains("\"status\":\"satisfied\""), "{record}");
    }
}

#[test]
fn of_lines_for_the_transducer() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("in"), lines(r#""input":"azbz""#)).unwrap();
    check(&printed(at, &["infer", "in"]));
    printed(at, &["infer", "in", "--out=out"]);
    check(&fs::read_to_string(at.join("out")).unwrap());
    let explained = lines(r#""input":"az""#);
    let inputs: Vec<&str> = explained.lines().collect();
    check(&printed(at, &[&["--json", "explain"], &inputs[..]].concat()));
}

/// Records that name their source, and lines into which a predicted tree is put.
#[test]
fn of_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("a"), lines(r#""text":"Dogs bark.""#)).unwrap();
    fs::write(at.join("b"), "Cats purr.\n").unwrap();
    check(&printed(at, &["parse", "--json", "a"]));
    for command in ["parse", "tag"] {
        let both = printed(at, &[command, "--json", "a", "b"]);
        let (of_a, of_b) = both.trim_end().rsplit_once('\n').unwrap();
        check(of_a);
        assert!(of_a.lines().all(|record| record.ends_with(r#","source":"a"}"#)), "{of_a}");
        assert!(of_b.ends_with(r#","source":"b"}"#), "{of_b}");
        assert!(serde_json::from_str::<serde_json::Value>(of_b).is_ok(), "{of_b}");
    }
}
