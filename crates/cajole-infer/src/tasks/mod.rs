//! The tasks whose checkpoints can be run: one file each, and one for what those that write symbol
//! by symbol have in common.

mod pairs;
mod parsing;
mod sequences;
mod srl;
mod transduction;

use std::fs;
use std::path::Path;

use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::parsing::parser;
use cajole_tasks::{pairs as pairs_task, srl as srl_task, transduction as transduction_task};
use serde::Deserialize;

pub use pairs::Pairs;
pub use parsing::Parsing;
pub use srl::Roles;
pub use transduction::Transduction;

/// A checkpoint of any task.
pub enum AnyTask {
    /// The paper's synthetic one.
    Transduction(Transduction),
    /// Constituency parsing.
    Parsing(Parsing),
    /// Semantic role labeling.
    Roles(Roles),
    /// Users' own pairs.
    Pairs(Pairs),
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is no checkpoint, or a damaged one.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its task is none of ours.
    #[error("{path} is for the task {task:?}; known are transduction, parsing, srl and pairs")]
    UnknownTask {
        /// The file that says so.
        path: String,
        /// The task.
        task: String,
    },
}

/// The names of the networks that are built in.
pub const BUILT_IN: [&str; 4] = ["transducer", "parser", "tagger", "expressions"];

impl AnyTask {
    /// The network that is built in under this name.
    pub fn built_in(name: &str) -> Option<AnyTask> {
        match name {
            "transducer" => {
                let model = transduction_task::checkpoint::built_in();
                Some(AnyTask::Transduction(Transduction::new(model)))
            }
            "parser" => Some(AnyTask::Parsing(Parsing::new(parser::built_in()))),
            "tagger" => Some(AnyTask::Roles(Roles::new(srl_task::tagger::built_in()))),
            "expressions" => Some(AnyTask::Pairs(Pairs::new(pairs_task::model::built_in()))),
            _ => None,
        }
    }

    /// The network in a checkpoint folder, which says itself what it is for.
    ///
    /// # Errors
    /// If the folder is no checkpoint, or of no known task.
    pub fn open(folder: &Path) -> Result<AnyTask, OpenError> {
        #[derive(Deserialize)]
        struct Card {
            task: String,
        }
        let path = folder.join("config.json");
        let text = fs::read_to_string(&path).map_err(LoadError::io(&path))?;
        let Card { task } = serde_json::from_str(&text)
            .map_err(|source| LoadError::Config { path: path.clone(), source })?;
        Ok(match task.as_str() {
            "transduction" => {
                let (model, _) = transduction_task::checkpoint::load(folder)?;
                AnyTask::Transduction(Transduction::new(model))
            }
            "parsing" => AnyTask::Parsing(Parsing::new(parser::load(folder)?.0)),
            "srl" => AnyTask::Roles(Roles::new(srl_task::tagger::load(folder)?.0)),
            "pairs" => AnyTask::Pairs(Pairs::new(pairs_task::model::load(folder)?.0)),
            _ => {
                let path = path.display().to_string();
                return Err(OpenError::UnknownTask { path, task });
            }
        })
    }
}
