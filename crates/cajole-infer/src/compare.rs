//! All engines on the same inputs, side by side.
//!
//! Satisfying rules is easy if any answer will do. What counts is what it costs, how probable the
//! network finds the answers, and, if the right outputs are known, how good the answers are.

use std::sync::Arc;

use cajole_core::{Symbol, UnknownParameter};
use cajole_report::{Align, Axis, CaseStudy, Cell, Figure, Plot, Report, Row, Series, Table};
use cajole_rules::Rules;
use cajole_tasks::{Silent, Watch};

use crate::answer::{Answer, Status};
use crate::case::{Case, Output};
use crate::decoded::{Decoded, decode, repair};
use crate::engine::Engine;
use crate::figures::{Figures, Measured, mean};
use crate::line::{Line, LineError};
use crate::settings::Settings;
use crate::study::{self, study};
use crate::task::Task;

/// If the network can read none of this many lines, they are not meant for it.
const UNREADABLE: usize = 20;

/// A comparison of engines on one network.
pub(crate) struct Comparison<'t> {
    /// The network.
    pub(crate) task: &'t dyn Task,
    /// Rules on outputs, unless their line says otherwise.
    pub(crate) rules: Option<&'t Arc<Rules>>,
    /// How lines are answered.
    pub(crate) settings: &'t Settings,
    /// The engines to compare, and how many failures are shown.
    pub(crate) options: &'t Options,
}

/// The engines to compare, and how many failures are shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The name of the rules.
    pub rules_name: String,
    /// The engines to compare.
    pub engines: Vec<Engine>,
    /// How many failures are shown one by one.
    pub shown: usize,
}

impl Options {
    /// These engines, under rules of this name. No failures are shown.
    pub fn new(rules_name: impl Into<String>, engines: impl Into<Vec<Engine>>) -> Self {
        Options { rules_name: rules_name.into(), engines: engines.into(), shown: 0 }
    }

    /// Shows so many failures one by one.
    #[must_use]
    pub fn shown(self, shown: usize) -> Self {
        Options { shown, ..self }
    }
}

/// The answers of one engine to all failures.
struct Tried {
    engine: Engine,
    answers: Vec<Answer>,
}

/// The inputs that can be compared, and the lines that cannot be read.
type Read = (Vec<Decoded>, Vec<(u64, LineError)>);

impl Comparison<'_> {
    /// Runs every engine on every input whose own output violates its rules.
    pub(crate) fn run(
        &self,
        lines: &[Line],
        watch: &dyn Watch,
    ) -> Result<(Report, Vec<(u64, LineError)>), UnknownParameter> {
        let (decoded, bad) = self.read(lines)?;
        let failures: Vec<&Decoded> = decoded.iter().filter(|one| one.is_failure()).collect();
        let mut tried = Vec::new();
        for engine in &self.options.engines {
            watch.begin(engine.name(), failures.len() as u64);
            let settings = self.settings.clone().by(engine.clone());
            let answers = repair(self.task, &settings, &failures, watch);
            watch.end();
            tried.push(Tried { engine: engine.clone(), answers: answers? });
        }
        Ok((self.report(&decoded, &failures, &tried), bad))
    }

    /// Reads lines and decodes their inputs. Also returns the lines that cannot be read, and those
    /// whose rules cannot be measured: as in `infer`, engines do not work on these.
    fn read(&self, lines: &[Line]) -> Result<Read, UnknownParameter> {
        let (mut numbers, mut read, mut bad) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines {
            match self.read_line(line) {
                Ok((cases, rules)) => {
                    numbers.extend(cases.iter().map(|_| line.number));
                    read.extend(cases.into_iter().map(|case| (case, rules.clone())));
                }
                Err(error) => bad.push((line.number, error)),
            }
            if read.is_empty() && bad.len() == UNREADABLE {
                break;
            }
        }
        let decoded = decode(self.task, self.settings, read, &Silent)?;
        let mut measured = Vec::with_capacity(decoded.len());
        for (line, decoded) in numbers.into_iter().zip(decoded) {
            match unmeasured(&decoded.own) {
                Some(error) => bad.push((line, error)),
                None => measured.push(decoded),
            }
        }
        bad.sort_by_key(|(line, _)| *line);
        Ok((measured, bad))
    }

    /// The inputs of a line, and their rules.
    fn read_line(&self, line: &Line) -> Result<(Vec<Case>, Arc<Rules>), LineError> {
        let own = line.rules(self.task.vocabulary())?;
        let rules = own.or_else(|| self.rules.cloned()).ok_or(LineError::NoRules)?;
        let line = line.clone().with_max_tokens(self.settings.max_tokens);
        line.check_fields()?;
        Ok((self.task.cases(&line, &rules)?, rules))
    }

    fn report(&self, decoded: &[Decoded], failures: &[&Decoded], tried: &[Tried]) -> Report {
        let has_gold = decoded.iter().any(|one| one.case.gold.is_some());
        let own: Vec<&[Symbol]> = failures.iter().map(|failure| &*failure.own.output).collect();
        let whole = |row: Row, outputs: &[&[Symbol]]| {
            let all = outputs_of(decoded, outputs);
            let exact = all.iter().filter_map(|(c, y)| self.task.is_right(c, y).map(share));
            let exact = mean(exact);
            row.with(Figure::WholeMetric, self.task.score(&all).1).with(Figure::WholeExact, exact)
        };
        let mut rows = vec![
            self.row("network", decoded.len(), failures, &own)
                .with(Figure::Satisfied, 0.0)
                .with(
                    Figure::LogProb,
                    mean(failures.iter().filter_map(|f| f.own.log_prob).map(f64::from)),
                )
                .with(Figure::Passes, 0.0)
                .with(Figure::Milliseconds, 0.0),
        ];
        rows[0] = whole(rows[0].clone(), &own);
        for Tried { engine, answers } in tried {
            let outputs: Vec<&[Symbol]> = answers.iter().map(|a| &*a.output).collect();
            let figures = Figures::new(answers.iter().map(Measured::from));
            let satisfied = 100.0 * figures.satisfied as f64 / answers.len() as f64;
            let row = self
                .row(engine.name(), decoded.len(), failures, &outputs)
                .with(Figure::Satisfied, satisfied)
                .with(Figure::LogProb, figures.log_prob)
                .with(Figure::Passes, figures.passes)
                .with(Figure::Milliseconds, figures.milliseconds);
            rows.push(whole(row, &outputs));
        }
        let mut report =
            Report::new(format!("{} under {}", self.task.name(), self.options.rules_name));
        report.intro = vec![format!(
            "{} inputs; the network's own output violates the rules for {}. Figures are over these \
             failures, in per cent where they are shares; log p is under the network's own \
             weights, a pass is one run of the network over one sequence, forward or backward, and \
             times are one thread's.",
            decoded.len(),
            failures.len()
        )];
        let metric = self.metric(failures, &own).0;
        report.tables.push(overview(&rows, has_gold.then_some(metric)));
        report.plots.push(cost_plot(&rows, has_gold.then_some(metric)));
        report.tables.push(self.one_by_one(failures, tried));
        report.cases = self.traces(failures, tried);
        let without = decoded.iter().filter(|one| one.case.gold.is_none()).count();
        report.notes.extend((has_gold && 0 < without).then(|| {
            format!(
                "{without} of {} inputs have no right output (it is missing or null, or has symbols \
                 that the network does not write): {metric} and exact matches are of the others.",
                decoded.len()
            )
        }));
        report.notes.extend(has_gold.then(|| harm(&rows, metric)).flatten());
        report.rows = rows;
        report
    }

    fn row(&self, method: &str, total: usize, failures: &[&Decoded], outputs: &[&[Symbol]]) -> Row {
        let pairs = failures.iter().zip(outputs);
        let exact = pairs.filter_map(|(f, y)| self.task.is_right(&f.case, y).map(share));
        Row::new(self.task.name(), method, self.options.rules_name.as_str())
            .counted(total, failures.len())
            .with(Figure::Exact, mean(exact))
            .with(Figure::Metric, self.metric(failures, outputs).1)
    }

    /// The task's own measure, on the failures.
    fn metric(&self, failures: &[&Decoded], outputs: &[&[Symbol]]) -> (&'static str, f64) {
        let pairs = failures.iter().zip(outputs);
        let outputs: Vec<Output<'_>> = pairs.map(|(f, y)| (&f.case, *y)).collect();
        self.task.score(&outputs)
    }

    /// Single failures, with the output of every engine.
    fn one_by_one(&self, failures: &[&Decoded], tried: &[Tried]) -> Table {
        let names = tried.iter().map(|t| t.engine.name().to_owned());
        let header = ["input".to_owned(), "network".to_owned()].into_iter().chain(names);
        let n = self.options.shown.min(failures.len());
        let mut table = Table::new(
            format!(
                "{n} of {} failures, one by one: every engine's output (✓ satisfies, ✗ does not, = \
                 right)",
                failures.len()
            ),
            header.collect::<Vec<_>>(),
        );
        let outputs = tried.iter().map(|_| Align::Left);
        table = table.aligned([Align::Left, Align::Left].into_iter().chain(outputs));
        for (i, Decoded { case, own, .. }) in
            failures.iter().take(self.options.shown).copied().enumerate()
        {
            let verdicts = tried.iter().map(|t| {
                let cell = verdict(
                    &t.answers[i],
                    self.task.is_right(case, &t.answers[i].output) == Some(true),
                );
                Cell {
                    text: format!("{} {}", cell.text, self.task.text(&t.answers[i].output)),
                    ..cell
                }
            });
            let texts = [study::source(self.task, case), self.task.text(&own.output)];
            table = table.row(texts.map(Cell::plain).into_iter().chain(verdicts));
        }
        table
    }

    /// The steps of gradient-based inference, failure by failure.
    fn traces(&self, failures: &[&Decoded], tried: &[Tried]) -> Vec<CaseStudy> {
        let Some(gbi) = tried.iter().find(|t| t.engine.name() == "gbi") else { return Vec::new() };
        let shown = failures.iter().zip(&gbi.answers).take(self.options.shown).enumerate();
        shown
            .filter_map(|(i, (Decoded { case, rules, .. }, answer))| {
                study(self.task, format!("failure {}", i + 1), case, rules, answer)
            })
            .collect()
    }
}

/// A warning, if every engine's outputs are worse than the network's own: then the rules do not say
/// what is right.
fn harm(rows: &[Row], metric: &str) -> Option<String> {
    let (network, engines) = rows.split_first()?;
    let of = |row: &Row| row.figure(Figure::Metric);
    let best = engines.iter().filter(|row| !of(row).is_nan());
    let best = best.max_by(|a, b| of(a).total_cmp(&of(b)))?;
    (of(best) < of(network)).then(|| {
        format!(
            "Satisfying these rules costs accuracy: on the {} failures the network's own outputs \
             have {metric} {:.1}, and no engine's have more than {:.1} ({}). Either the rules are \
             wrong for these inputs, which `cajole lint` counts, or they say too little about what \
             is right.",
            network.failures,
            of(network),
            of(best),
            best.method
        )
    })
}

/// The output of every input, `outputs` being those of the failures.
fn outputs_of<'c>(decoded: &'c [Decoded], outputs: &[&'c [Symbol]]) -> Vec<Output<'c>> {
    let mut repaired = outputs.iter();
    let mut all = Vec::with_capacity(decoded.len());
    for Decoded { case, own, .. } in decoded {
        let output = if own.is_failing() { repaired.next() } else { None };
        all.push((case, output.copied().unwrap_or(&own.output)));
    }
    all
}

/// Why an input is left out: its rules cannot be measured, or the network fails.
fn unmeasured(own: &Answer) -> Option<LineError> {
    if let Some(failure) = &own.failure {
        return Some(LineError::other(failure.to_string()));
    }
    if own.status != Status::Unmeasured {
        return None;
    }
    let why = own.faults.iter().find(|fault| fault.cost.is_nan());
    let why = why.map_or_else(|| "g is no number".to_owned(), |fault| fault.message.clone());
    Some(LineError::Unmeasured { why })
}

fn verdict(answer: &Answer, is_right: bool) -> Cell {
    match (answer.status, is_right) {
        (Status::Satisfied, true) => Cell::plain("✓ =").best(),
        (Status::Satisfied, false) => Cell::plain("✓"),
        (_, true) => Cell::plain("✗ ="),
        (_, false) => Cell::plain("✗").muted(),
    }
}

/// One row per engine; the task's measure only if the right outputs are known.
fn overview(rows: &[Row], metric: Option<&str>) -> Table {
    let failures = rows.first().map_or(0, |row| row.failures);
    let mut header = vec!["engine", "satisfied", "log p"];
    header.extend(metric.into_iter().flat_map(|metric| [metric, "exact", "all inputs"]));
    header.extend(["passes", "ms"]);
    let plural = if failures == 1 { "" } else { "s" };
    let mut table = Table::new(format!("Engines on {failures} failure{plural}"), header);
    let best = |name: Figure| rows.iter().skip(1).map(|r| r.figure(name)).fold(f64::NAN, f64::max);
    for (i, row) in rows.iter().enumerate() {
        let cell = |name: Figure, decimals| {
            let cell = Cell::number(row.figure(name), decimals);
            if 0 < i && row.figure(name) == best(name) { cell.best() } else { cell }
        };
        let mut cells = vec![Cell::plain(row.method.as_str())];
        cells.extend([cell(Figure::Satisfied, 1), cell(Figure::LogProb, 2)]);
        if metric.is_some() {
            cells.extend([
                cell(Figure::Metric, 1),
                cell(Figure::Exact, 1),
                cell(Figure::WholeMetric, 2),
            ]);
        }
        cells.push(Cell::number(row.figure(Figure::Passes), 1));
        cells.push(Cell::number(row.figure(Figure::Milliseconds), 2));
        table = table.row(cells);
        if i == 0 {
            table = table.rule();
        }
    }
    table
}

/// How good answers are against what they cost, one point per engine.
fn cost_plot(rows: &[Row], metric: Option<&str>) -> Plot {
    let (name, label) = match metric {
        Some(metric) => (Figure::Metric, format!("{metric} on failures, per cent")),
        None => (Figure::Satisfied, "failures satisfied, per cent".to_owned()),
    };
    let measure = metric.unwrap_or("satisfaction");
    let title = format!("Cost and {measure}");
    let mut plot =
        Plot::new(title, Axis::log_and_zero("network passes per failure"), Axis::linear(label));
    let engines = rows.iter().skip(1);
    plot.series = engines
        .map(|row| {
            let point = (row.figure(Figure::Passes), row.figure(name));
            Series::points(row.method.as_str(), vec![point])
        })
        .collect();
    plot
}

fn share(is: bool) -> f64 {
    if is { 100.0 } else { 0.0 }
}
