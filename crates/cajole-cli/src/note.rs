//! Notes what a run reads and its flags, beside its output: a run resumes only if none of this has
//! changed.

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use cajole_files::{Reads, fingerprint_of};
use cajole_infer::task::Task;
use cajole_infer::{Run, Settings};
use cajole_rules::RuleText;
use serde_json::{Map, Value, json};

use crate::asking::Asking;
use crate::source::cannot_read;

/// A run, as notes describe it.
pub(crate) struct Noted<'a> {
    pub(crate) model: &'a str,
    pub(crate) asking: &'a Asking,
    /// All options of the run.
    pub(crate) run: Run,
    pub(crate) network: &'a dyn Task,
    pub(crate) settings: &'a Settings,
}

impl Noted<'_> {
    /// The names of what may change, each with its value or a hash; options only if they differ from
    /// their defaults. Everything that the run reads has been opened.
    pub(crate) fn note(&self, input: &Path, file: Option<&RuleText>) -> anyhow::Result<Value> {
        let settings = self.settings;
        let mut note = Map::new();
        let mut add = |name: &str, value: Value| drop(note.insert(name.to_owned(), value));
        add("version of cajole", json!(env!("CARGO_PKG_VERSION")));
        add("input", json!(input.display().to_string()));
        add("model", json!(self.model));
        add("weights", json!(format!("{:016x}", self.network.fingerprint())));
        add("rules", json!(file.map_or("", |file| &file.text)));
        add("settings of gbi", json!(settings.config));
        add("searches", json!(settings.searches));
        add("width", json!(settings.beam.width));
        add("ranking", json!(settings.beam.ranking));
        for (name, value) in self.options() {
            add(&name.replace('_', "-"), value);
        }
        for path in Reads::so_far().paths() {
            // The text of the rules is in the note already, and the same text in another file is as
            // good.
            if self.asking.constraint.as_deref() == Some(path) {
                continue;
            }
            let bytes = File::open(path).and_then(fingerprint_of);
            let hash = bytes.with_context(|| cannot_read(path))?;
            add(&format!("content of {}", path.display()), json!(format!("{hash:016x}")));
        }
        Ok(Value::Object(note))
    }

    /// The options that differ from their defaults, without those that change no record, and those
    /// that are in the settings of gbi and the width already.
    fn options(&self) -> Map<String, Value> {
        let run = Run {
            preset: None,
            settings: None,
            max_steps: None,
            width: None,
            threads: None,
            strict: None,
            ..self.run.clone()
        };
        run.differences()
    }
}
