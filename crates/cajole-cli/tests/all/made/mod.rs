//! Files that are made from the table of options are what the table gives.

mod markdown;
mod openapi;
mod python;
mod typescript;

use std::fs;
use std::path::{Path, PathBuf};

use cajole_infer::options::{FIELDS, Field, Kind};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that are made from the table, with their texts.
fn files() -> [(&'static str, String); 4] {
    let described = "crates/cajole-serve/openapi.json";
    let before = fs::read_to_string(root().join(described)).unwrap();
    [
        (described, openapi::document(&before)),
        ("crates/cajole-serve/page/src/options.ts", typescript::module()),
        ("python/cajole/_options.py", python::module()),
        ("docs/settings.md", markdown::page()),
    ]
}

/// Options that are numbers, with their ranges.
fn numbers(field: &Field) -> Option<(usize, usize)> {
    match field.kind {
        Kind::Number { least, most } => Some((least, most)),
        _ => None,
    }
}

/// Breaks a text into lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().unwrap();
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
            continue;
        }
        last.push_str(if last.is_empty() { "" } else { " " });
        last.push_str(word);
    }
    lines
}

#[test]
fn files_are_as_the_table_says() {
    for (path, text) in files() {
        let found = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(
            found == text,
            "{path} is not what the table in crates/cajole-infer/src/options.rs gives. Run \
             `cargo test -p cajole-cli --test all -- --ignored made_from_the_table`"
        );
    }
}

#[test]
#[ignore = "writes files of the repository"]
fn made_from_the_table() {
    for (path, text) in files() {
        fs::write(root().join(path), text).unwrap();
    }
}

/// Names of the table are names of flags, too, or have their own.
#[test]
fn flags_are_the_names_in_the_table_unless_shorter() {
    for field in FIELDS {
        let usual = field.name.replace('_', "-");
        let own = [("settings", "set"), ("trace", "explain"), ("times", "no-times")];
        assert!(field.flag == usual || own.contains(&(field.name, field.flag)), "{field:?}");
    }
}
