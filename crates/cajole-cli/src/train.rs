//! `cajole train`: a network from a seed, as a checkpoint folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cajole_nn::checkpoint::Precision;
use cajole_tasks::experiment::{Watch, finish};
use cajole_tasks::pairs::{self, PairsConfig};
use cajole_tasks::parsing::{self, ParsingConfig, parser};
use cajole_tasks::srl::{self, SrlConfig};
use cajole_tasks::transduction::{self, TransductionConfig, checkpoint};

use crate::args::{Args, Data, Task, Train};
use crate::screen::{self, Screen};
use crate::settings;

pub(crate) fn run(what: &Train, args: &Args) -> anyhow::Result<()> {
    unless_meant(what)?;
    match what.task {
        Task::Transduction => transducer(what, args),
        Task::Parsing => parser(what, args),
        Task::Srl => tagger(what, args),
        Task::Pairs => pairs(what, args),
    }
}

/// What only other tasks understand is refused.
fn unless_meant(what: &Train) -> anyhow::Result<()> {
    let Train { train, dev, network, data, .. } = what;
    match what.task {
        Task::Pairs if network.is_some() => {
            bail!("--network is for parsing and srl, not for pairs")
        }
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

/// The folder of the run, made if need be.
fn folder(what: &Train, name: &str) -> anyhow::Result<PathBuf> {
    let folder = what.out.clone().unwrap_or_else(|| Path::new("runs").join(name));
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(folder)
}

fn transducer(what: &Train, args: &Args) -> anyhow::Result<()> {
    let config: TransductionConfig = settings::read(TransductionConfig::DEFAULT, &what.settings)?;
    let folder = folder(what, "transducer")?;
    let splits = transduction::Splits::new(0);
    let screen = Screen::new();
    let (network, training) = (&config.network, &config.training);
    let (model, card) =
        transduction::train(network, training, &splits, what.seed, Some(&folder), &screen)
            .with_context(|| format!("remove {} to start afresh", folder.display()))?;
    checkpoint::save(&folder, &model, &card)?;
    finish(&folder)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    screen::print(&format!(
        "{}: {:.1} % of the training inputs come out right, {:.1} % of the held-out ones.\n\
         Try `cajole explain --model {0}` or `cajole eval --model {0}`.",
        folder.display(),
        card.train_exact,
        card.dev_exact
    ))
}

fn parser(what: &Train, args: &Args) -> anyhow::Result<()> {
    let mut config = parsing_config(&what.settings, &what.data)?;
    config.seed = what.seed;
    let network = chosen(&config.networks, |n| &n.name, what.network.as_deref())?;
    let treebank = config.treebank_of(network)?;
    let screen = Screen::new();
    let splits = parsing::Splits::load(treebank, what.data.folder.as_deref(), config.seed)?;
    let folder = folder(what, &network.name)?;
    splits.problems.iter().for_each(|problem| screen.say(&format!("left out: {problem}")));
    let (parser, card) =
        parsing::train(network, &config, treebank, &splits, Some(&folder), &screen)
            .with_context(|| format!("remove {} to start afresh", folder.display()))?;
    let precision = if what.half { Precision::F16 } else { Precision::F32 };
    parser::save(&folder, &parser, &card, precision)?;
    finish(&folder)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    let epochs = (card.best_epoch, card.epochs);
    tell(&folder, card.dev_f1, epochs, "echo \"The old man the boats .\" | cajole parse")
}

fn tagger(what: &Train, args: &Args) -> anyhow::Result<()> {
    let mut config = srl_config(&what.settings, &what.data)?;
    config.seed = what.seed;
    let network = chosen(&config.networks, |n| &n.name, what.network.as_deref())?;
    let corpus = config.corpus_of(network)?;
    let screen = Screen::new();
    let splits = srl::Splits::load(corpus, what.data.folder.as_deref(), config.seed)?;
    let folder = folder(what, &network.name)?;
    splits.problems.iter().for_each(|problem| screen.say(&format!("left out: {problem}")));
    let (tagger, card) = srl::train(network, &config, corpus, &splits, Some(&folder), &screen)
        .with_context(|| format!("remove {} to start afresh", folder.display()))?;
    let precision = if what.half { Precision::F16 } else { Precision::F32 };
    srl::tagger::save(&folder, &tagger, &card, precision)?;
    finish(&folder)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    let epochs = (card.best_epoch, card.epochs);
    tell(&folder, card.dev_f1, epochs, "echo \"The dog chased the cat .\" | cajole tag")
}

fn pairs(what: &Train, args: &Args) -> anyhow::Result<()> {
    let config: PairsConfig = settings::read(PairsConfig::DEFAULT, &what.settings)?;
    let (Some(train), Some(dev)) = (&what.train, &what.dev) else {
        bail!("pairs are given with --train FILE and --dev FILE");
    };
    let screen = Screen::new();
    let splits = pairs::Splits::load(train, dev, config.symbols)?;
    let folder = folder(what, "pairs")?;
    splits.problems.iter().for_each(|problem| screen.say(&format!("left out: {problem}")));
    let (model, card) = pairs::train(&config, &splits, what.seed, Some(&folder), &screen)
        .with_context(|| format!("remove {} to start afresh", folder.display()))?;
    let precision = if what.half { Precision::F16 } else { Precision::F32 };
    pairs::model::save(&folder, &model, &card, precision)?;
    finish(&folder)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    screen::print(&format!(
        "{}: {:.1} % of the development pairs come out right, in epoch {} of {}.",
        folder.display(),
        card.dev_exact,
        card.best_epoch,
        card.epochs
    ))
}

/// Says how good a network has become, and how to try it.
fn tell(folder: &Path, f1: f64, (best, all): (usize, usize), command: &str) -> anyhow::Result<()> {
    let folder = folder.display();
    screen::print(&format!(
        "{folder}: F1 {f1:.2} on the development data, in epoch {best} of {all}.\n\
         Try `{command} --model {folder}`."
    ))
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

/// The settings of the experiment on role labeling that were asked for.
pub(crate) fn srl_config(
    settings: &crate::args::Settings,
    data: &Data,
) -> anyhow::Result<SrlConfig> {
    let built_in = if data.quick { SrlConfig::QUICK } else { SrlConfig::DEFAULT };
    settings::read(built_in, settings)
}

/// The settings of the parsing experiment that were asked for.
pub(crate) fn parsing_config(
    settings: &crate::args::Settings,
    data: &Data,
) -> anyhow::Result<ParsingConfig> {
    let built_in = if data.quick { ParsingConfig::QUICK } else { ParsingConfig::DEFAULT };
    settings::read(built_in, settings)
}
