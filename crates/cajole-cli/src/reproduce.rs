//! `cajole reproduce`: a whole experiment, with its report.

use std::fs;
use std::time::Instant;

use anyhow::Context;
use cajole_core::report::Report;
use cajole_nn::checkpoint::write_atomically;
use cajole_tasks::experiment::Watch;
use cajole_tasks::transduction::TransductionConfig;
use cajole_tasks::{parsing, srl, transduction};

use crate::args::{Args, Experiment, Reproduce};
use crate::screen::{self, Screen};
use crate::settings;
use crate::train::{parsing_config, srl_config};

pub(crate) fn run(what: &Reproduce, args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    fs::create_dir_all(&what.out)
        .with_context(|| format!("cannot make the folder {}", what.out.display()))?;
    let screen = Screen::new();
    let report = match what.task {
        Experiment::Transduction => transduction(what, &screen)?,
        Experiment::Parsing => parsing(what, &screen)?,
        Experiment::Srl => srl(what, &screen)?,
    };
    write(&report, what)?;
    if args.json {
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

fn transduction(what: &Reproduce, screen: &Screen) -> anyhow::Result<Report> {
    let mut config: TransductionConfig =
        settings::read(TransductionConfig::DEFAULT, &what.settings)?;
    if let Some(seed) = what.seed {
        config.seeds = vec![seed];
    }
    screen.say(&format!(
        "Sequence transduction: {} networks to train and cajole, about 20 s each.",
        config.seeds.len() * config.start_states.len()
    ));
    Ok(transduction::reproduce(&config, Some(&what.out), screen)?)
}

fn parsing(what: &Reproduce, screen: &Screen) -> anyhow::Result<Report> {
    let mut config = parsing_config(&what.settings, &what.data)?;
    config.seed = what.seed.unwrap_or(config.seed);
    announce("Constituency parsing", config.networks.len(), what, screen);
    Ok(parsing::reproduce(&config, what.data.folder.as_deref(), Some(&what.out), screen)?)
}

fn srl(what: &Reproduce, screen: &Screen) -> anyhow::Result<Report> {
    let mut config = srl_config(&what.settings, &what.data)?;
    config.seed = what.seed.unwrap_or(config.seed);
    announce("Semantic role labeling", config.networks.len(), what, screen);
    Ok(srl::reproduce(&config, what.data.folder.as_deref(), Some(&what.out), screen)?)
}

/// What is about to be done, and how long it takes.
fn announce(task: &str, networks: usize, what: &Reproduce, screen: &Screen) {
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

fn write(report: &Report, what: &Reproduce) -> anyhow::Result<()> {
    for (name, text) in [
        ("report.json", report.to_json()),
        ("report.md", report.to_markdown()),
        ("report.html", report.to_html()),
    ] {
        let path = what.out.join(name);
        write_atomically(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
