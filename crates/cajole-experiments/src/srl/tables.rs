//! The experiment's tables and plots: the paper's Table 1, the SRL half of its Table 5, noisy
//! constraints, run time, and the cost of step limits.

use cajole_report::{Cell, Figure, Report, Row, Table};
use cajole_tasks::srl::NetworkConfig;
use cajole_tasks::srl::instance::Noise;
use cajole_treebank::roles::nodes::Reading;

use super::block::Measured;
use super::choice::Caution;
use super::config::{SrlConfig, groups};
use super::experiment::OfNetwork;
use super::paper;
use super::plots::{conversion_plot, cost_plot};
use super::run_time::{limits_table, steps, time_table};
use super::search::collapse_table;
use super::seeds::seeds_table;
use crate::{FailureSet, LEGEND, OURS, Score, Tally, side_by_side_table, tally_table};

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
    report.tables.extend(seeds_table(networks));
    report.tables.extend(parts_table(networks));
    let figures: [(&str, Score); 2] = [("F1", Tally::f1), ("exact", Tally::exact)];
    for &noise in &config.noise {
        let sets = sets(networks, noise);
        if !sets.is_empty() {
            let mut table = tally_table(OURS, &sets, &figures);
            table.caption = format!("{} constraints: {}", capital(noise.name()), table.caption);
            report.tables.push(table);
        }
    }
    report.tables.extend(networks.first().map(noise_table));
    report.tables.extend(networks.first().and_then(limits_table));
    report.tables.push(steps(networks));
    report.tables.extend(networks.iter().filter(|n| !n.domains.is_empty()).map(domains_table));
    report.tables.push(time_table(networks));
    report.tables.extend(networks.first().and_then(roles_table));
    for (i, study) in config.studies.iter().enumerate() {
        let rows: Vec<Row> = networks.iter().flat_map(|n| n.studies[i].clone()).collect();
        report.tables.extend((!rows.is_empty()).then(|| study.table(&rows)));
    }
    let collapse: Vec<Row> = networks.iter().flat_map(|n| n.collapse.clone()).collect();
    report.tables.extend((!collapse.is_empty()).then(|| collapse_table(&collapse)));
    let outputs = |n: &OfNetwork| side_by_side_table(&n.config.name, &n.outputs);
    report.tables.extend(networks.iter().filter_map(outputs));
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
    let rows = measured.rows.iter().chain(&measured.parts).chain(&measured.limits);
    rows.map(|row| Row { constraint: constraint.clone(), ..row.clone() }).collect()
}

/// The failure sets on which methods are compared, under one kind of constraint.
fn sets(networks: &[OfNetwork], noise: Noise) -> Vec<FailureSet<'_>> {
    let all = networks.iter().flat_map(|n| n.test.iter().chain(&n.domains).map(move |m| (n, m)));
    all.filter(|(_, m)| m.noise == noise).map(|(n, m)| failure_set(n, m)).collect()
}

/// The failures of one block, by predicate: several networks may fail on the same.
pub(super) fn failure_set<'a>(network: &OfNetwork, measured: &'a Measured) -> FailureSet<'a> {
    let Measured { data, inputs, tallies, .. } = measured;
    let corpus = &network.config.corpus;
    FailureSet { tallies, inputs: inputs.iter().map(|i| format!("{corpus} {data} {i}")).collect() }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn notes(config: &SrlConfig) -> Vec<String> {
    vec![
        "The paper is Lee et al., “Gradient-based Inference for Networks with Output Constraints”, \
         AAAI 2019; columns headed “paper” quote it. Its taggers read ELMo's vectors of words; \
         those of OntoNotes here read tags and the predicate's lemma."
            .to_owned(),
        "The rule: every argument of the predicate is a node of the sentence's tree; the predicate \
         itself is free. A pass is one run of the network over one sequence, forward or backward."
            .to_owned(),
        LEGEND.to_owned(),
        "In case studies, “g” is the constraint loss, “log p” the log-probability of the output under \
         the nudged weights, and “distance” how far the weights have moved, ‖W_λ − W‖."
            .to_owned(),
        "“Noise-free” constraints apply to the sentences whose gold arguments are all nodes of \
         the gold tree; “noisy” ones to every sentence; “predicted” ones to every sentence, with \
         the trees of cajole's built-in parser. “Phrasal” nodes are phrases; \
         “all” nodes include single words."
            .to_owned(),
        format!(
            "“gbi paper” is Algorithm 1 as printed, at most {} steps of SGD. “gbi best” raises the \
             exact constrained output under the nudged weights, in which repeated core roles cost \
             something, and lowers the decoded one where they differ. “gbi small” moves only biases, for many inputs at a time. “gbi \
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
                   step size, penalties of “A*” (for arguments that are no nodes; U, C and R for roles) \
                   and of “gbi cautious”, and step limits of the latter";
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
            Cell::plain(kind.charges.text()),
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
        "paper, %",
        "converted",
        "paper",
        "disagree",
        "paper",
        "precision",
        "recall",
        "F1",
        "paper",
        "exact",
        "paper",
        "test F1",
        "paper",
        "ms",
    ];
    let caption = format!(
        "Test set, {} constraints, {} nodes: figures on the failures, and F1 of all (the paper's \
         Table 1 has noise-free constraints)",
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
                let name = network.config.name.as_str();
                table = table.row(names.into_iter().chain(figures(name, measured, row)));
            }
        }
    }
    (!is_empty).then_some(table)
}

/// The figures of one method beside the paper's, with the best scores highlighted.
fn figures(net: &str, measured: &Measured, row: &Row) -> Vec<Cell> {
    let is_table_1 = (measured.noise, measured.reading) == (Noise::Free, Reading::Phrasal);
    let paper = paper::method(net, &row.method).filter(|_| is_table_1 && measured.data == "test");
    let beside = |figure: fn(&paper::Method) -> f64, digits| {
        Some(Cell::number(paper.as_ref().map_or(f64::NAN, figure), digits).muted())
    };
    let number = |figure, digits| Cell::number(row.figure(figure), digits);
    let scored = |figure, of: Score| {
        let mark = measured.tallies.mark(&row.method, of);
        let cell = match figure {
            Figure::F1After => measured.tallies.f1(&row.method).map(Cell::plain),
            _ => None,
        };
        let cell = cell.unwrap_or_else(|| {
            let cell = number(figure, 1);
            Cell { text: cell.text + mark, ..cell }
        });
        if is_best(measured, figure, row) { cell.best() } else { cell }
    };
    let cells = [
        (None, beside(|paper| paper.failures, 1)),
        (Some(number(Figure::Conversion, 1)), beside(|paper| paper.converted, 1)),
        (Some(number(Figure::DisagreementAfter, 1)), beside(|paper| paper.disagreement, 1)),
        (Some(number(Figure::PrecisionAfter, 1)), None),
        (Some(number(Figure::RecallAfter, 1)), None),
        (Some(scored(Figure::F1After, Tally::f1)), beside(|paper| paper.f1, 1)),
        (Some(scored(Figure::ExactAfter, Tally::exact)), beside(|paper| paper.exact, 1)),
        (Some(number(Figure::WholeF1After, 2)), beside(|paper| paper.whole, 2)),
        (Some(number(Figure::Milliseconds, 1)), None),
    ];
    cells.into_iter().flat_map(|(ours, theirs)| ours.into_iter().chain(theirs)).collect()
}

/// What each part of the best preset contributes, under the first kind of constraint.
fn parts_table(networks: &[OfNetwork]) -> Option<Table> {
    let blocks = networks.iter().filter_map(|n| Some((n, n.test.first()?)));
    let blocks: Vec<_> = blocks.filter(|(_, m)| !m.parts.is_empty()).collect();
    let (_, first) = blocks.first()?;
    let parts = first.parts.iter().map(|row| row.method.as_str());
    let methods: Vec<&str> = ["exact MAP"].into_iter().chain(parts).chain([OURS]).collect();
    let header = ["net", "failures"].into_iter().chain(methods.iter().copied());
    let caption = "The parts of “gbi best”: F1 on the failures (and exact match) without one of them, \
                   beside exact MAP, its source if repeated roles cost nothing";
    let mut table = Table::new(caption, header.collect::<Vec<_>>());
    for (network, measured) in blocks {
        let failures = measured.rows.first().map_or(0, |row| row.failures);
        let figure = |method: &&str| {
            let row =
                measured.rows.iter().chain(&measured.parts).find(|row| row.method == **method);
            match (row, measured.tallies.f1(method)) {
                (Some(row), Some(f1)) => {
                    let exact = row.figure(Figure::ExactAfter);
                    let mark = measured.tallies.mark(method, Tally::exact);
                    Cell::plain(format!("{f1} ({exact:.1}{mark})"))
                }
                _ => Cell::number(f64::NAN, 1),
            }
        };
        let names = [Cell::plain(network.config.name.as_str()), Cell::plain(failures.to_string())];
        table = table.row(names.into_iter().chain(methods.iter().map(figure)));
    }
    Some(table)
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
        "{}: the whole test set under noise-free, noisy and predicted constraints (the paper's \
         appendix D)",
        network.config.name
    );
    let header = [
        "constraints",
        "nodes",
        "method",
        "precision",
        "paper",
        "recall",
        "paper",
        "F1",
        "paper",
        "exact",
        "paper",
    ];
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
            let is_meant = network.config.name == "srl-100" && measured.reading == Reading::Phrasal;
            let paper = paper::whole(measured.noise.name(), &row.method).filter(|_| is_meant);
            let paper = paper.unwrap_or([f64::NAN; 4]);
            let figures = figures.into_iter().zip(paper).flat_map(|(figure, paper)| {
                [Cell::number(row.figure(figure), 2), Cell::number(paper, 2).muted()]
            });
            table = table.row(cells.chain(figures));
        }
    }
    table
}

/// The SRL half of the paper's Table 5: other genres, for one network.
fn domains_table(network: &OfNetwork) -> Table {
    let caption = format!(
        "{}: other genres (the paper's Table 5); F1 of all, then F1 (and exact) on the failures by \
         method, and the percentage that “gbi paper” and “gbi best” convert",
        network.config.name
    );
    let methods: Vec<&str> = network
        .domains
        .first()
        .map_or_else(Vec::new, |m| m.rows.iter().map(|row| row.method.as_str()).collect());
    let ends = [
        "gbi paper converts",
        "gbi best converts",
        "paper: failures, %",
        "paper: converted",
        "paper: before",
        "paper: after",
    ];
    let header = ["text", "failures", "all F1"].into_iter().chain(methods).chain(ends);
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
                    "{} ({:.1}{})",
                    measured.tallies.f1(&row.method).unwrap_or_default(),
                    row.figure(Figure::ExactAfter),
                    measured.tallies.mark(&row.method, Tally::exact)
                ),
            };
            let cell = Cell::plain(text);
            cells.push(if is_best(measured, Figure::F1After, row) { cell.best() } else { cell });
        }
        for method in ["gbi paper", OURS] {
            let row = measured.rows.iter().find(|row| row.method == method);
            let converted = row.map_or(f64::NAN, |row| row.figure(Figure::Conversion));
            cells.push(Cell::number(converted, 1));
        }
        let paper = paper::genre(&measured.data);
        let paper = paper.map(|p| [p.failures, p.converted, p.before, p.after]);
        let paper = paper.unwrap_or([f64::NAN; 4]);
        cells.extend(paper.map(|figure| Cell::number(figure, 1).muted()));
        table = table.row(cells);
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
