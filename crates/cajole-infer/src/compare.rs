//! All engines on the same inputs, side by side.
//!
//! Satisfying rules is easy if any answer will do. What counts is what it costs, how probable the
//! network finds the answers, and, if the right outputs are known, how good the answers are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cajole_core::corpus::in_parallel;
use cajole_core::{Candidate, Constraint, Symbol, UnknownParameter};
use cajole_report::{Align, Axis, CaseStudy, Cell, Figure, Plot, Report, Row, Series, Table};
use cajole_rules::Rules;
use cajole_tasks::Watch;

use crate::answer::own_rules;
use crate::attempt::g_of;
use crate::engine::{Answer, Engine, Status};
use crate::line::{Line, LineError};
use crate::settings::Settings;
use crate::study::{self, study};
use crate::task::{Case, Output, Task};
use crate::worker::{Failing, Worker};

/// If the network can read none of this many lines, they are not meant for it.
const UNREADABLE: usize = 20;

/// Inputs that a thread takes at a time.
const LOT: usize = 3 * cajole_core::corpus::BATCH;

/// What [`Runnable::compare`](crate::Runnable::compare) compares.
pub(crate) struct Comparison<'t, T> {
    /// The network.
    pub(crate) task: &'t T,
    /// What outputs must satisfy, unless their line says otherwise.
    pub(crate) rules: Option<&'t Rules>,
    /// How far engines go.
    pub(crate) settings: &'t Settings,
    /// The rest.
    pub(crate) of: &'t Options,
}

/// What is compared, and what is shown of it.
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

/// A failure of the network: an input, its own output, and the rules that it violates.
struct Failure<'c, I> {
    case: &'c Case<I>,
    first: &'c Candidate,
    rules: &'c Rules,
}

/// The inputs of a line, and its own rules if it brings any.
type ReadLine<I> = (Vec<Case<I>>, Option<Arc<Rules>>);

/// The rules that an input's line brings, if any, and the number of the line.
type Of = (Option<Arc<Rules>>, u64);

/// What one engine made of all failures.
struct Tried {
    engine: Engine,
    answers: Vec<Answer>,
}

impl<T: Task> Comparison<'_, T> {
    /// Runs every engine on every input whose own output violates its rules.
    pub(crate) fn run(
        &self,
        lines: &[Line],
        watch: &dyn Watch,
    ) -> Result<(Report, Vec<(u64, LineError)>), UnknownParameter> {
        Worker::new(self.task, self.settings)?;
        let (mut cases, mut bad) = (Vec::new(), Vec::new());
        for line in lines {
            match self.read(line) {
                Ok((of_line, rules)) => {
                    let of = |case| (case, (rules.clone(), line.number));
                    cases.extend(of_line.into_iter().map(of));
                }
                Err(error) => bad.push((line.number, error)),
            }
            if cases.is_empty() && bad.len() == UNREADABLE {
                break;
            }
        }
        let (cases, of): (Vec<Case<T::Input>>, Vec<Of>) = cases.into_iter().unzip();
        let all = self.firsts(&cases).into_iter().zip(cases).zip(&of);
        let (mut cases, mut firsts, mut failing) = (Vec::new(), Vec::new(), Vec::new());
        for ((first, case), (own, line)) in all {
            let Some(rules) = own.as_deref().or(self.rules) else { continue };
            let g = g_of(rules, &case, &first);
            if g.is_nan() {
                // As in `infer`, engines do not work on what cannot be measured.
                let why = rules.explain(&case.subject, &first.output);
                let why = why.into_iter().find(|fault| fault.cost.is_nan());
                let why = why.map_or_else(|| "g is no number".to_owned(), |fault| fault.message);
                bad.push((*line, LineError::Unmeasured { why }));
                continue;
            }
            failing.extend((g != 0.0).then_some((cases.len(), rules)));
            cases.push(case);
            firsts.push(first);
        }
        bad.sort_by_key(|(line, _)| *line);
        let failure =
            |(i, rules): (usize, _)| Failure { case: &cases[i], first: &firsts[i], rules };
        let failures: Vec<Failure<'_, T::Input>> = failing.into_iter().map(failure).collect();
        let mut tried = Vec::new();
        for &engine in &self.of.engines {
            watch.begin(engine.name(), failures.len() as u64);
            let answers = self.answers(engine, &failures, watch);
            watch.end();
            tried.push(Tried { engine, answers });
        }
        Ok((self.report(&cases, &firsts, &failures, &tried), bad))
    }

    /// The inputs of a line, and its own rules if it brings any.
    fn read(&self, line: &Line) -> Result<ReadLine<T::Input>, LineError> {
        let own = line.constraint().map(|own| own_rules(self.task, own)).transpose()?;
        let rules = own.as_deref().or(self.rules).ok_or(LineError::NoRules)?;
        Ok((self.cases(line, rules)?, own))
    }

    fn cases(&self, line: &Line, rules: &Rules) -> Result<Vec<Case<T::Input>>, LineError> {
        let line = line.clone().with_max_tokens(self.settings.limits.max_tokens);
        line.check_fields()?;
        self.task.cases(&line, rules)
    }

    /// The network's own outputs; an empty one where the network fails.
    fn firsts(&self, cases: &[Case<T::Input>]) -> Vec<Candidate> {
        let lots: Vec<&[Case<T::Input>]> = cases.chunks(LOT).collect();
        let worker = || Worker::new(self.task, self.settings).ok();
        let decoded = in_parallel(lots.len(), worker, |worker, i| {
            let lot: Vec<&Case<T::Input>> = lots[i].iter().collect();
            let lines: Vec<usize> = (0..lot.len()).collect();
            let firsts = worker.as_mut().map(|worker| worker.firsts(&lot, &lines, |_| None));
            let firsts = firsts.unwrap_or_default();
            firsts.into_iter().map(|first| first.unwrap_or_default().output).collect::<Vec<_>>()
        });
        decoded.into_iter().flatten().collect()
    }

    fn answers<'c>(
        &self,
        engine: Engine,
        failures: &[Failure<'c, T::Input>],
        watch: &dyn Watch,
    ) -> Vec<Answer> {
        let done = AtomicU64::new(0);
        let lots: Vec<&[Failure<'_, T::Input>]> = failures.chunks(LOT).collect();
        let worker = || Worker::new(self.task, self.settings).ok();
        let answers = in_parallel(lots.len(), worker, |worker, i| {
            let Some(worker) = worker else { return Vec::new() };
            let failing = |(line, failure): (usize, &Failure<'c, T::Input>)| {
                let Failure { case, first, rules } = *failure;
                let used = Duration::ZERO; // each engine has all the time
                (Failing { case, first, line, used, among: 1, awaited: None }, rules)
            };
            let failing: Vec<(Failing<'_, T>, &Rules)> =
                lots[i].iter().enumerate().map(failing).collect();
            let mut answers = worker.repair_all(engine, &failing);
            worker.judge(lots[i].iter().map(|failure| failure.case).zip(&mut answers).collect());
            let n = lots[i].len() as u64;
            watch.advance(done.fetch_add(n, Ordering::Relaxed) + n, "");
            answers
        });
        answers.into_iter().flatten().collect()
    }

    fn report(
        &self,
        cases: &[Case<T::Input>],
        firsts: &[Candidate],
        failures: &[Failure<'_, T::Input>],
        tried: &[Tried],
    ) -> Report {
        let has_gold = cases.iter().any(|case| case.gold.is_some());
        let own = |failure: &Failure<'_, T::Input>| failure.first.output.clone();
        let own: Vec<Vec<Symbol>> = failures.iter().map(own).collect();
        let whole = |row: Row, outputs: &[Vec<Symbol>]| {
            let all = outputs_of(cases, firsts, failures, outputs);
            let exact = all.iter().filter_map(|(c, y)| self.task.is_right(c, y).map(share));
            let exact = mean(exact);
            row.with(Figure::WholeMetric, self.task.score(&all).1).with(Figure::WholeExact, exact)
        };
        let mut rows = vec![
            self.row("network", cases.len(), failures, &own)
                .with(Figure::Satisfied, 0.0)
                .with(Figure::LogProb, mean(failures.iter().map(|f| f64::from(f.first.log_prob))))
                .with(Figure::Passes, 0.0)
                .with(Figure::Milliseconds, 0.0),
        ];
        rows[0] = whole(rows[0].clone(), &own);
        for Tried { engine, answers } in tried {
            let outputs: Vec<Vec<Symbol>> = answers.iter().map(|a| a.output.clone()).collect();
            let satisfied = answers.iter().map(|a| share(a.status == Status::Satisfied));
            let row = self
                .row(engine.name(), cases.len(), failures, &outputs)
                .with(Figure::Satisfied, mean(satisfied))
                .with(
                    Figure::LogProb,
                    mean(answers.iter().filter_map(|a| a.log_prob).map(f64::from)),
                )
                .with(Figure::Passes, mean(answers.iter().map(|a| a.passes as f64)))
                .with(Figure::Milliseconds, mean(answers.iter().map(milliseconds)));
            rows.push(whole(row, &outputs));
        }
        let mut report = Report::new(format!("{} under {}", T::NAME, self.of.rules_name));
        report.intro = vec![format!(
            "{} inputs; the network's own output violates the rules for {}. Figures are over these \
             failures, in per cent where they are shares; log p is under the network's own \
             weights, a pass is one run of the network over one sequence, forward or backward, and \
             times are one thread's.",
            cases.len(),
            failures.len()
        )];
        let metric = self.metric(failures, &own).0;
        report.tables.push(overview(&rows, has_gold.then_some(metric)));
        report.plots.push(cost_plot(&rows, has_gold.then_some(metric)));
        report.tables.push(self.one_by_one(failures, tried));
        report.cases = self.traces(failures, tried);
        let without = cases.iter().filter(|case| case.gold.is_none()).count();
        report.notes.extend((has_gold && 0 < without).then(|| {
            format!(
                "{without} of {} inputs have no right output (it is missing or null, or has symbols \
                 that the network does not write): {metric} and exact matches are of the others.",
                cases.len()
            )
        }));
        report.notes.extend(has_gold.then(|| harm(&rows, metric)).flatten());
        report.rows = rows;
        report
    }

    fn row(
        &self,
        method: &str,
        total: usize,
        failures: &[Failure<'_, T::Input>],
        outputs: &[Vec<Symbol>],
    ) -> Row {
        let pairs = failures.iter().zip(outputs);
        let exact = pairs.filter_map(|(f, y)| self.task.is_right(f.case, y).map(share));
        Row::new(T::NAME, method, self.of.rules_name.as_str())
            .counted(total, failures.len())
            .with(Figure::Exact, mean(exact))
            .with(Figure::Metric, self.metric(failures, outputs).1)
    }

    /// The task's own measure, on the failures.
    fn metric(
        &self,
        failures: &[Failure<'_, T::Input>],
        outputs: &[Vec<Symbol>],
    ) -> (&'static str, f64) {
        let pairs = failures.iter().zip(outputs);
        let outputs: Vec<_> = pairs.map(|(f, y)| (f.case, y.as_slice())).collect();
        self.task.score(&outputs)
    }

    /// What every engine made of single failures.
    fn one_by_one(&self, failures: &[Failure<'_, T::Input>], tried: &[Tried]) -> Table {
        let names = tried.iter().map(|t| t.engine.name().to_owned());
        let header = ["input".to_owned(), "network".to_owned()].into_iter().chain(names);
        let n = self.of.shown.min(failures.len());
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
        for (i, Failure { case, first, .. }) in failures.iter().take(self.of.shown).enumerate() {
            let verdicts = tried.iter().map(|t| {
                let cell = verdict(
                    &t.answers[i],
                    self.task.is_right(case, &t.answers[i].output) == Some(true),
                );
                Cell { text: format!("{} {}", cell.text, self.text(&t.answers[i].output)), ..cell }
            });
            let texts = [study::source(self.task, case), self.text(&first.output)];
            table = table.row(texts.map(Cell::plain).into_iter().chain(verdicts));
        }
        table
    }

    /// The steps of gradient-based inference, failure by failure.
    fn traces(&self, failures: &[Failure<'_, T::Input>], tried: &[Tried]) -> Vec<CaseStudy> {
        let Some(gbi) = tried.iter().find(|t| t.engine == Engine::Gbi) else { return Vec::new() };
        let shown = failures.iter().zip(&gbi.answers).take(self.of.shown).enumerate();
        shown
            .filter_map(|(i, (Failure { case, rules, .. }, answer))| {
                study(self.task, format!("failure {}", i + 1), case, rules, answer)
            })
            .collect()
    }

    fn text(&self, y: &[Symbol]) -> String {
        self.task.vocabulary().text(y)
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
fn outputs_of<'c, I>(
    cases: &'c [Case<I>],
    firsts: &'c [Candidate],
    failures: &[Failure<'_, I>],
    outputs: &'c [Vec<Symbol>],
) -> Vec<Output<'c, I>> {
    let mut repaired = failures.iter().zip(outputs).peekable();
    let all = cases.iter().zip(firsts).map(|(case, first)| {
        let is_failure =
            |(failure, _): &(&Failure<'_, I>, &'c Vec<Symbol>)| std::ptr::eq(failure.case, case);
        let y = repaired.next_if(is_failure).map_or(&first.output, |(_, y)| y);
        (case, y.as_slice())
    });
    all.collect()
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

fn milliseconds(answer: &Answer) -> f64 {
    answer.elapsed.as_secs_f64() * 1e3
}

/// The mean; NaN without values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    sum / n as f64
}
