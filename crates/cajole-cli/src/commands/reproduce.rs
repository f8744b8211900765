//! `cajole reproduce`: a whole experiment, with its report.

use std::path::PathBuf;

use std::time::Instant;

use anyhow::bail;
use cajole_experiments::transduction::TransductionConfig;
use cajole_experiments::{Places, parsing, srl, transduction};
use cajole_files::Folder;
use cajole_report::Report;
use cajole_tasks::Watch;

use super::train::{parsing_config, srl_config};
use crate::Session;
use crate::output::folder;
use crate::screen::{self, Screen};
use crate::settings::{self, Data, Settings};

/// Run an experiment of the paper: train, find failures, repair them by every method, report
#[derive(clap::Args, Debug)]
pub(crate) struct Reproduce {
    /// Which experiment
    pub(crate) task: Experiment,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Where report.json, report.md, report.html and the networks go
    #[arg(long, value_name = "FOLDER", default_value = "report")]
    pub(crate) out: PathBuf,

    /// Replace a report that is there; what has been measured is kept and reused
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Train one network per kind from this seed, instead of the configured ones
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Measure the trained networks in this folder, one checkpoint folder each, and train none
    /// (parsing, srl)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) nets: Option<PathBuf>,

    /// Measure only these of the configured networks (parsing, srl)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) networks: Vec<String>,

    #[command(flatten)]
    pub(crate) data: Data,
}

/// Which experiment of the paper.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Experiment {
    /// The paper's synthetic sequence transduction
    Transduction,
    /// Constituency parsing by shift-reduce commands
    Parsing,
    /// Semantic role labeling by tags
    Srl,
}

/// The files of a report.
const FILES: [&str; 3] = ["report.json", "report.md", "report.html"];

pub(crate) fn run(what: &Reproduce, session: &Session) -> anyhow::Result<()> {
    let started = Instant::now();
    session.interrupt.advise(": the same command goes on where it was");
    let screen = Screen::new();
    let (report, out) = match what.task {
        Experiment::Transduction => transduction(what, &screen)?,
        Experiment::Parsing => parsing(what, &screen)?,
        Experiment::Srl => srl(what, &screen)?,
    };
    let texts = [report.to_json(), report.to_markdown(), report.to_html()];
    FILES.iter().zip(texts).try_for_each(|(name, text)| out.put(name, text.as_bytes()))?;
    if session.json {
        return screen::print(&report.to_json());
    }
    print(&report)?;
    screen::print(&format!(
        "\nAll figures, plots and networks are in {}/; open {}.\n{:.0} s.",
        what.out.display(),
        what.out.join("report.html").display(),
        started.elapsed().as_secs_f64()
    ))
}

fn transduction(what: &Reproduce, screen: &Screen) -> anyhow::Result<(Report, Folder)> {
    if what.nets.is_some() || !what.networks.is_empty() {
        bail!("--nets and --networks are for parsing and srl; transducers are trained in seconds");
    }
    let mut config: TransductionConfig =
        settings::read(TransductionConfig::DEFAULT, &what.settings)?;
    if let Some(seed) = what.seed {
        config.seeds = vec![seed];
    }
    screen.say(&format!(
        "Sequence transduction: {} networks to train and cajole, about 20 s each.",
        config.seeds.len() * config.start_states.len()
    ));
    let out = what.folder()?;
    Ok((transduction::reproduce(&config, Some(&out), screen)?, out))
}

fn parsing(what: &Reproduce, screen: &Screen) -> anyhow::Result<(Report, Folder)> {
    let mut config = parsing_config(&what.settings, &what.data)?;
    if let Some(seed) = what.seed {
        config.seed = seed;
        config.networks.iter_mut().for_each(|network| network.seeds.clear());
    }
    announce("Constituency parsing", config.seeded().len(), what, screen);
    let out = what.folder()?;
    Ok((parsing::reproduce(&config, &what.places(&out), screen)?, out))
}

fn srl(what: &Reproduce, screen: &Screen) -> anyhow::Result<(Report, Folder)> {
    let mut config = srl_config(&what.settings, &what.data)?;
    if let Some(seed) = what.seed {
        config.seed = seed;
        config.networks.iter_mut().for_each(|network| network.seeds.clear());
    }
    announce("Semantic role labeling", config.seeded().len(), what, screen);
    let out = what.folder()?;
    Ok((srl::reproduce(&config, &what.places(&out), screen)?, out))
}

impl Reproduce {
    /// Where everything goes. The settings have been read.
    fn folder(&self) -> anyhow::Result<Folder> {
        let out = folder(&self.out, self.overwrite)?;
        // A report of what has been measured already comes out as it was, to the last digit.
        if !out.join("measured").exists() {
            out.claim(FILES)?;
        }
        Ok(out)
    }

    fn places<'a>(&'a self, out: &'a Folder) -> Places<'a> {
        Places {
            data: self.data.folder.as_deref(),
            out: Some(out),
            nets: self.nets.as_deref(),
            only: &self.networks,
        }
    }
}

/// Announces what will be done, and how long it takes.
fn announce(task: &str, networks: usize, what: &Reproduce, screen: &Screen) {
    if let Some(nets) = &what.nets {
        let nets = nets.display();
        return screen.say(&format!("{task}: the trained networks in {nets} are to be cajoled."));
    }
    let networks = if what.networks.is_empty() { networks } else { what.networks.len() };
    screen.say(&format!(
        "{task}: {networks} networks to train, or to reuse from {}/nets, and to cajole.{}",
        what.out.display(),
        if what.data.quick { "" } else { " Training takes hours; --quick takes minutes." }
    ));
}

/// All tables and the case studies; plots are for the page.
fn print(report: &Report) -> anyhow::Result<()> {
    let (width, colour) = (screen::width(), screen::has_colour());
    for table in &report.tables {
        screen::print(&format!("\n{}", table.to_text(width, colour)))?;
    }
    for case in &report.cases {
        screen::print(&format!("\n{}", case.to_text(width, colour)))?;
    }
    Ok(())
}
