//! The experiment's figures as tables and plots: the paper's Table 1, the SRL half of its Table 5,
//! noisy constraints, run time, and what a step limit costs.

use cajole_core::report::{Axis, Cell, Plot, Report, Row, Series, Table};

use super::block::Measured;
use super::choice::Caution;
use super::config::{NetworkConfig, SrlConfig, groups};
use super::experiment::OfNetwork;
use super::instance::Noise;
use super::nodes::Reading;
use crate::experiment::{conversion_curve, steps_table};

/// Puts everything together.
pub(super) fn report(config: &SrlConfig, networks: &[OfNetwork]) -> Report {
    let mut report = Report::new("Semantic role labeling");
    report.intro = vec![
        "Taggers give every word of a sentence the role it has for one predicate; they decode with \
         Viterbi. A failure is an output with an argument that is no node of the sentence's parse \
         tree. Each method below repairs the failures of every tagger; all other outputs stay as \
         they are."
            .to_owned(),
        "Precision, recall and F1 are srl-eval's, in per cent. Exact: propositions whose arguments \
         are all right. Disagreement: the share of an output's arguments that are no node."
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

/// The rows of a block, each saying what it is about.
fn rows(measured: &Measured) -> Vec<Row> {
    let Measured { data, noise, reading, .. } = measured;
    let constraint = format!("{data}, {}, {}", noise.name(), reading.name());
    let rows = measured.rows.iter().chain(&measured.limits);
    rows.map(|row| Row { constraint: constraint.clone(), ..row.clone() }).collect()
}

fn notes(config: &SrlConfig) -> Vec<String> {
    vec![
        "“Noise-free” constraints are put on the sentences whose right arguments are all nodes of \
         the right tree; “noisy” ones on every sentence; “predicted” ones on every sentence, by \
         the tree that the parser which comes with cajole gives it. “Phrasal” nodes are phrases; \
         “all” nodes are single words as well."
            .to_owned(),
        format!(
            "“gbi paper” is Algorithm 1 as printed, {} steps of SGD at most. “gbi best” raises the \
             exact constrained output under the nudged weights and lowers the decoded one where \
             they differ. “gbi cautious” is the same, but lets an argument be that A* would keep at \
             a penalty, and any output after a number of steps. “exact MAP” is the most probable \
             output that satisfies the constraint. “A*” searches with a penalty for each argument \
             that is no node; where it makes {} prefixes it gives up and Viterbi's output stays.",
            config.gbi.paper.schedule.max_steps, config.rivals.agenda_limit
        ),
        "Times are one thread's, with all threads at work. A repair's cost is what it takes beyond \
         the one pass that every input takes, in units of an average Viterbi pass over one input \
         at a time; exact MAP and A* are charged a pass of their own."
            .to_owned(),
    ]
}

/// A network in a few words.
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
        let of_test = |name: &str| Cell::number(row.map_or(f64::NAN, |r| r.figure(name)), 2);
        table = table.row([
            Cell::plain(name.as_str()),
            Cell::plain(corpus.as_str()),
            Cell::plain(format!("{layers} × {hidden}")),
            Cell::plain(share.to_string()),
            Cell::number(network.dev_f1, 2),
            of_test("whole_f1_before"),
            of_test("whole_exact_before"),
        ]);
    }
    table
}

/// What was chosen for every network and kind of constraint.
fn chosen_table(networks: &[OfNetwork]) -> Table {
    let header =
        ["net", "constraints", "nodes", "η", "best moves", "by", "A*", "cautious", "steps"];
    let caption = "Chosen on development data: η of “gbi paper”, what “gbi best” moves and how far \
                   at first, penalties of “A*” and “gbi cautious”, and steps of the latter";
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

/// What one method did, the best scores of all methods emphasised.
fn figures(measured: &Measured, row: &Row) -> [Cell; 8] {
    let columns = [
        ("conversion", 1),
        ("disagreement_after", 1),
        ("precision_after", 1),
        ("recall_after", 1),
        ("f1_after", 1),
        ("exact_after", 1),
        ("whole_f1_after", 2),
        ("milliseconds", 1),
    ];
    columns.map(|(name, digits)| {
        let cell = Cell::number(row.figure(name), digits);
        let is_score = matches!(name, "f1_after" | "exact_after");
        if is_score && is_best(measured, name, row) { cell.best() } else { cell }
    })
}

/// `664 (18.2 %)`.
fn percent_of(row: &Row) -> String {
    format!("{} ({:.1} %)", row.failures, row.figure("failure_rate"))
}

fn is_best(measured: &Measured, name: &str, row: &Row) -> bool {
    let values = measured.rows.iter().map(|row| row.figure(name));
    row.figure(name) == values.fold(f64::NAN, f64::max)
}

/// The paper's study of noisy constraints: all outputs, for one network.
fn noise_table(network: &OfNetwork) -> Table {
    let caption = format!(
        "{}: the whole test set under constraints that are right, wrong at times, or predicted",
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
            let names = ["whole_precision_after", "whole_recall_after", "whole_f1_after"];
            let cells = [noise, reading, row.method.as_str()].map(Cell::plain).into_iter();
            let cells = cells.chain(names.map(|name| Cell::number(row.figure(name), 2)));
            table = table.row(cells.chain([Cell::number(row.figure("whole_exact_after"), 2)]));
        }
    }
    table
}

/// What a step limit costs and gives, for one network.
fn limits_table(network: &OfNetwork) -> Option<Table> {
    let measured = network.test.first()?;
    let caption = format!(
        "{}: Algorithm 1 stopped after so many steps, on the failures under {} constraints",
        network.config.name,
        measured.noise.name()
    );
    let header = ["preset", "steps", "converted", "F1", "exact", "test F1", "cost"];
    let mut table = Table::new(caption, header);
    for row in &measured.limits {
        table = table.row([
            Cell::plain(row.method.trim_start_matches("gbi ")),
            Cell::plain(row.figure("limit").to_string()),
            Cell::number(row.figure("conversion"), 1),
            Cell::number(row.figure("f1_after"), 1),
            Cell::number(row.figure("exact_after"), 1),
            Cell::number(row.figure("whole_f1_after"), 2),
            Cell::number(row.figure("repair_cost"), 1),
        ]);
    }
    Some(table)
}

/// Steps within which shares of the failures were converted.
fn steps(networks: &[OfNetwork]) -> Table {
    let rows = networks.iter().flat_map(|network| {
        let measured = network.test.iter().take(1);
        measured.flat_map(move |m| {
            let noise = m.noise.name();
            m.rows.iter().map(move |row| (network.config.name.as_str(), noise.to_owned(), row))
        })
    });
    let caption = "Steps within which shares of the failures are converted";
    steps_table(caption, "constraints", rows)
}

/// The SRL half of the paper's Table 5: other kinds of text, for one network.
fn domains_table(network: &OfNetwork) -> Table {
    let caption = format!(
        "{}: other kinds of text; F1 of all, then F1 (and exact) on the failures by method",
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
            Cell::number(first.figure("whole_f1_before"), 1),
        ];
        for row in &measured.rows {
            let text = match row.failures {
                0 => "–".to_owned(),
                _ => format!("{:.1} ({:.1})", row.figure("f1_after"), row.figure("exact_after")),
            };
            let cell = Cell::plain(text);
            cells.push(if is_best(measured, "f1_after", row) { cell.best() } else { cell });
        }
        let last = measured.rows.last().map_or(f64::NAN, |row| row.figure("conversion"));
        cells.push(Cell::number(last, 1));
        table = table.row(cells);
    }
    table
}

/// The paper's study of run time: whole data sets, in units of Viterbi decoding one by one.
fn time_table(networks: &[OfNetwork]) -> Table {
    let header =
        ["net", "data", "inputs", "ms", "A*", "exact MAP", "paper 10", "paper 30", "best 10"];
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
                rows.find(|r| r.method == name && r.figure("limit") == limit)
            };
            let cost = |row: Option<&Row>| {
                let cost = row.map_or(f64::NAN, |row| row.figure("repair_cost"));
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
                Cell::number(first.figure("viterbi_ms"), 2),
                cost(method("A*")),
                cost(method("exact MAP")),
                cost(limited("gbi paper", 10.0)),
                cost(limited("gbi paper", 30.0)),
                cost(limited("gbi best", 10.0)),
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
        "{}: F1 by role on the whole test set, {} constraints; roles that occur {OFTEN} times",
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
    let point = |row: &Row| (row.figure("repair_cost").max(0.1), row.figure("f1_after"));
    for row in measured.rows.iter().filter(|row| !row.method.starts_with("gbi")) {
        plot.series.push(Series::points(row.method.as_str(), vec![point(row)]));
    }
    for method in ["gbi paper", "gbi best"] {
        let rows = measured.limits.iter().filter(|row| row.method == method);
        plot.series.push(Series::line(method, rows.map(point).collect()));
    }
    Some(plot)
}

/// Share of failures converted within a number of steps.
fn conversion_plot(networks: &[OfNetwork]) -> Plot {
    let mut plot = Plot::new(
        "Conversion against steps",
        Axis::log("steps"),
        Axis::linear("failures converted, per cent"),
    );
    plot.caption = "The best preset on the test set; a restart goes on counting.".to_owned();
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
