//! A request on the command line: which network, under which rules, with which settings. All
//! commands that answer lines share these flags.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cajole_infer::engine::Engine;
use cajole_infer::limits::{
    MAX_LINE_BYTES, MAX_TOKENS, MOST_DEADLINE_MS, MOST_LINE_BYTES, MOST_STEPS, MOST_TOKENS,
    MOST_WIDTH,
};
use cajole_infer::source::Source;
use cajole_infer::task::Task;
use cajole_infer::{Changes, Opened, Settings};
use cajole_rules::{RuleText, Rules, Vocabulary};
use cajole_tasks::Preset;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::value_parser;

use crate::range::within;
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

    /// Settings of gradient-based inference [default: what works best for the task]
    #[arg(long, value_enum)]
    preset: Option<PresetName>,

    /// Override one of them, such as `--set schedule.step-size=0.01`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,

    /// Give up on an input after this long and keep the best output so far, in milliseconds
    ///
    /// Outputs then depend on how fast and how busy the machine is. While an input waits for others,
    /// it uses no time. The predicates of a sentence share its time. An input that runs out of time
    /// has the status timed-out.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=MOST_DEADLINE_MS))]
    deadline_ms: Option<u64>,

    /// The most nudges for one input in each descent
    #[arg(long, value_name = "N", value_parser = within(0, MOST_STEPS))]
    max_steps: Option<usize>,

    /// Accept an output after this many nudges although it violates the rules, without restarts
    ///
    /// A rule may be wrong where the network is right. What a network does not give up within a few
    /// nudges is better kept. `cajole tag` insists on given trees, and on predicted ones for 1
    /// nudge.
    #[arg(long, value_name = "N", value_parser = within(0, MOST_STEPS))]
    pub(crate) patience: Option<usize>,

    /// Width of the beam that the network decodes with, at most 1024; 1 is greedy [default: the
    /// task's]
    #[arg(long, value_name = "N", value_parser = within(1, MOST_WIDTH))]
    width: Option<usize>,

    /// The most tokens of a line; a longer line is bad
    ///
    /// Memory grows with the length: the built-in parser takes about 1.5 MB per token and thread.
    #[arg(long, value_name = "N", default_value_t = MAX_TOKENS, value_parser = within(1, MOST_TOKENS))]
    pub(crate) max_tokens: usize,

    /// The most bytes of a line; a longer line is bad
    #[arg(
        long,
        value_name = "N",
        default_value_t = MAX_LINE_BYTES,
        value_parser = within(1, MOST_LINE_BYTES)
    )]
    pub(crate) max_line_bytes: usize,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum PresetName {
    /// Algorithm 1 as printed: one output, plain SGD on all weights
    Paper,
    /// The most accurate: steps of set length towards satisfying outputs, with restarts
    Best,
    /// The fastest over many lines: only biases move, so that inputs are repaired together
    Small,
}

/// Reads an engine: its name, and numbers of its search. `--help` says what each does.
#[derive(Clone, Debug)]
pub(crate) struct EngineParser;

impl EngineParser {
    fn names(&self) -> impl Iterator<Item = PossibleValue> {
        let all = Engine::all().into_iter();
        all.map(|engine| PossibleValue::new(engine.name()).help(engine.about()))
    }
}

impl TypedValueParser for EngineParser {
    type Value = Engine;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Engine, clap::Error> {
        let text = value.to_string_lossy();
        let name = text.split(':').next().unwrap_or_default();
        PossibleValuesParser::new(self.names()).parse_ref(command, arg, OsStr::new(name))?;
        StringValueParser::new().try_map(|text| text.parse()).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names()))
    }
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
        Ok(source::open(path)?.with_max_bytes(self.max_line_bytes))
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

    /// How outputs are made to obey.
    pub(crate) fn settings(&self, network: &dyn Task, engine: Engine) -> anyhow::Result<Settings> {
        let preset = self.preset.map(|preset| match preset {
            PresetName::Paper => Preset::Paper,
            PresetName::Best => Preset::Best,
            PresetName::Small => Preset::Small,
        });
        let mut changes = Changes::default();
        changes.preset = preset;
        changes.overrides.clone_from(&self.overrides);
        changes.max_steps = self.max_steps;
        changes.patience = self.patience;
        changes.width = self.width;
        changes.deadline = self.deadline_ms.map(Duration::from_millis);
        changes.max_tokens = self.max_tokens;
        Ok(changes.settings(network, engine)?)
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
