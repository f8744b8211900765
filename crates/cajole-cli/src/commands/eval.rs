//! `cajole eval`: a network before and after repair, on inputs whose right outputs are known.

use std::path::PathBuf;

use anyhow::{Context, bail};
use cajole_core::Symbol;
use cajole_experiments::transduction::TransductionConfig;
use cajole_infer::Opened;
use cajole_infer::compare::Options;
use cajole_infer::engine::Engine;
use cajole_infer::line::Line;
use cajole_report::{Cell, Figure, Row, Table};
use cajole_tasks::Watch;
use cajole_tasks::transduction::Splits;
use serde_json::json;

use super::explain::line_of;
use crate::Session;
use crate::asking::{self, Asking};
use crate::screen::{self, Screen};
use crate::source::{check_bad, lines};

/// Measure a network before and after gradient-based inference
///
/// Lines are those of `cajole infer`, with right outputs: "output" or "gold", "tree" for parsers,
/// "srl" with "bio" for taggers; null is none. The measure is the task's own: F1 for parsers and taggers, else
/// the share of right symbols. Without a file, the transducer is measured on built-in data.
#[derive(clap::Args, Debug)]
pub(crate) struct Eval {
    /// Lines with right outputs; - is standard input
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,

    #[command(flatten)]
    asking: Asking,

    /// Which of the built-in inputs of the transducer
    #[arg(long, value_enum, conflicts_with = "input")]
    split: Option<Split>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    /// 1934 inputs of 2 to 20 symbols
    Train,
    /// The other 112 of these lengths
    Dev,
    /// Inputs of 26 symbols, for choosing settings
    Tune,
    /// All 6144 inputs of 22 and 24 symbols; the default
    Test,
}

pub(crate) fn run(what: &Eval, session: &Session) -> anyhow::Result<()> {
    let network = what.asking.open(session, "transducer")?;
    let file = what.asking.rule_file(&*network)?;
    let rules =
        file.as_ref().map(|file| asking::compile(file, network.vocabulary())).transpose()?;
    let settings = what.asking.settings(&*network)?;
    let screen = Screen::new();
    let (name, lines, unreadable) = inputs(what, &network, &screen)?;
    if rules.is_none() && lines.iter().all(|line| line.constraint().is_none()) {
        bail!("say what outputs have to satisfy: --constraint FILE, or \"constraint\" in lines");
    }
    let rules_name = file.map_or_else(|| "their own rules".to_owned(), |file| file.title);
    let of = Options::new(&rules_name, [Engine::gbi()]);
    let (report, bad) = network.compare(rules.as_ref(), &settings, &of, &lines, &screen)?;
    for (line, error) in &bad {
        screen.say(&format!("passed over: {name}:{line}: {error}"));
    }
    let [before, after] = report.rows.as_slice() else {
        bail!("expected a row before and a row after, not {}", report.rows.len());
    };
    report.notes.iter().for_each(|note| screen::warn(note));
    if !before.figure(Figure::WholeExact).is_finite() {
        screen::warn(
            "no input has a right output, which null is, too: give \"output\" or \"gold\"",
        );
    }
    show(network.measure(), &name, &rules_name, (before, after), session)?;
    check_bad((unreadable + bad.len()) as u64, "worked on")
}

/// What the lines are called, the lines, and how many could not be read.
fn inputs(
    what: &Eval,
    network: &Opened,
    screen: &Screen,
) -> anyhow::Result<(String, Vec<Line>, usize)> {
    if let Some(path) = &what.input {
        let source = what.asking.source(path)?;
        let name = source.name.clone();
        let (lines, bad) = lines(source, None, what.asking.flags.0.max_tokens(), screen)?;
        return Ok((name, lines, bad));
    }
    if network.name() != "transduction" {
        bail!("give a file of lines with right outputs: only the transducer has some built in");
    }
    let config: TransductionConfig =
        toml::from_str(TransductionConfig::DEFAULT).context("in the built-in settings")?;
    let splits = Splits::new(config.tuning.inputs);
    let (name, inputs) = match what.split.unwrap_or(Split::Test) {
        Split::Train => ("train", &splits.train),
        Split::Dev => ("dev", &splits.dev),
        Split::Tune => ("tune", &splits.tune),
        Split::Test => ("test", &splits.test),
    };
    let line = |(i, x): (u64, &Vec<Symbol>)| Line::parse(i, line_of(x)).ok().flatten();
    Ok((name.to_owned(), (1..).zip(inputs).filter_map(line).collect(), 0))
}

fn show(
    measure: &str,
    name: &str,
    rules_name: &str,
    (before, after): (&Row, &Row),
    session: &Session,
) -> anyhow::Result<()> {
    let conversion = after.figure(Figure::Satisfied);
    let figures = [
        (measure, Figure::Metric, Figure::WholeMetric),
        ("exact match", Figure::Exact, Figure::WholeExact),
    ];
    if session.json {
        let mut value = json!({
            "task": before.net,
            "data": name,
            "rules": rules_name,
            "total": before.total,
            "failures": before.failures,
            "conversion": finite(conversion),
            "measure": measure,
        });
        for ((_, failures, all), key) in figures.into_iter().zip(["metric", "exact"]) {
            for (row, when) in [(before, "before"), (after, "after")] {
                value[format!("{key}_{when}")] = json!(finite(row.figure(failures)));
                value[format!("whole_{key}_{when}")] = json!(finite(row.figure(all)));
            }
        }
        return screen::print(&serde_json::to_string_pretty(&value)?);
    }
    let caption =
        format!("{name}: {} of {} outputs violate {rules_name}", before.failures, before.total);
    let mut table = Table::new(caption, ["", "before", "after"]).row([
        Cell::plain("failures converted, %"),
        Cell::plain(""),
        Cell::number(conversion, 1),
    ]);
    for (what, failures, all) in figures {
        for (of, figure) in [("failures", failures), ("all", all)] {
            table = table.row([
                Cell::plain(format!("{what} on {of}, %")),
                Cell::number(before.figure(figure), 1),
                Cell::number(after.figure(figure), 1),
            ]);
        }
    }
    screen::print(&table.to_text(screen::width(), screen::has_colour()))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
