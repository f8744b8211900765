//! The experiment's tables and plots: the paper's Table 1, the SRL half of its Table 5, noisy
//! constraints, run time, and the cost of step limits.

use cajole_report::{Axis, Cell, Figure, Plot, Report, Row, Series, Table};
use cajole_tasks::srl::NetworkConfig;
use cajole_tasks::srl::instance::Noise;
use cajole_treebank::roles::nodes::Reading;

use super::block::Measured;
use super::choice::Caution;
use super::config::{SrlConfig, groups};
use super::experiment::OfNetwork;
use crate::{conversion_curve, steps_table};

/// Assembles the report.
pub(super) fn report(config: &SrlConfig, networks: &[OfNetwork]) -> Report {
    let mut report = Report::new("Semantic role labeling");
    report.intro = vec![
        "Taggers give every word of a sentence its role for one predicate; they decode with Viterbi. \
         A failure is an output with an argument that is not a node of the sentence's parse tree. \
         Each method below repairs the failures of every tagger; all other outputs are left alone."
            .to_owned(),
        "Precision, recall and F1 are srl-eval's, in per cent. Exact: propositions whose arguments \
         are all correct. Disagreement: the percentage of arguments that are not nodes."
            .to_owned(),
    ];
    report.tables.push(networks_table(networks));
    report.tables.push(chosen_table(networks));
    for &noise in &config.noise {
        for &reading in &config.readings {
            report.tables.extend(methods_table(networks, noise, reading));
        }
    }
    report.tables.extend(networks.first().map(noise_table));
    report.tables.extend(networks.first().and_then(limits_table));
    report.tables.push(steps(networks));
    report.tables.extend(networks.iter().filter(|n| !n.domains.is_empty()).map(domains_table));
    report.tables.push(time_table(networks));
    report.tables.extend(networks.first().and_then(roles_table));
    report.plots.extend(networks.first().and_then(cost_plot));
    report.plots.push(conversion_plot(networks));
    report.rows =
        networks.iter().flat_map(|n| n.test.iter().chain(&n.domains)).flat_map(rows).collect();
    report.notes = notes(config);
    report
}

/// The rows of a block, each labelled with its constraint.
fn rows(measured: &Measured) -> Vec<Row> {
    let Measured { data, noise, reading, .. } = measured;
    let constraint = format!("{data}, {}, {}", noise.name(), reading.name());
    let rows = measured.rows.iter().chain(&measured.limits);
    rows.map(|row| Row { constraint: constraint.clone(), ..row.clone() }).collect()
}

fn notes(config: &SrlConfig) -> Vec<String> {
    vec![
        "“Noise-free” constraints apply to the sentences whose gold arguments are all nodes of \
         the gold tree; “noisy” ones to every sentence; “predicted” ones to every sentence, with \
         the trees of cajole's built-in parser. “Phrasal” nodes are phrases; \
         “all” nodes include single words."
            .to_owned(),
        format!(
            "“gbi paper” is Algorithm 1 as printed, at most {} steps of SGD. “gbi best” raises the \
             exact constrained output under the nudged weights and lowers the decoded one where \
             they differ. “gbi small” moves only biases, for many inputs at a time. “gbi \
             cautious” is “gbi best” that accepts arguments that A* keeps despite a penalty, and \
             any output after a number of steps. “exact MAP” is the most probable \
             output that satisfies the constraint. “A*” searches with a penalty for each argument \
             that is not a node; after {} prefixes it gives up and keeps Viterbi's output.",
            config.gbi.paper.schedule.max_steps, config.rivals.agenda_limit
        ),
        "Times are one thread's, with all threads at work; inputs repaired together, as by \
         “gbi small”, “exact MAP” and “A*”, share them. A repair's cost is what it takes beyond \
         the one pass that every input takes, in units of an average Viterbi pass over one input \
         at a time; exact MAP and A* are charged a pass of their own."
            .to_owned(),
    ]
}

/// A short description of a network.
pub(super) fn describe(network: &NetworkConfig) -> String {
    let NetworkConfig { corpus, layers, hidden, share, constraint_loss, .. } = network;
    let loss = match constraint_loss {
        None => String::new(),
        Some(loss) => format!(", constraint loss on {} % of the rest", loss.share),
    };
    format!("{layers} × {hidden} units, {share} % of {corpus}{loss}")
}

fn networks_table(networks: &[OfNetwork]) -> Table {
    let header = ["net", "corpus", "layers", "data, %", "dev F1", "test F1", "exact"];
    let mut table = Table::new("Taggers, and Viterbi decoding on the test set", header);
    for network in networks {
        let NetworkConfig { name, corpus, layers, hidden, share, .. } = &network.config;
        let row = network.test.first().and_then(|m| m.rows.first());
        let of_test = |figure| Cell::number(row.map_or(f64::NAN, |r| r.figure(figure)), 2);
        table = table.row([
            Cell::plain(name.as_str()),
            Cell::plain(corpus.as_str()),
            Cell::plain(format!("{layers} × {hidden}")),
            Cell::plain(share.to_string()),
            Cell::number(network.dev_f1, 2),
            of_test(Figure::WholeF1Before),
            of_test(Figure::WholeExactBefore),
        ]);
    }
    table
}

/// The tuned settings of every network and kind of constraint.
fn chosen_table(networks: &[OfNetwork]) -> Table {
    let header =
        ["net", "constraints", "nodes", "η", "best moves", "by", "A*", "cautious", "steps"];
    let caption = "Tuned on the dev set: η of “gbi paper”, what “gbi best” moves and its initial \
                   step size, penalties of “A*” and “gbi cautious”, and step limits of the latter";
    let mut table = Table::new(caption, header);
    let plain = |figure: Option<f32>| Cell::plain(figure.map_or("∞".to_owned(), |f| f.to_string()));
    for (network, kind) in networks.iter().flat_map(|n| n.chosen.kinds.iter().map(move |k| (n, k)))
    {
        let [cautious, steps] = match kind.caution {
            Some(Caution { penalty, limit }) => [plain(penalty), plain(limit.map(|l| l as f32))],
            None => ["", ""].map(Cell::plain),
        };
        table = table.row([
            Cell::plain(network.config.name.as_str()),
            Cell::plain(kind.noise.name()),
            Cell::plain(kind.reading.name()),
            plain(Some(network.chosen.step_size)),
            Cell::plain(groups(&kind.best.moves)),
            plain(Some(kind.best.schedule.step_size)),
            plain(kind.penalty),
            cautious,
            steps,
        ]);
    }
    table
}

/// The paper's Table 1, for one kind of constraint: every network, every method.
fn methods_table(networks: &[OfNetwork], noise: Noise, reading: Reading) -> Option<Table> {
    let header = [
        "net",
        "method",
        "failures",
        "converted",
        "disagree",
        "precision",
        "recall",
        "F1",
        "exact",
        "test F1",
        "ms",
    ];
    let caption = format!(
        "Test set, {} constraints, {} nodes: figures on the failures, and F1 of all",
        noise.name(),
        reading.name()
    );
    let mut table = Table::new(caption, header);
    let of_kind = |m: &&Measured| m.noise == noise && m.reading == reading;
    let mut is_empty = true;
    for network in networks {
        for measured in network.test.iter().filter(of_kind) {
            is_empty = false;
            for (i, row) in measured.rows.iter().enumerate() {
                let first = if i == 0 { network.config.name.as_str() } else { "" };
                let count = if i == 0 { percent_of(row) } else { String::new() };
                let names =
                    [Cell::plain(first), Cell::plain(row.method.as_str()), Cell::plain(count)];
                table = table.row(names.into_iter().chain(figures(measured, row)));
            }
        }
    }
    (!is_empty).then_some(table)
}

/// The figures of one method, with the best scores highlighted.
fn figures(measured: &Measured, row: &Row) -> [Cell; 8] {
    let columns = [
        (Figure::Conversion, 1),
        (Figure::DisagreementAfter, 1),
        (Figure::PrecisionAfter, 1),
        (Figure::RecallAfter, 1),
        (Figure::F1After, 1),
        (Figure::ExactAfter, 1),
        (Figure::WholeF1After, 2),
        (Figure::Milliseconds, 1),
    ];
    columns.map(|(figure, digits)| {
        let cell = Cell::number(row.figure(figure), digits);
        let is_score = matches!(figure, Figure::F1After | Figure::ExactAfter);
        if is_score && is_best(measured, figure, row) { cell.best() } else { cell }
    })
}

/// `664 (18.2 %)`.
fn percent_of(row: &Row) -> String {
    format!("{} ({:.1} %)", row.failures, row.figure(Figure::FailureRate))
}

fn is_best(measured: &Measured, figure: Figure, row: &Row) -> bool {
    let values = measured.rows.iter().map(|row| row.figure(figure));
    row.figure(figure) == values.fold(f64::NAN, f64::max)
}

/// The paper's study of noisy constraints: all outputs, for one network.
fn noise_table(network: &OfNetwork) -> Table {
    let caption = format!(
        "{}: the whole test set under noise-free, noisy and predicted constraints",
        network.config.name
    );
    let header = ["constraints", "nodes", "method", "precision", "recall", "F1", "exact"];
    let mut table = Table::new(caption, header);
    for measured in &network.test {
        for (i, row) in measured.rows.iter().enumerate() {
            let (noise, reading) = match i {
                0 => (measured.noise.name(), measured.reading.name()),
                _ => ("", ""),
            };
            let figures = [
                Figure::WholePrecisionAfter,
                Figure::WholeRecallAfter,
                Figure::WholeF1After,
                Figure::WholeExactAfter,
            ];
            let cells = [noise, reading, row.method.as_str()].map(Cell::plain).into_iter();
            let figures = figures.map(|figure| Cell::number(row.figure(figure), 2));
            table = table.row(cells.chain(figures));
        }
    }
    table
}

/// The cost and benefit of a step limit, for one network.
fn limits_table(network: &OfNetwork) -> Option<Table> {
    let measured = network.test.first()?;
    let caption = format!(
        "{}: Algorithm 1 by step limit, on the failures under {} constraints",
        network.config.name,
        measured.noise.name()
    );
    let header = ["preset", "steps", "converted", "F1", "exact", "test F1", "cost"];
    let mut table = Table::new(caption, header);
    for row in &measured.limits {
        table = table.row([
            Cell::plain(row.method.trim_start_matches("gbi ")),
            Cell::plain(row.figure(Figure::Limit).to_string()),
            Cell::number(row.figure(Figure::Conversion), 1),
            Cell::number(row.figure(Figure::F1After), 1),
            Cell::number(row.figure(Figure::ExactAfter), 1),
            Cell::number(row.figure(Figure::WholeF1After), 2),
            Cell::number(row.figure(Figure::RepairCost), 1),
        ]);
    }
    Some(table)
}

/// Steps within which given percentages of the failures were converted.
fn steps(networks: &[OfNetwork]) -> Table {
    let rows = networks.iter().flat_map(|network| {
        let measured = network.test.iter().take(1);
        measured.flat_map(move |m| {
            let noise = m.noise.name();
            m.rows.iter().map(move |row| (network.config.name.as_str(), noise.to_owned(), row))
        })
    });
    let caption = "Steps to convert 25, 50, 80 and 95 % of the failures";
    steps_table(caption, "constraints", rows)
}

/// The SRL half of the paper's Table 5: other genres, for one network.
fn domains_table(network: &OfNetwork) -> Table {
    let caption = format!(
        "{}: other genres; F1 of all, then F1 (and exact) on the failures by method",
        network.config.name
    );
    let methods: Vec<&str> = network
        .domains
        .first()
        .map_or_else(Vec::new, |m| m.rows.iter().map(|row| row.method.as_str()).collect());
    let header = ["text", "failures", "all F1"].into_iter().chain(methods).chain(["converted"]);
    let header: Vec<&str> = header.collect();
    let mut table = Table::new(caption, header);
    for measured in &network.domains {
        let Some(first) = measured.rows.first() else { continue };
        let mut cells = vec![
            Cell::plain(measured.data.as_str()),
            Cell::plain(percent_of(first)),
            Cell::number(first.figure(Figure::WholeF1Before), 1),
        ];
        for row in &measured.rows {
            let text = match row.failures {
                0 => "–".to_owned(),
                _ => format!(
                    "{:.1} ({:.1})",
                    row.figure(Figure::F1After),
                    row.figure(Figure::ExactAfter)
                ),
            };
            let cell = Cell::plain(text);
            cells.push(if is_best(measured, Figure::F1After, row) { cell.best() } else { cell });
        }
        let last = measured.rows.last().map_or(f64::NAN, |row| row.figure(Figure::Conversion));
        cells.push(Cell::number(last, 1));
        table = table.row(cells);
    }
    table
}

/// The paper's study of run time: whole test sets, relative to Viterbi decoding one by one.
fn time_table(networks: &[OfNetwork]) -> Table {
    let header = [
        "net",
        "data",
        "inputs",
        "ms",
        "A*",
        "exact MAP",
        "paper 10",
        "paper 30",
        "best 10",
        "small",
    ];
    let caption = "Run time of a whole set relative to Viterbi decoding of one input at a time, and \
                   in brackets the cost of one repair in units of one Viterbi pass; presets by step \
                   limit (the paper: GBI-10 2.6 (16.7), A* 3.5 (25.0))";
    let mut table = Table::new(caption, header);
    for network in networks {
        for measured in network.test.iter().take(1).chain(&network.domains) {
            let Some(first) = measured.rows.first() else { continue };
            let method = |name: &str| measured.rows.iter().find(|row| row.method == name);
            let limited = |name: &str, limit: f64| {
                let mut rows = measured.limits.iter();
                rows.find(|r| r.method == name && r.figure(Figure::Limit) == limit)
            };
            let cost = |row: Option<&Row>| {
                let cost = row.map_or(f64::NAN, |row| row.figure(Figure::RepairCost));
                let whole = 1.0 + cost * first.failures as f64 / first.total as f64;
                match cost.is_finite() {
                    true => Cell::plain(format!("{whole:.2} ({cost:.1})")),
                    false => Cell::number(f64::NAN, 1),
                }
            };
            table = table.row([
                Cell::plain(network.config.name.as_str()),
                Cell::plain(measured.data.as_str()),
                Cell::plain(first.total.to_string()),
                Cell::number(first.figure(Figure::ViterbiMs), 2),
                cost(method("A*")),
                cost(method("exact MAP")),
                cost(limited("gbi paper", 10.0)),
                cost(limited("gbi paper", 30.0)),
                cost(limited("gbi best", 10.0)),
                cost(method("gbi small")),
            ]);
        }
    }
    table
}

/// F1 by role, before and after the best preset, for one network.
fn roles_table(network: &OfNetwork) -> Option<Table> {
    /// Rarer roles tell little.
    const OFTEN: usize = 20;
    let measured = network.test.first()?;
    let caption = format!(
        "{}: F1 by role on the whole test set, {} constraints; at least {OFTEN} gold spans",
        network.config.name,
        measured.noise.name()
    );
    let mut table = Table::new(caption, ["role", "gold", "viterbi", "gbi best"]);
    for (role, count, before, after) in measured.roles.iter().filter(|r| OFTEN <= r.1) {
        table = table.row([
            Cell::plain(role.as_str()),
            Cell::plain(count.to_string()),
            Cell::number(*before, 1),
            Cell::number(*after, 1),
        ]);
    }
    Some(table)
}

/// F1 on the failures against the cost of a repair, for one network.
fn cost_plot(network: &OfNetwork) -> Option<Plot> {
    let measured = network.test.first()?;
    let mut plot = Plot::new(
        format!("F1 against cost: {}", network.config.name),
        Axis::log("cost of a repair, Viterbi passes"),
        Axis::linear("F1 on failures, per cent"),
    );
    plot.caption = format!(
        "Test failures under {} constraints; Algorithm 1 by step limit.",
        measured.noise.name()
    );
    let point = |row: &Row| (row.figure(Figure::RepairCost).max(0.1), row.figure(Figure::F1After));
    let limited = ["gbi paper", "gbi best"];
    for row in measured.rows.iter().filter(|row| !limited.contains(&row.method.as_str())) {
        plot.series.push(Series::points(row.method.as_str(), vec![point(row)]));
    }
    for method in limited {
        let rows = measured.limits.iter().filter(|row| row.method == method);
        plot.series.push(Series::line(method, rows.map(point).collect()));
    }
    Some(plot)
}

/// The percentage of failures converted within a number of steps.
fn conversion_plot(networks: &[OfNetwork]) -> Plot {
    let mut plot = Plot::new(
        "Conversion against steps",
        Axis::log("steps"),
        Axis::linear("failures converted, per cent"),
    );
    plot.caption = "The best preset on the test set; restarts continue the count.".to_owned();
    for network in networks {
        let Some(measured) = network.test.first() else { continue };
        let failures = measured.rows.first().map_or(0, |row| row.failures).max(1);
        for (_, steps) in measured.steps.iter().filter(|(method, _)| method == "gbi best") {
            let points = conversion_curve(steps, failures);
            plot.series.push(Series::steps(network.config.name.as_str(), points));
        }
    }
    plot
}
