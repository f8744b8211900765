//! `cajole train`: a network from a seed, as a checkpoint folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cajole_experiments::parsing::ParsingConfig;
use cajole_experiments::srl::SrlConfig;
use cajole_experiments::transduction::TransductionConfig;
use cajole_files::{Folder, Reads};
use cajole_nn::checkpoint::Precision;
use cajole_tasks::checkpoint;
use cajole_tasks::pairs::{self, Kind, PairsConfig};
use cajole_tasks::srl::Recipe;
use cajole_tasks::training::{finish, is_unfinished};
use cajole_tasks::{Checkpoint, Watch, parsing, srl, transduction};

use crate::Session;
use crate::screen::{self, Screen};
use crate::settings::{self, Data, Settings};

/// Train a network and write its checkpoint; a killed run resumes where it stopped
#[derive(clap::Args, Debug)]
pub(crate) struct Train {
    /// For which task
    pub(crate) task: Task,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Where the checkpoint goes [default: runs/NAME]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,

    /// Start over, even if the folder holds a finished checkpoint or an unfinished run
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Pairs to learn from (pairs): JSON Lines with "input" and "output", each of them text or a list
    /// of symbols; may be gzipped
    #[arg(long, value_name = "FILE", required_if_eq("task", "pairs"))]
    pub(crate) train: Option<PathBuf>,

    /// Pairs to evaluate on after every epoch (pairs)
    #[arg(long, value_name = "FILE", required_if_eq("task", "pairs"))]
    pub(crate) dev: Option<PathBuf>,

    /// Write the weights in half precision (parsing, srl, pairs)
    #[arg(long)]
    pub(crate) half: bool,

    /// Which of the configured networks to train, by name (parsing, srl) or by architecture: the
    /// first "transformer" (parsing), or "lstm" or "transformer" (pairs) [default: the first; for
    /// pairs lstm]
    #[arg(long, value_name = "NAME")]
    pub(crate) network: Option<String>,

    /// A Hugging Face folder with a pretrained encoder, such as BERT or MiniLM, to train further
    /// (srl)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) encoder: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) data: Data,

    /// The seed to train from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// What a network is trained for.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// The paper's synthetic sequence transduction
    Transduction,
    /// Constituency parsing by shift-reduce commands
    Parsing,
    /// Semantic role labeling by tags
    Srl,
    /// Your own inputs and outputs, given with --train and --dev
    Pairs,
}

pub(crate) fn run(what: &Train, session: &Session) -> anyhow::Result<()> {
    unless_meant(what)?;
    match what.task {
        Task::Transduction => transducer(what, session),
        Task::Parsing => parser(what, session),
        Task::Srl => tagger(what, session),
        Task::Pairs => pairs(what, session),
    }
}

/// Refuses flags that only other tasks understand.
fn unless_meant(what: &Train) -> anyhow::Result<()> {
    let Train { train, dev, data, encoder, .. } = what;
    if let Some(encoder) = encoder.as_ref().filter(|_| what.task != Task::Srl) {
        bail!("--encoder {} is for srl only", encoder.display());
    }
    match what.task {
        Task::Pairs if data.quick => bail!(
            "--quick is for parsing and srl; cajole generate expressions writes pairs to try out"
        ),
        Task::Pairs => Ok(()),
        _ => {
            match train.as_ref().map(|file| ("train", file)).or(dev.as_ref().map(|f| ("dev", f))) {
                Some((flag, file)) => bail!("--{flag} {} is for pairs only", file.display()),
                None => Ok(()),
            }
        }
    }
}

/// The folder of the run, created if necessary, and locked against other runs. A finished
/// checkpoint in it is left alone.
fn folder(what: &Train, name: &str, session: &Session) -> anyhow::Result<Folder> {
    let path = what.out.clone().unwrap_or_else(|| Path::new("runs").join(name));
    let mut reads = Reads::so_far();
    if let Some(encoder) = &what.encoder {
        reads.add_folder(encoder);
    }
    let folder = Folder::open(&path, reads, what.overwrite)?;
    if what.overwrite {
        finish(&folder)?;
    } else if checkpoint::exists(&path) && !is_unfinished(&path) {
        bail!(
            "{} holds a finished checkpoint already: --overwrite begins anew, --out names another \
             folder",
            path.display()
        );
    }
    session.interrupt.advise(": the same command goes on after the last epoch that was kept");
    Ok(folder)
}

fn transducer(what: &Train, session: &Session) -> anyhow::Result<()> {
    let config: TransductionConfig = settings::read(TransductionConfig::DEFAULT, &what.settings)?;
    let folder = folder(what, "transducer", session)?;
    let splits = transduction::Splits::new(0);
    let screen = Screen::new();
    let (network, training) = (&config.network, &config.training);
    let (model, card) =
        transduction::train(network, training, &splits, what.seed, Some(&folder), &screen)?;
    model.save(&folder, &card, Precision::F32)?;
    finish(&folder)?;
    if session.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    screen::print(&format!(
        "{}: {:.1} % of the training inputs come out right, {:.1} % of the held-out ones.\n\
         Try `cajole explain --model {0}` or `cajole eval --model {0}`.",
        folder.path().display(),
        card.train_exact,
        card.dev_exact
    ))
}

fn parser(what: &Train, session: &Session) -> anyhow::Result<()> {
    let mut config = parsing_config(&what.settings, &what.data)?;
    config.seed = what.seed;
    config.networks.iter_mut().for_each(|network| network.seeds.clear());
    let network = parser_network(&config.networks, what.network.as_deref())?;
    check_parser(what, network)?;
    let recipe = config.recipe(network)?;
    let screen = Screen::new();
    let splits = parsing::Splits::load(recipe.treebank, what.data.folder.as_deref(), config.seed)?;
    let folder = folder(what, &network.name, session)?;
    splits.problems.iter().for_each(|problem| screen.say(&format!("left out: {problem}")));
    let (parser, card) = parsing::train(&recipe, &splits, Some(&folder), &screen)?;
    let precision = if what.half { Precision::F16 } else { Precision::F32 };
    parser.save(&folder, &card, precision)?;
    finish(&folder)?;
    if session.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    let epochs = (card.best_epoch, card.epochs);
    tell(folder.path(), card.dev_f1, epochs, "echo \"The old man the boats .\" | cajole parse")
}

fn tagger(what: &Train, session: &Session) -> anyhow::Result<()> {
    let mut config = srl_config(&what.settings, &what.data)?;
    config.seed = what.seed;
    config.networks.iter_mut().for_each(|network| network.seeds.clear());
    let named = what.network.as_deref();
    // Unless one is named, take the first that can be trained from what is given.
    let mut fitting = config.networks.clone();
    fitting.retain(|n| named.is_some() || n.encoder.is_some() == what.encoder.is_some());
    if fitting.is_empty() {
        bail!(
            "no network of {} is an encoder: there is none with a [networks.encoder]",
            what.settings.name()
        );
    }
    let network = chosen(&fitting, |n| &n.name, named)?;
    let name = &network.name;
    let overrides = &what.settings.overrides;
    if network.encoder.is_some() {
        let other = format!("{name} is an encoder with settings of its own, {IN_A_COPY}");
        has_effect(overrides, "training", &other)?;
    }
    let own = [("epochs", network.epochs.is_some()), ("step-size", network.step_size.is_some())];
    check_own(overrides, name, &own)?;
    let recipe = Recipe { encoder: what.encoder.as_deref(), ..config.recipe(network)? };
    let screen = Screen::new();
    let splits = srl::Splits::load(recipe.corpus, what.data.folder.as_deref(), config.seed)?;
    let folder = folder(what, &network.name, session)?;
    splits.problems.iter().for_each(|problem| screen.say(&format!("left out: {problem}")));
    let (tagger, card) = srl::train(&recipe, &splits, Some(&folder), &screen)?;
    let precision = if what.half { Precision::F16 } else { Precision::F32 };
    tagger.save(&folder, &card, precision)?;
    finish(&folder)?;
    if session.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    let epochs = (card.best_epoch, card.epochs);
    tell(folder.path(), card.dev_f1, epochs, "echo \"The dog chased the cat .\" | cajole tag")
}

fn pairs(what: &Train, session: &Session) -> anyhow::Result<()> {
    let mut config: PairsConfig = settings::read(PairsConfig::DEFAULT, &what.settings)?;
    config.kind = match what.network.as_deref() {
        None => config.kind,
        Some("lstm") => Kind::Lstm,
        Some("transformer") => Kind::Transformer,
        Some(other) => bail!("--network {other:?} of pairs is neither lstm nor transformer"),
    };
    let overrides = &what.settings.overrides;
    match config.kind {
        Kind::Lstm => {
            let other = "an lstm is trained, whose sections are network and training, unless you \
                         say --network transformer";
            has_effect(overrides, "transformer", other)?;
        }
        Kind::Transformer => {
            has_effect(overrides, "training", "of a transformer it is transformer.training")?;
            has_effect(overrides, "network", "of a transformer it is transformer")?;
        }
    }
    let (Some(train), Some(dev)) = (&what.train, &what.dev) else {
        bail!("pairs are given with --train FILE and --dev FILE");
    };
    let screen = Screen::new();
    let splits = pairs::Splits::load(train, dev, config.symbols)?;
    let folder = folder(what, "pairs", session)?;
    splits.problems.iter().for_each(|problem| screen.say(&format!("left out: {problem}")));
    let (model, card) = pairs::train(&config, &splits, what.seed, Some(&folder), &screen)?;
    let precision = if what.half { Precision::F16 } else { Precision::F32 };
    model.save(&folder, &card, precision)?;
    finish(&folder)?;
    if session.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    screen::print(&format!(
        "{}: {:.1} % of the development pairs come out right, in epoch {} of {}.",
        folder.path().display(),
        card.dev_exact,
        card.best_epoch,
        card.epochs
    ))
}

/// Where to change settings of one network of several, which no override can name.
const IN_A_COPY: &str = "which you change in a copy of the settings, given with --config";

/// Refuses overrides that do not reach this parser.
fn check_parser(what: &Train, network: &parsing::NetworkConfig) -> anyhow::Result<()> {
    let (name, overrides) = (&network.name, &what.settings.overrides);
    match network.architecture {
        parsing::Architecture::Transformer => {
            let other = format!("{name} is a transformer, where it is transformer.training");
            has_effect(overrides, "training", &other)?;
        }
        _ => {
            let other = format!("{name} is no transformer, and its section is training");
            has_effect(overrides, "transformer", &other)?;
        }
    }
    let own = [
        ("epochs", network.epochs.is_some()),
        ("step-size", network.step_size.is_some()),
        ("curriculum", network.curriculum.is_some()),
    ];
    check_own(overrides, name, &own)
}

/// Refuses overrides of training settings that the network has itself.
fn check_own(overrides: &[String], name: &str, own: &[(&str, bool)]) -> anyhow::Result<()> {
    let own = own.iter().filter(|(_, is_own)| *is_own);
    own.flat_map(|(key, _)| ["training", "transformer.training"].map(|of| format!("{of}.{key}")))
        .try_for_each(|key| {
            has_effect(overrides, &key, &format!("{name} has a value of its own, {IN_A_COPY}"))
        })
}

/// Refuses an override of this key, or in this section, that would be read and have no effect.
fn has_effect(overrides: &[String], section: &str, instead: &str) -> anyhow::Result<()> {
    let is_there = |assignment: &&String| {
        let key = assignment.split('=').next().unwrap_or_default().trim();
        key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    match overrides.iter().find(is_there) {
        None => Ok(()),
        Some(assignment) => bail!("--set {assignment} has no effect: {instead}"),
    }
}

/// Says how good a network has become, and how to try it.
fn tell(folder: &Path, f1: f64, (best, all): (usize, usize), command: &str) -> anyhow::Result<()> {
    let folder = folder.display();
    screen::print(&format!(
        "{folder}: F1 {f1:.2} on the development data, in epoch {best} of {all}.\n\
         Try `{command} --model {folder}`."
    ))
}

/// The parser of this name, else the first of this architecture; the first if nothing is named.
fn parser_network<'n>(
    networks: &'n [parsing::NetworkConfig],
    name: Option<&str>,
) -> anyhow::Result<&'n parsing::NetworkConfig> {
    let of_kind = || networks.iter().find(|n| Some(n.architecture.name()) == name);
    chosen(networks, |n| &n.name, name).or_else(|error| of_kind().ok_or(error))
}

/// The network of this name, or the first.
fn chosen<'n, T>(
    networks: &'n [T],
    name_of: impl Fn(&T) -> &String,
    name: Option<&str>,
) -> anyhow::Result<&'n T> {
    let found = networks.iter().find(|n| name.is_none_or(|name| name_of(n) == name));
    found.with_context(|| {
        let names: Vec<&str> = networks.iter().map(|n| name_of(n).as_str()).collect();
        format!("no network is called {:?}; there are {}", name.unwrap_or(""), names.join(", "))
    })
}

/// The settings of the role-labeling experiment, as requested.
pub(crate) fn srl_config(settings: &Settings, data: &Data) -> anyhow::Result<SrlConfig> {
    let built_in = if data.quick { SrlConfig::QUICK } else { SrlConfig::DEFAULT };
    let config: SrlConfig = settings::read(built_in, settings)?;
    config.check().with_context(|| format!("in {}", settings.name()))?;
    Ok(config)
}

/// The settings of the parsing experiment, as requested.
pub(crate) fn parsing_config(settings: &Settings, data: &Data) -> anyhow::Result<ParsingConfig> {
    let built_in = if data.quick { ParsingConfig::QUICK } else { ParsingConfig::DEFAULT };
    let config: ParsingConfig = settings::read(built_in, settings)?;
    config.check().with_context(|| format!("in {}", settings.name()))?;
    Ok(config)
}
