//! Notes what a run reads and its flags, beside its output: a run resumes only if none of this has
//! changed.

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use cajole_files::{Reads, fingerprint_of};
use cajole_infer::Settings;
use cajole_infer::task::Task;
use cajole_rules::RuleText;
use serde_json::{Map, Value, json};

use crate::asking::Asking;
use crate::source::cannot_read;

/// The names of what may change, each with its value or a hash. Everything that the run reads has
/// been opened.
pub(crate) fn note(
    input: &Path,
    model: &str,
    asking: &Asking,
    network: &dyn Task,
    file: Option<&RuleText>,
    settings: &Settings,
) -> anyhow::Result<Value> {
    let mut note = Map::new();
    let mut add = |name: &str, value: Value| drop(note.insert(name.to_owned(), value));
    add("version of cajole", json!(env!("CARGO_PKG_VERSION")));
    add("input", json!(input.display().to_string()));
    add("model", json!(model));
    add("weights", json!(format!("{:016x}", network.fingerprint())));
    add("rules", json!(file.map_or("", |file| &file.text)));
    add("engine", json!(settings.engine));
    add("settings of gbi", json!(settings.config));
    add("searches", json!(settings.searches));
    add("width", json!(settings.beam.width));
    add("ranking", json!(settings.beam.ranking));
    add("deadline", json!(settings.deadline));
    add("max-tokens", json!(settings.max_tokens));
    add("max-line-bytes", json!(asking.max_line_bytes));
    add("times", json!(settings.times));
    add("traces", json!(settings.traces));
    for path in Reads::so_far().paths() {
        // The text of the rules is in the note already, and the same text in another file is as good.
        if asking.constraint.as_deref() == Some(path) {
            continue;
        }
        let bytes = File::open(path).and_then(fingerprint_of);
        let hash = bytes.with_context(|| cannot_read(path))?;
        add(&format!("content of {}", path.display()), json!(format!("{hash:016x}")));
    }
    Ok(Value::Object(note))
}
