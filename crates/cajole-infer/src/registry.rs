//! Checkpoints of any task, by name or folder: what commands, a service and Python open.
//!
//! [`Registry::standard`] knows the tasks and networks that come with cajole; add your own with
//! [`Registry::with_task`].

use std::path::Path;

use cajole_tasks::Checkpoint;
use cajole_tasks::checkpoint::{LoadError, task_of};
use cajole_tasks::pairs::PairsModel;
use cajole_tasks::parsing::Parser;
use cajole_tasks::srl::RoleTagger;
use cajole_tasks::transduction::Net as Transducer;

use crate::task::Task;
use crate::tasks::{Labels, Pairs, Parsing, Roles, Transduction, Writer, huggingface};

/// A network that can be run, whatever its task.
pub type Opened = Box<dyn Task>;

type Open = Box<dyn Fn(&Path) -> Result<Opened, LoadError> + Send + Sync>;
type BuiltIn = Box<dyn Fn() -> Opened + Send + Sync>;

/// The tasks whose checkpoints can be opened, and the networks that are built in.
#[derive(Default)]
pub struct Registry {
    tasks: Vec<(&'static str, Open)>,
    built_in: Vec<(&'static str, BuiltIn)>,
}

/// Why a name or folder cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It is not a checkpoint, or a damaged one.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its task is not registered.
    #[error("{path} is for the task {task:?}; known are {known}")]
    UnknownTask {
        /// The file that says so.
        path: String,
        /// The task.
        task: String,
        /// The tasks that are registered.
        known: String,
    },
    /// It is neither a folder nor the name of a built-in network.
    #[error("{name} is no folder with a checkpoint, and none of {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The built-in networks.
        known: String,
    },
}

impl Registry {
    /// Everything that comes with cajole.
    pub fn standard() -> Self {
        Registry::default()
            .with_task("transduction", |folder| {
                Ok(Box::new(Transduction::new(Transducer::load(folder)?.0)))
            })
            .with_task("parsing", |folder| Ok(Box::new(Parsing::new(Parser::load(folder)?.0))))
            .with_task("srl", |folder| Ok(Box::new(Roles::new(RoleTagger::load(folder)?.0))))
            .with_task("pairs", |folder| Ok(Box::new(Pairs::new(PairsModel::load(folder)?.0))))
            .with_task("writer", |folder| Ok(Box::new(Writer::open(folder)?)))
            .with_task("labels", |folder| Ok(Box::new(Labels::open(folder)?)))
            .with_network("transducer", || Box::new(Transduction::new(Transducer::built_in())))
            .with_network("parser", || Box::new(Parsing::new(Parser::built_in())))
            .with_network("tagger", || Box::new(Roles::new(RoleTagger::built_in())))
            .with_network("expressions", || Box::new(Pairs::new(PairsModel::built_in())))
    }

    /// Adds a task: `open` reads a folder whose `config.json` names it as its `task`. Hugging Face
    /// folders name none: those of encoder-decoders go to `writer`, those of encoders to `labels`.
    #[must_use]
    pub fn with_task(
        mut self,
        task: &'static str,
        open: impl Fn(&Path) -> Result<Opened, LoadError> + Send + Sync + 'static,
    ) -> Self {
        self.tasks.retain(|(known, _)| *known != task);
        self.tasks.push((task, Box::new(open)));
        self
    }

    /// Adds a network that needs no folder.
    #[must_use]
    pub fn with_network(
        mut self,
        name: &'static str,
        network: impl Fn() -> Opened + Send + Sync + 'static,
    ) -> Self {
        self.built_in.retain(|(known, _)| *known != name);
        self.built_in.push((name, Box::new(network)));
        self
    }

    /// The names of the networks that need no folder.
    pub fn built_in(&self) -> impl Iterator<Item = &'static str> {
        self.built_in.iter().map(|(name, _)| *name)
    }

    /// The network of this name, or in this folder: a checkpoint or a Hugging Face folder, whose
    /// `config.json` names the task or the architecture.
    ///
    /// # Errors
    /// If there is none, or the folder is not a checkpoint of a registered task.
    pub fn open(&self, name: &str) -> Result<Opened, OpenError> {
        if let Some((_, network)) = self.built_in.iter().find(|(known, _)| *known == name) {
            return Ok(network());
        }
        let folder = Path::new(name);
        if !folder.is_dir() {
            let known = self.built_in().collect::<Vec<_>>().join(", ");
            return Err(OpenError::Unknown { name: name.to_owned(), known });
        }
        let task = huggingface::task_of(folder).unwrap_or_else(|| task_of(folder))?;
        let Some((_, open)) = self.tasks.iter().find(|(known, _)| *known == task) else {
            let path = folder.join("config.json").display().to_string();
            let known = self.tasks.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(OpenError::UnknownTask { path, task, known });
        };
        Ok(open(folder)?)
    }
}
