//! Settings: the built-in file, or one of the user's, with single values overridden.

use std::path::PathBuf;

use anyhow::Context;
use cajole_files::limits::MOST_SETTINGS_BYTES;
use cajole_files::text_of;
use cajole_tasks::overridden;
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
    /// Their name in messages.
    pub(crate) fn name(&self) -> String {
        match &self.config {
            Some(path) => path.display().to_string(),
            None => BUILT_IN.to_owned(),
        }
    }
}

/// The name of settings that are in no file.
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
    let text = match &settings.config {
        Some(path) => &text_of(path, MOST_SETTINGS_BYTES).context("cannot read the settings")?,
        None => built_in,
    };
    Ok(overridden(&settings.name(), text, &settings.overrides)?)
}
