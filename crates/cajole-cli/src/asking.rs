//! A request on the command line: which network, under which rules, with which settings. All
//! commands that answer lines share these flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use cajole_infer::engine::Engine;
use cajole_infer::source::Source;
use cajole_infer::task::Task;
use cajole_infer::{Opened, Settings};
use cajole_rules::{RuleText, Rules, Vocabulary};

use crate::flags::Flags;
use crate::{Session, screen, source};

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Asking {
    /// A built-in network (transducer, parser, tagger or expressions), or a checkpoint folder of
    /// any task
    #[arg(long, value_name = "NAME|FOLDER")]
    pub(crate) model: Option<String>,

    /// A constraint file [default: the task's own rules]
    ///
    /// A few lines of TOML, such as
    ///
    ///     arithmetic = 'count(out, "a") = 3 * count(in, "a")'
    ///
    /// See rules/ for examples, and `cajole infer --help` for all kinds of rules.
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub(crate) constraint: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) flags: Flags<false>,
}

impl Asking {
    /// The name of the network, or its folder.
    pub(crate) fn model<'a>(&'a self, default: &'a str) -> &'a str {
        self.model.as_deref().unwrap_or(default)
    }

    /// The same, with this network as the default.
    #[must_use]
    pub(crate) fn or_model(mut self, default: &str) -> Asking {
        self.model.get_or_insert_with(|| default.to_owned());
        self
    }

    /// The network.
    pub(crate) fn open(&self, session: &Session, default: &str) -> anyhow::Result<Opened> {
        let name = self.model(default);
        let network = session.registry.open(name).with_context(|| format!("cannot load {name}"))?;
        network.remarks().iter().for_each(|remark| screen::warn(remark));
        Ok(network)
    }

    /// The network, which must be for this task.
    pub(crate) fn open_for(
        &self,
        session: &Session,
        default: &str,
        task: &str,
    ) -> anyhow::Result<Opened> {
        let network = self.open(session, default)?;
        match network.name() == task {
            true => Ok(network),
            false => {
                bail!("{} is for the task {:?}, not {task:?}", self.model(default), network.name())
            }
        }
    }

    /// The lines of a file, or of standard input for `-`.
    pub(crate) fn source(&self, path: &Path) -> anyhow::Result<Source> {
        Ok(source::open(path)?.with_max_bytes(self.flags.0.max_line_bytes()))
    }

    /// The rules for outputs: the given file, or else the task's own.
    pub(crate) fn rule_file(&self, network: &dyn Task) -> anyhow::Result<Option<RuleText>> {
        match (&self.constraint, network.usual_rules()) {
            (Some(path), _) => Ok(Some(RuleText::read(path)?)),
            (None, Some(text)) => {
                let name = format!("the usual rules of {}", network.name());
                Ok(Some(RuleText::new(name, text)))
            }
            (None, None) => Ok(None),
        }
    }

    /// The settings of gradient-based inference.
    pub(crate) fn settings(&self, network: &dyn Task) -> anyhow::Result<Settings> {
        Ok(self.flags.0.settings(network)?.by(Engine::gbi()))
    }
}

/// The rules of a text, for outputs in this vocabulary. Warns of rules that no output can satisfy,
/// and tries the programs of checkers.
pub(crate) fn compile(text: &RuleText, vocabulary: &Arc<Vocabulary>) -> anyhow::Result<Arc<Rules>> {
    let rules = text.compile(vocabulary)?;
    rules.try_programs()?;
    for rule in rules.unsatisfiable() {
        screen::warn(&format!("{}: no output can satisfy {rule}", text.name));
    }
    Ok(Arc::new(rules))
}
