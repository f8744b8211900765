//! Rules as they were written, before they are compiled for a network.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cajole_files::limits::MOST_SETTINGS_BYTES;
use cajole_files::{TextError, text_of};
use serde_json::Value;

use super::{RuleFileError, Rules};
use crate::vocabulary::Vocabulary;

/// Rules as text. A file is read once, so that the rules in use are those that a run notes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuleText {
    /// The name of the rules in reports.
    pub title: String,
    /// Their name in messages.
    pub name: String,
    /// The text of a constraint file.
    pub text: String,
    /// The folder of the files that the rules name. Without it, they may name neither files nor
    /// programs.
    pub folder: Option<PathBuf>,
}

impl RuleText {
    /// Rules that are in no file, with this name in messages and reports.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> RuleText {
        let name = name.into();
        RuleText { title: name.clone(), name, text: text.into(), folder: None }
    }

    /// The rules in a file. Reports call them by its name, without folder and extension.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<RuleText, TextError> {
        let text = text_of(path, MOST_SETTINGS_BYTES)?;
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        Ok(RuleText {
            title: stem.to_string_lossy().into_owned(),
            name: path.display().to_string(),
            text,
            folder: path.parent().map(Path::to_owned),
        })
    }

    /// The rules that a line brings: a JSON object, or a text in TOML.
    ///
    /// # Errors
    /// If the object cannot be written as TOML.
    pub fn of_json(value: &Value) -> Result<RuleText, RuleFileError> {
        const NAME: &str = "the line's constraint";
        let text = match value.as_str() {
            Some(text) => text.to_owned(),
            None => toml::to_string(value).map_err(|source| RuleFileError::Json {
                name: NAME.to_owned(),
                message: source.to_string(),
            })?,
        };
        Ok(RuleText::new(NAME, text))
    }

    /// The rules, for outputs in this vocabulary. The files that they name are noted as
    /// [read](cajole_files::Reads::during).
    ///
    /// # Errors
    /// If a rule is invalid.
    pub fn compile(&self, vocabulary: &Arc<Vocabulary>) -> Result<Rules, RuleFileError> {
        let rules = Rules::compile(self, vocabulary)?;
        rules.note_reads();
        Ok(rules)
    }
}
