//! `cajole compare`: all engines on one file.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use cajole_core::report::Report;
use cajole_infer::AnyTask;
use cajole_infer::compare::Comparison;
use cajole_infer::line::{Line, LineError};
use cajole_infer::task::{Case, Task};
use cajole_nn::checkpoint::write_atomically;
use cajole_rules::Rules;
use cajole_tasks::experiment::Watch;

use crate::args::Args;
use crate::args::infer::Compare;
use crate::infer::source;
use crate::ruled;
use crate::screen::{self, Screen};

pub(crate) fn run(what: &Compare, args: &Args) -> anyhow::Result<()> {
    match ruled::open(&what.ruled)? {
        AnyTask::Transduction(task) => compare(&task, what, args),
        AnyTask::Parsing(task) => compare(&task, what, args),
        AnyTask::Roles(task) => compare(&task, what, args),
        AnyTask::Pairs(task) => compare(&task, what, args),
    }
}

fn compare<T: Task>(task: &T, what: &Compare, args: &Args) -> anyhow::Result<()> {
    let Some((rules_name, rules)) = ruled::rules(&what.ruled, task)? else {
        bail!("say what outputs have to satisfy: --constraint FILE");
    };
    let screen = Screen::new();
    let (cases, bad) = cases(task, &rules, what, &screen)?;
    let engines = match what.engines.is_empty() {
        true => task.decoders().engines(),
        false => what.engines.iter().map(|&name| ruled::engine(name)).collect(),
    };
    let comparison = Comparison {
        task,
        rules: &rules,
        rules_name,
        engines,
        config: ruled::config(&what.ruled, task)?,
        limits: ruled::limits(&what.ruled, task),
        shown: what.shown,
    };
    let report = comparison.run(&cases, &screen)?;
    if let Some(folder) = &what.out {
        write(&report, folder)?;
    }
    show(&report, what, args)?;
    match bad {
        0 => Ok(()),
        n => bail!("{n} line{} could not be worked on; see above", if n == 1 { "" } else { "s" }),
    }
}

/// The inputs of the file, and how many lines of it are bad.
fn cases<T: Task>(
    task: &T,
    rules: &Rules<'_>,
    what: &Compare,
    screen: &Screen,
) -> anyhow::Result<(Vec<Case<T::Input>>, usize)> {
    let mut source = source(&what.input)?;
    let name = source.name.clone();
    let (mut cases, mut bad, mut n, mut own_rules) = (Vec::new(), 0, 0, 0);
    while what.lines.is_none_or(|most| n < most)
        && let Some((number, text)) =
            source.line().with_context(|| format!("cannot read {name}"))?
    {
        n += 1;
        let line = text.map_err(LineError::from).and_then(|text| Line::parse(number, text));
        let read = line.and_then(|line| match line {
            Some(line) => {
                own_rules += usize::from(line.constraint().is_some());
                task.cases(&line, rules)
            }
            None => Ok(Vec::new()),
        });
        match read {
            Ok(of_line) => cases.extend(of_line),
            Err(error) => {
                bad += 1;
                screen.say(&format!("passed over: {name}:{number}: {error}"));
            }
        }
    }
    if 0 < own_rules {
        screen.say(&format!("{own_rules} lines bring rules of their own, which are not compared"));
    }
    Ok((cases, bad))
}

fn show(report: &Report, what: &Compare, args: &Args) -> anyhow::Result<()> {
    if args.json {
        return screen::print(&report.to_json());
    }
    let (width, colour) = (screen::width(), screen::has_colour());
    for paragraph in &report.intro {
        screen::print(paragraph)?;
    }
    // One by one they are on the page; here only how they do on the whole.
    let overview = report.tables.first().map(|table| table.to_text(width, colour));
    screen::print(&format!("\n{}", overview.unwrap_or_default()))?;
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

fn write(report: &Report, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in [
        ("compare.json", report.to_json()),
        ("compare.md", report.to_markdown()),
        ("compare.html", report.to_html()),
    ] {
        let path = folder.join(name);
        write_atomically(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
