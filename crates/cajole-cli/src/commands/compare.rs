//! `cajole compare`: all engines on one file.

use std::path::PathBuf;

use anyhow::bail;
use cajole_files::{FileError, Folder};
use cajole_infer::compare::Options;
use cajole_infer::engine::Engine;
use cajole_infer::limits::MOST_SHOWN;
use cajole_infer::line::LineError;
use cajole_nn::settings::MOST_SIZE;
use cajole_report::Report;
use cajole_tasks::Watch;

use crate::Session;
use crate::asking::{self, Asking};
use crate::flags;
use crate::output::folder;
use crate::range::within;
use crate::screen::{self, Screen};
use crate::source::{check_bad, lines};

/// Compare all ways of making outputs obey on one file: satisfaction, quality, cost
#[derive(clap::Args, Debug)]
pub(crate) struct Compare {
    /// Lines to answer, with right outputs if there are any; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    input: PathBuf,

    #[command(flatten)]
    asking: Asking,

    /// Only these engines [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = flags::EngineParser)]
    engines: Vec<Engine>,

    /// Only the first N lines
    #[arg(long, value_name = "N", value_parser = within(1, MOST_SIZE))]
    lines: Option<usize>,

    /// How many failures to show one by one
    #[arg(long, value_name = "N", default_value = "20", value_parser = within(0, MOST_SHOWN))]
    shown: usize,

    /// Where compare.json, compare.md and compare.html go
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// Replace a report that is there; what the command reads is never replaced
    #[arg(long, requires = "out")]
    overwrite: bool,
}

/// The files of a report.
const FILES: [&str; 3] = ["compare.json", "compare.md", "compare.html"];

pub(crate) fn run(what: &Compare, session: &Session) -> anyhow::Result<()> {
    let network = what.asking.open(session, "transducer")?;
    let file = what.asking.rule_file(&*network)?;
    let rules =
        file.as_ref().map(|file| asking::compile(file, network.vocabulary())).transpose()?;
    let engines = match what.engines.is_empty() {
        true => network.engines(),
        false => what.engines.clone(),
    };
    let settings = what.asking.settings(&*network)?;
    let screen = Screen::new();
    let source = what.asking.source(&what.input)?;
    let name = source.name.clone();
    let (lines, unreadable) = lines(source, what.lines, what.asking.flags.0.max_tokens(), &screen)?;
    if rules.is_none() && lines.iter().all(|line| line.constraint().is_none()) {
        bail!("say what outputs have to satisfy: --constraint FILE, or \"constraint\" in lines");
    }
    // Find out that nothing can be written before anything is computed.
    let folder = what.out.as_deref().map(|out| folder(out, what.overwrite)).transpose()?;
    if let Some(folder) = &folder {
        folder.claim(FILES)?;
    }
    let rules_name = file.map_or_else(|| "their own rules".to_owned(), |file| file.title);
    let of = Options::new(rules_name, engines).shown(what.shown);
    let (report, bad) = network.compare(rules.as_ref(), &settings, &of, &lines, &screen)?;
    if let (0, Some((line, error))) = (report.rows.first().map_or(0, |row| row.total), bad.first())
    {
        if matches!(error, LineError::Unmeasured { .. }) {
            bail!("none of the {} inputs can be measured: {name}:{line}: {error}", bad.len());
        }
        bail!(
            "the network can read none of the first {} lines of {name}, of which the first says: \
             {name}:{line}: {error}; name the network that they are for with --model",
            bad.len()
        );
    }
    for (line, error) in &bad {
        screen.say(&format!("passed over: {name}:{line}: {error}"));
    }
    let written = folder.map_or(Ok(()), |folder| write(&report, &folder));
    show(&report, what, session)?;
    written?;
    check_bad((unreadable + bad.len()) as u64, "worked on")
}

fn show(report: &Report, what: &Compare, session: &Session) -> anyhow::Result<()> {
    if session.json {
        return screen::print(&report.to_json());
    }
    let (width, colour) = (screen::width(), screen::has_colour());
    for paragraph in &report.intro {
        screen::print(paragraph)?;
    }
    // The page has single failures; here, only the overview.
    let overview = report.tables.first().map(|table| table.to_text(width, colour));
    screen::print(&format!("\n{}", overview.unwrap_or_default()))?;
    for note in &report.notes {
        screen::print(&format!("\nwarning: {note}"))?;
    }
    match &what.out {
        Some(folder) => screen::print(&format!(
            "\nFailures one by one, plots and traces: open {}.",
            folder.join("compare.html").display()
        )),
        None => {
            screen::print("\nWith --out FOLDER, a page shows failures one by one, with traces.")
        }
    }
}

fn write(report: &Report, folder: &Folder) -> Result<(), FileError> {
    let texts = [report.to_json(), report.to_markdown(), report.to_html()];
    FILES.iter().zip(texts).try_for_each(|(name, text)| folder.put(name, text.as_bytes()))
}
