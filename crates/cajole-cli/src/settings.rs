//! Settings: the built-in file, or one of the user's, with single values overridden.

use std::path::PathBuf;

use anyhow::{Context, bail};
use cajole_treebank::limits::MOST_SETTINGS_BYTES;
use cajole_treebank::text_of;
use serde::de::DeserializeOwned;

/// Settings that come from a file and can be overridden.
#[derive(clap::Args, Debug)]
pub(crate) struct Settings {
    /// A TOML file instead of the built-in settings (see configs/)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Override one setting, such as `--set training.epochs=50`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
}

impl Settings {
    /// What messages call them.
    pub(crate) fn name(&self) -> String {
        match &self.config {
            Some(path) => path.display().to_string(),
            None => BUILT_IN.to_owned(),
        }
    }
}

/// What messages call settings that are in no file.
const BUILT_IN: &str = "the built-in settings";

/// Where corpora are.
#[derive(clap::Args, Debug)]
pub(crate) struct Data {
    /// The folder that holds the corpora
    #[arg(long = "data", value_name = "FOLDER", env = "CAJOLE_DATA")]
    pub(crate) folder: Option<PathBuf>,

    /// Work on generated sentences, with small networks: needs no data, takes minutes
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Reads settings of type `T`.
pub(crate) fn read<T: DeserializeOwned>(built_in: &str, settings: &Settings) -> anyhow::Result<T> {
    match &settings.config {
        Some(path) => {
            let text = text_of(path, MOST_SETTINGS_BYTES).context("cannot read the settings")?;
            parse(&settings.name(), &text, &settings.overrides)
        }
        None => overridden(built_in, &settings.overrides),
    }
}

/// Built-in settings of type `T`, with single values overridden.
pub(crate) fn overridden<T: DeserializeOwned>(
    built_in: &str,
    overrides: &[String],
) -> anyhow::Result<T> {
    parse(BUILT_IN, built_in, overrides)
}

fn parse<T: DeserializeOwned>(name: &str, text: &str, overrides: &[String]) -> anyhow::Result<T> {
    if overrides.is_empty() {
        // Straight from the text, so that an error shows the line.
        return toml::from_str(text).with_context(|| format!("in {name}"));
    }
    let mut table: toml::Table = toml::from_str(text).with_context(|| format!("in {name}"))?;
    for assignment in overrides {
        set(&mut table, assignment).with_context(|| format!("in --set {assignment}"))?;
    }
    toml::Value::Table(table)
        .try_into()
        .with_context(|| format!("in {name} with --set {}", overrides.join(" --set ")))
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
        // A section that is left to its defaults is not in the text.
        let section = place.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        place = match section.as_table_mut() {
            Some(section) => section,
            None => bail!("{key:?} is a value, not a section"),
        };
    }
    place.insert(last.to_owned(), value);
    Ok(())
}
