//! Settings: the built-in file, or one of the user's, with single values overridden.

use std::fs;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

use crate::args::Settings;

/// Reads settings of type `T`.
pub(crate) fn read<T: DeserializeOwned>(built_in: &str, settings: &Settings) -> anyhow::Result<T> {
    let (name, text) = match &settings.config {
        Some(path) => {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read the settings in {}", path.display()))?;
            (path.display().to_string(), text)
        }
        None => ("the built-in settings".to_owned(), built_in.to_owned()),
    };
    if settings.overrides.is_empty() {
        // Straight from the text, so that an error shows the line.
        return toml::from_str(&text).with_context(|| format!("in {name}"));
    }
    let mut table: toml::Table = toml::from_str(&text).with_context(|| format!("in {name}"))?;
    for assignment in &settings.overrides {
        set(&mut table, assignment).with_context(|| format!("in --set {assignment}"))?;
    }
    toml::Value::Table(table)
        .try_into()
        .with_context(|| format!("in {name} with --set {}", settings.overrides.join(" --set ")))
}

/// Applies one `key.key=value`.
fn set(table: &mut toml::Table, assignment: &str) -> anyhow::Result<()> {
    let Some((path, value)) = assignment.split_once('=') else {
        bail!("expected KEY=VALUE, as in training.epochs=50");
    };
    // What is no TOML value is taken for a string, so that quotes are not needed.
    let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut place = table;
    for key in keys {
        let known = place.keys().cloned().collect::<Vec<_>>().join(", ");
        place = match place.get_mut(key).and_then(toml::Value::as_table_mut) {
            Some(inner) => inner,
            None => bail!("there is no section {key:?}; there are {known}"),
        };
    }
    place.insert(last.to_owned(), value);
    Ok(())
}
