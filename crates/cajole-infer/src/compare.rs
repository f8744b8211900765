//! All engines on the same inputs, side by side.
//!
//! Satisfying rules is easy for who may answer anything; what counts is what it costs, how probable
//! the network finds the answers, and, where the right outputs are known, how good they are.

use cajole_core::corpus::in_parallel;
use cajole_core::report::{
    Align, Axis, CaseStep, CaseStudy, Cell, Piece, Plot, Report, Row, Series, Table,
};
use cajole_core::{Candidate, Config, Constraint, Symbol, UnknownGroup};
use cajole_rules::Rules;
use cajole_tasks::experiment::Watch;

use crate::engine::{Answer, Engine, Limits, Status, Worker};
use crate::task::{Case, Task};

/// Inputs that run through the network together on the first pass.
const BATCH: usize = 32;

/// What is compared.
pub struct Comparison<'t, T> {
    /// The network.
    pub task: &'t T,
    /// What outputs have to satisfy.
    pub rules: &'t Rules<'t>,
    /// What they are called.
    pub rules_name: String,
    /// In which ways.
    pub engines: Vec<Engine>,
    /// The settings of gradient-based inference.
    pub config: Config,
    /// How far engines go.
    pub limits: Limits,
    /// How many failures are shown one by one.
    pub shown: usize,
}

/// A failure of the network: an input and its own output.
type Failure<'c, I> = (&'c Case<I>, &'c Candidate);

/// What one engine made of all failures.
struct Tried {
    engine: Engine,
    answers: Vec<Answer>,
}

impl<T: Task> Comparison<'_, T> {
    /// Runs every engine on every input whose own output violates the rules.
    ///
    /// # Errors
    /// If the settings name a parameter group that the network does not have.
    pub fn run(&self, cases: &[Case<T::Input>], watch: &dyn Watch) -> Result<Report, UnknownGroup> {
        Worker::new(self.task, &self.config, &self.limits)?;
        let firsts = self.firsts(cases);
        let is_failure = |(case, y): &Failure<'_, T::Input>| {
            y.capped || !self.rules.check(&case.subject, &y.output).is_satisfied()
        };
        let failures: Vec<Failure<'_, T::Input>> =
            cases.iter().zip(&firsts).filter(is_failure).collect();
        let mut tried = Vec::new();
        for &engine in &self.engines {
            watch.begin(engine.name(), failures.len() as u64);
            let answers = self.answers(engine, &failures, watch);
            watch.end();
            tried.push(Tried { engine, answers });
        }
        Ok(self.report(cases, &firsts, &failures, &tried))
    }

    /// The network's own outputs, batched.
    fn firsts(&self, cases: &[Case<T::Input>]) -> Vec<Candidate> {
        let batches: Vec<&[Case<T::Input>]> = cases.chunks(BATCH).collect();
        let worker = || Worker::new(self.task, &self.config, &self.limits).ok();
        let decoded = in_parallel(batches.len(), worker, |worker, i| {
            let batch: Vec<&Case<T::Input>> = batches[i].iter().collect();
            worker.as_mut().map_or_else(Vec::new, |worker| worker.first(&batch))
        });
        decoded.into_iter().flatten().collect()
    }

    fn answers(
        &self,
        engine: Engine,
        failures: &[Failure<'_, T::Input>],
        watch: &dyn Watch,
    ) -> Vec<Answer> {
        let done = std::sync::atomic::AtomicU64::new(0);
        let worker = || Worker::new(self.task, &self.config, &self.limits).ok();
        let answers = in_parallel(failures.len(), worker, |worker, i| {
            let worker = worker.as_mut()?;
            let (case, first) = failures[i];
            let mut answer = worker.answer(engine, case, self.rules, first);
            if answer.log_prob.is_none() {
                answer.log_prob = Some(worker.log_prob(case, &answer.output));
            }
            let n = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            watch.advance(n, "");
            Some(answer)
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
        let own = |(_, first): &Failure<'_, T::Input>| first.output.clone();
        let own: Vec<Vec<Symbol>> = failures.iter().map(own).collect();
        let whole = |outputs: &[Vec<Symbol>]| self.whole(cases, firsts, failures, outputs);
        let mut rows = vec![
            self.row("network", cases.len(), failures, &own)
                .with("satisfied", 0.0)
                .with("log_prob", mean(failures.iter().map(|(_, y)| f64::from(y.log_prob))))
                .with("passes", 0.0)
                .with("milliseconds", 0.0),
        ];
        rows[0] = with_whole(rows[0].clone(), whole(&own));
        for Tried { engine, answers } in tried {
            let outputs: Vec<Vec<Symbol>> = answers.iter().map(|a| a.output.clone()).collect();
            let satisfied = answers.iter().map(|a| share(a.status == Status::Satisfied));
            let row = self
                .row(engine.name(), cases.len(), failures, &outputs)
                .with("satisfied", mean(satisfied))
                .with("log_prob", mean(answers.iter().filter_map(|a| a.log_prob).map(f64::from)))
                .with("passes", mean(answers.iter().map(|a| a.passes as f64)))
                .with("milliseconds", mean(answers.iter().map(milliseconds)));
            rows.push(with_whole(row, whole(&outputs)));
        }
        let mut report = Report::new(format!("{} under {}", T::NAME, self.rules_name));
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
        let exact = pairs.filter_map(|((case, _), y)| Some(share(case.gold.as_ref()? == y)));
        Row::new(T::NAME, method, self.rules_name.as_str())
            .counted(total, failures.len())
            .with("exact", mean(exact))
            .with("metric", self.metric(failures, outputs).1)
    }

    /// The task's own measure, on the failures.
    fn metric(
        &self,
        failures: &[Failure<'_, T::Input>],
        outputs: &[Vec<Symbol>],
    ) -> (&'static str, f64) {
        let pairs = failures.iter().zip(outputs);
        let outputs: Vec<_> = pairs.map(|((case, _), y)| (*case, y.as_slice())).collect();
        self.task.score(&outputs)
    }

    /// The task's own measure, on all inputs, these being the outputs of the failures.
    fn whole(
        &self,
        cases: &[Case<T::Input>],
        firsts: &[Candidate],
        failures: &[Failure<'_, T::Input>],
        outputs: &[Vec<Symbol>],
    ) -> f64 {
        let mut repaired = failures.iter().zip(outputs).peekable();
        let all = cases.iter().zip(firsts).map(|(case, first)| {
            let is_failure = |((failure, _), _): &(&Failure<'_, T::Input>, &Vec<Symbol>)| {
                std::ptr::eq(*failure, case)
            };
            let y = repaired.next_if(is_failure).map_or(&first.output, |(_, y)| y);
            (case, y.as_slice())
        });
        self.task.score(&all.collect::<Vec<_>>()).1
    }

    /// What every engine made of single failures.
    fn one_by_one(&self, failures: &[Failure<'_, T::Input>], tried: &[Tried]) -> Table {
        let names = tried.iter().map(|t| t.engine.name().to_owned());
        let header = ["input".to_owned(), "network".to_owned()].into_iter().chain(names);
        let n = self.shown.min(failures.len());
        let mut table = Table::new(
            format!(
                "{n} of {} failures, one by one (✓ satisfies, ✗ does not, = right)",
                failures.len()
            ),
            header.collect::<Vec<_>>(),
        );
        let marks = tried.iter().map(|_| Align::Right);
        table = table.aligned([Align::Left, Align::Left].into_iter().chain(marks));
        for (i, (case, first)) in failures.iter().take(self.shown).enumerate() {
            let verdicts = tried.iter().map(|t| verdict(case, &t.answers[i]));
            let texts = [case.subject.symbols.join(" "), self.text(&first.output)];
            table = table.row(texts.map(Cell::plain).into_iter().chain(verdicts));
        }
        table
    }

    /// The steps of gradient-based inference, failure by failure.
    fn traces(&self, failures: &[Failure<'_, T::Input>], tried: &[Tried]) -> Vec<CaseStudy> {
        let Some(gbi) = tried.iter().find(|t| t.engine == Engine::Gbi) else { return Vec::new() };
        let shown = failures.iter().zip(&gbi.answers).take(self.shown).enumerate();
        shown.filter_map(|(i, ((case, _), answer))| self.trace(i, case, answer)).collect()
    }

    fn trace(&self, i: usize, case: &Case<T::Input>, answer: &Answer) -> Option<CaseStudy> {
        let trace = answer.trace.as_ref()?;
        let steps = trace.changes().map(|step| {
            let y = trace.output(step);
            let accuracy = case
                .gold
                .as_ref()
                .map_or(f64::NAN, |gold| 100.0 * cajole_tasks::transduction::accuracy(y, gold));
            CaseStep {
                attempt: step.attempt,
                iteration: step.iteration,
                pieces: self.pieces(case, y),
                g: step.g,
                log_prob: step.log_prob,
                distance: step.distance,
                accuracy,
            }
        });
        let steps = steps.collect();
        let status = serde_json::to_value(answer.status).unwrap_or_default();
        let faults: Vec<&str> = answer.faults.iter().map(|fault| fault.message.as_str()).collect();
        Some(CaseStudy {
            title: format!("failure {}", i + 1),
            source: case.subject.symbols.join(" "),
            target: case.gold.as_ref().map_or_else(String::new, |gold| self.text(gold)),
            steps,
            note: format!(
                "{} after {} steps{}{}",
                status.as_str().unwrap_or_default(),
                answer.steps.unwrap_or(0),
                if faults.is_empty() { "" } else { ": " },
                faults.join("; ")
            ),
        })
    }

    /// An output in runs of sound positions and of those that rules blame.
    fn pieces(&self, case: &Case<T::Input>, y: &[Symbol]) -> Vec<Piece> {
        let mut blamed = vec![false; y.len() + 1];
        for fault in self.rules.explain(&case.subject, y) {
            // What is blamed as a whole points nowhere.
            if fault.at.len() <= y.len() {
                let end = fault.at.end.min(blamed.len());
                blamed[fault.at.start.min(end)..end].fill(true);
            }
        }
        let separator = self.task.vocabulary().separator();
        let mut pieces: Vec<Piece> = Vec::new();
        for (&symbol, &wrong) in y.iter().zip(&blamed) {
            let name = self.task.vocabulary().name(symbol);
            match pieces.last_mut() {
                Some(last) if last.wrong == wrong => {
                    last.text += separator;
                    last.text += name;
                }
                Some(last) => {
                    last.text += separator;
                    pieces.push(Piece { text: name.to_owned(), wrong });
                }
                None => pieces.push(Piece { text: name.to_owned(), wrong }),
            }
        }
        pieces
    }

    fn text(&self, y: &[Symbol]) -> String {
        self.task.vocabulary().text(y)
    }
}

fn with_whole(row: Row, whole: f64) -> Row {
    row.with("whole_metric", whole)
}

fn verdict<I>(case: &Case<I>, answer: &Answer) -> Cell {
    let is_right = case.gold.as_ref() == Some(&answer.output);
    match (answer.status, is_right) {
        (Status::Satisfied, true) => Cell::plain("✓ =").best(),
        (Status::Satisfied, false) => Cell::plain("✓"),
        (_, true) => Cell::plain("✗ ="),
        (_, false) => Cell::plain("✗").muted(),
    }
}

/// One row per engine; the task's measure only where the right outputs are known.
fn overview(rows: &[Row], metric: Option<&str>) -> Table {
    let failures = rows.first().map_or(0, |row| row.failures);
    let mut header = vec!["engine", "satisfied", "log p"];
    header.extend(metric.into_iter().flat_map(|metric| [metric, "exact", "all inputs"]));
    header.extend(["passes", "ms"]);
    let mut table = Table::new(format!("Engines on {failures} failures"), header);
    let best = |name: &str| rows.iter().skip(1).map(|r| r.figure(name)).fold(f64::NAN, f64::max);
    for (i, row) in rows.iter().enumerate() {
        let cell = |name: &str, decimals| {
            let cell = Cell::number(row.figure(name), decimals);
            if 0 < i && row.figure(name) == best(name) { cell.best() } else { cell }
        };
        let mut cells = vec![Cell::plain(row.method.as_str())];
        cells.extend([cell("satisfied", 1), cell("log_prob", 2)]);
        if metric.is_some() {
            cells.extend([cell("metric", 1), cell("exact", 1), cell("whole_metric", 2)]);
        }
        cells.push(Cell::number(row.figure("passes"), 1));
        cells.push(Cell::number(row.figure("milliseconds"), 2));
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
        Some(metric) => ("metric", format!("{metric} on failures, per cent")),
        None => ("satisfied", "failures satisfied, per cent".to_owned()),
    };
    let measure = metric.unwrap_or("satisfaction");
    let title = format!("Cost and {measure}");
    let mut plot = Plot::new(title, Axis::log("network passes per failure"), Axis::linear(label));
    let engines = rows.iter().skip(1);
    plot.series = engines
        .map(|row| {
            let point = (row.figure("passes"), row.figure(name));
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

/// The mean; not a number, of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    sum / n as f64
}
