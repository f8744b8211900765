//! What a run reads and how it was asked, noted down beside its output: a run is resumed only if
//! nothing of this has changed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cajole_infer::{Ask, Runnable, fingerprint_of};
use serde_json::{Map, Value, json};

use super::{DEFAULT, Infer};
use crate::asking::RuleFile;
use crate::source::cannot_read;

/// Names of what may change, with its value or a hash of it.
pub(super) fn note(
    what: &Infer,
    network: &dyn Runnable,
    file: Option<&RuleFile>,
    ask: &Ask<'_>,
) -> anyhow::Result<Value> {
    let model = what.asking.model(DEFAULT);
    let settings = ask.settings;
    let mut note = Map::new();
    let mut add = |name: &str, value: Value| drop(note.insert(name.to_owned(), value));
    add("version of cajole", json!(env!("CARGO_PKG_VERSION")));
    add("input", json!(what.input.display().to_string()));
    add("model", json!(model));
    add("weights", json!(format!("{:016x}", network.fingerprint())));
    add("rules", json!(file.map_or("", |file| &file.text)));
    add("engine", json!(settings.engine.name()));
    add("settings of gbi", json!(settings.config));
    add("limits", json!(settings.limits));
    add("times", json!(ask.times));
    add("traces", json!(ask.traces));
    let mut files = files_of(Path::new(model))?;
    files.extend(ask.rules.iter().flat_map(|rules| rules.reads()).cloned());
    // Nobody can read a pipe twice; such a run cannot be resumed either.
    files.extend(what.input.is_file().then(|| what.input.clone()));
    for path in files {
        let bytes = File::open(&path).and_then(fingerprint_of);
        let hash = bytes.with_context(|| cannot_read(&path))?;
        add(&format!("content of {}", path.display()), json!(format!("{hash:016x}")));
    }
    Ok(Value::Object(note))
}

/// The files of a checkpoint; none, if the network is built in.
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
