//! Rules that requests may use: the server's own files by name, and what requests bring.
//!
//! Files in the folder of rules belong to the operator, so they may name grammars and start
//! checkers. Rules in requests may not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use cajole_rules::{Cache, RuleFileError, RuleText, Rules};

use crate::limits::{MOST_RULE_BYTES, MOST_RULE_FILES};
use crate::models::Network;
use crate::problem::Problem;
use crate::request::RulesAsked;

/// All rules that the server knows. Those that it has compiled are in the [shared](Cache::shared)
/// cache.
pub(crate) struct Rulebook {
    folder: Option<PathBuf>,
    files: RwLock<Arc<BTreeMap<String, RuleText>>>,
}

/// The rules for a request.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The field of the request that names them.
    field: &'static str,
    text: RuleText,
}

/// Why the folder of rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulebookError {
    /// The folder or a file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The folder or file.
        path: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There are too many files.
    #[error("{path} has more than {MOST_RULE_FILES} files of rules")]
    TooMany {
        /// The folder.
        path: String,
    },
}

impl Rulebook {
    /// With the files of a folder, if there is one.
    pub(crate) fn new(folder: Option<&Path>) -> Result<Rulebook, RulebookError> {
        let files = folder.map(read_folder).transpose()?.unwrap_or_default();
        Cache::shared().forget_files();
        Ok(Rulebook { folder: folder.map(Path::to_owned), files: RwLock::new(Arc::new(files)) })
    }

    /// The files as they are now.
    pub(crate) fn files(&self) -> Arc<BTreeMap<String, RuleText>> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the folder again, and drops what was compiled from files. If it cannot be read,
    /// everything stays as it was. Blocks.
    pub(crate) fn reload(&self) -> Result<usize, RulebookError> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let files = read_folder(folder)?;
        let n = files.len();
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(files);
        // What they name may have changed as well.
        Cache::shared().forget_files();
        Ok(n)
    }

    /// The rules that a request asks for; `None` if it relies on a model that has none.
    pub(crate) fn wanted(
        &self,
        network: Network,
        asked: &RulesAsked,
    ) -> Result<Option<Wanted>, Problem> {
        if matches!(asked, RulesAsked::Usual) && network.usual_rules().is_none() {
            return Ok(None);
        }
        let field = match asked {
            RulesAsked::Usual => "/model",
            RulesAsked::Named(_) => "/rules/name",
            RulesAsked::Toml(_) => "/rules/toml",
            RulesAsked::Table(_) => "/rules/table",
        };
        let text = self.text(network, asked)?;
        check_size(&text, field)?;
        Ok(Some(Wanted { field, text }))
    }

    /// The text of the rules that a request asks for.
    pub(crate) fn text(&self, network: Network, asked: &RulesAsked) -> Result<RuleText, Problem> {
        let text = match asked {
            RulesAsked::Usual => network.usual_rules().unwrap_or_default().to_owned(),
            RulesAsked::Named(name) => return self.file(name),
            RulesAsked::Toml(text) => text.clone(),
            RulesAsked::Table(table) => text_of_table(table)?,
        };
        Ok(RuleText::new("rules", text))
    }

    fn file(&self, name: &str) -> Result<RuleText, Problem> {
        let files = self.files();
        files.get(name).cloned().ok_or_else(|| {
            let known = files.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            let detail = format!("there are no rules {name:?}; there are {known}");
            Problem::not_found(detail).of("/rules/name")
        })
    }
}

impl Wanted {
    /// The rules, or what is wrong with them, if that is known already.
    pub(crate) fn known(&self, network: Network) -> Option<Result<Arc<Rules>, Problem>> {
        let known = Cache::shared().known(&self.text, network.vocabulary())?;
        Some(known.map_err(|error| self.problem(&error)))
    }

    /// The rules. Blocks, unless they are known.
    pub(crate) fn compile(&self, network: Network) -> Result<Arc<Rules>, Problem> {
        let rules = Cache::shared().compile(&self.text, network.vocabulary());
        rules.map_err(|error| self.problem(&error))
    }

    fn problem(&self, error: &RuleFileError) -> Problem {
        let problem = Problem::unprocessable(error.problem()).of(self.field);
        match error.position(&self.text.text) {
            Some(place) => problem.at(place),
            None => problem,
        }
    }
}

/// Errors if rules that a request brings are too long.
pub(crate) fn check_size(text: &RuleText, field: &str) -> Result<(), Problem> {
    let bytes = text.text.len();
    if text.folder.is_some() || bytes <= MOST_RULE_BYTES {
        return Ok(());
    }
    let detail = format!("the rules have {bytes} bytes, more than {MOST_RULE_BYTES}");
    Err(Problem::too_large(detail).of(field))
}

fn text_of_table(table: &serde_json::Value) -> Result<String, Problem> {
    toml::to_string(table).map_err(|error| {
        Problem::unprocessable(format!("cannot be written as TOML: {error}")).of("/rules/table")
    })
}

fn read_folder(folder: &Path) -> Result<BTreeMap<String, RuleText>, RulebookError> {
    let cannot = |path: &Path, source: Box<dyn std::error::Error + Send + Sync>| {
        RulebookError::Read { path: path.display().to_string(), source }
    };
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| cannot(folder, error.into()))? {
        let path = entry.map_err(|error| cannot(folder, error.into()))?.path();
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        let Some(name) = path.file_stem().filter(|_| is_toml && path.is_file()) else { continue };
        if MOST_RULE_FILES <= files.len() {
            return Err(RulebookError::TooMany { path: folder.display().to_string() });
        }
        let text = RuleText::read(&path).map_err(|error| cannot(&path, error.into()))?;
        files.insert(name.to_string_lossy().into_owned(), text);
    }
    Ok(files)
}
