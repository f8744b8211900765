//! Notes what a run reads and its flags, beside its output: a run resumes only if none of this has
//! changed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cajole_infer::{Ask, Runnable, fingerprint_of};
use serde_json::{Map, Value, json};

use crate::asking::RuleFile;
use crate::output::Reads;
use crate::source::cannot_read;

/// The names of what may change, each with its value or a hash.
pub(crate) fn note(
    reads: &Reads<'_>,
    model: &str,
    network: &dyn Runnable,
    file: Option<&RuleFile>,
    ask: &Ask<'_>,
) -> anyhow::Result<Value> {
    let settings = ask.settings;
    let mut note = Map::new();
    let mut add = |name: &str, value: Value| drop(note.insert(name.to_owned(), value));
    add("version of cajole", json!(env!("CARGO_PKG_VERSION")));
    add("input", json!(reads.input.display().to_string()));
    add("model", json!(model));
    add("weights", json!(format!("{:016x}", network.fingerprint())));
    add("rules", json!(file.map_or("", |file| &file.text)));
    add("engine", json!(settings.engine.name()));
    add("settings of gbi", json!(settings.config));
    add("limits", json!(settings.limits));
    add("times", json!(ask.times));
    add("traces", json!(ask.traces));
    // Nobody can read a pipe twice; such a run cannot be resumed either.
    let input = reads.input.is_file().then_some(reads.input);
    for path in reads.others.iter().map(PathBuf::as_path).chain(input) {
        let bytes = File::open(path).and_then(fingerprint_of);
        let hash = bytes.with_context(|| cannot_read(path))?;
        add(&format!("content of {}", path.display()), json!(format!("{hash:016x}")));
    }
    Ok(Value::Object(note))
}

/// The files that a run reads, whatever its input.
pub(crate) fn reads<'a>(input: &'a Path, model: &str, ask: &Ask<'_>) -> anyhow::Result<Reads<'a>> {
    let mut others = files_of(Path::new(model))?;
    others.extend(ask.rules.iter().flat_map(|rules| rules.reads()).cloned());
    Ok(Reads { input, others })
}

/// The files of a checkpoint; empty if the network is built in.
fn files_of(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| cannot_read(folder))? {
        let path = entry.with_context(|| cannot_read(folder))?.path();
        files.extend(path.is_file().then_some(path));
    }
    files.sort();
    Ok(files)
}
