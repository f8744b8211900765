//! The experiment's tables and plots: the paper's Tables 2 to 5 beside its own figures, competing
//! methods, the parts of the best preset, and studies.

use cajole_core::decoders::Ranking;
use cajole_core::{Config, Search};
use cajole_report::{Axis, Cell, Figure, Plot, Report, Row, Series, Table};
use cajole_tasks::parsing::{Architecture, NetworkConfig};

use super::config::ParsingConfig;
use super::experiment::{Measured, OfNetwork};
use super::methods::decoder_name;
use super::paper::{self, Repaired};
use super::seeds::seeds_table;
use crate::{
    FailureSet, LEGEND, OURS, Tally, conversion_curve, side_by_side_table, steps_table, tally_table,
};

/// Assembles the report.
pub(super) fn report(config: &ParsingConfig, networks: &[OfNetwork]) -> Report {
    let mut report = Report::new("Constituency parsing");
    report.intro = vec![
        "Sequence-to-sequence networks read a sentence and write shift-reduce commands. A failure \
         is an output that does not build one tree over the sentence. Each method below repairs \
         the failures of every network; outputs that are trees are left alone."
            .to_owned(),
        "F1 is evalb's with the Collins parameters, in per cent. Invalid outputs are repaired by \
         simple rules before scoring: surplus shifts are dropped, missing ones added, open \
         constituents closed, and several roots joined."
            .to_owned(),
    ];
    report.tables.push(networks_table(networks));
    report.tables.extend(seeds_table(networks));
    report.tables.push(repairs_table(networks));
    report.tables.push(rivals_table(networks));
    report.tables.push(conversions_table(networks));
    report.tables.extend(parts_table(networks));
    report.tables.extend(tally_tables(networks));
    report.tables.push(steps(networks));
    for network in networks.iter().filter(|n| !n.domains.is_empty()) {
        report.tables.push(genres_table(network));
        report.tables.push(domains_table(network));
    }
    for (i, study) in config.studies.iter().enumerate() {
        let rows: Vec<Row> = networks.iter().flat_map(|n| n.studies[i].clone()).collect();
        report.tables.extend((!rows.is_empty()).then(|| study.table(&rows)));
    }
    let outputs = |n: &OfNetwork| side_by_side_table(&n.config.name, &n.outputs);
    report.tables.extend(networks.iter().filter_map(outputs));
    report.plots.extend(networks.iter().filter_map(f1_plot));
    report.plots.extend(networks.iter().filter_map(conversion_plot));
    let all = networks.iter().flat_map(|n| n.test.iter().chain(&n.domains));
    report.rows = all.flat_map(|m| m.rows.iter().chain(&m.parts).cloned()).collect();
    report.notes = notes(config);
    report
}

/// Who is ahead of whom, by kind of network and treebank: “gbi best”, and the default preset.
fn tally_tables(networks: &[OfNetwork]) -> Vec<Table> {
    let kind = |n: &OfNetwork| {
        (n.config.architecture == Architecture::Transformer, n.config.treebank.clone())
    };
    let mut kinds: Vec<(bool, String)> = networks.iter().map(kind).collect();
    kinds.sort_by_key(|(is_transformer, _)| *is_transformer);
    kinds.dedup();
    let tables = |of: &(bool, String)| {
        let (is_transformer, treebank) = of;
        let name = if *is_transformer { "Transformers" } else { "LSTMs" };
        let sets: Vec<FailureSet<'_>> =
            networks.iter().filter(|n| kind(n) == *of).flat_map(sets).collect();
        [OURS, "gbi small"].map(|ours| {
            let mut table = tally_table(ours, &sets, &[("F1", Tally::f1)]);
            table.caption = format!("{name} on {treebank}: {}", table.caption);
            table
        })
    };
    kinds.iter().flat_map(tables).collect()
}

/// The failures of one network, by decoder and data.
fn sets(network: &OfNetwork) -> Vec<FailureSet<'_>> {
    let all = network.test.iter().chain(&network.domains);
    all.map(|m| {
        let inputs = m.inputs.iter().map(|i| format!("{} {i}", m.data)).collect();
        FailureSet { tallies: &m.tallies, inputs }
    })
    .collect()
}

fn notes(config: &ParsingConfig) -> Vec<String> {
    vec![
        "The paper is Lee et al., “Gradient-based Inference for Networks with Output Constraints”, \
         AAAI 2019; columns headed “paper” quote it. Its networks read words of the Penn Treebank's \
         Wall Street Journal; networks that read tags know less."
            .to_owned(),
        "The rule: the commands build one tree over the sentence. Every token is shifted once, \
         nothing is taken from an empty stack, every constituent is closed, and one root is left. \
         A pass is one run of the network over one sequence, forward or backward."
            .to_owned(),
        LEGEND.to_owned(),
        "In case studies, “g” is the constraint loss, “log p” the log-probability of the output under \
         the nudged weights, and “distance” how far the weights have moved, ‖W_λ − W‖."
            .to_owned(),
        format!("Beams rank finished outputs {}.", match config.ranking {
            Ranking::Total => "by their log-probability",
            Ranking::PerSymbol => "by their log-probability per symbol",
            Ranking::Generate { .. } => "as `generate` of transformers does",
        }),
        format!(
            "“gbi paper” is Algorithm 1 as printed; its step size is tuned for each network on \
             at most {} failures of greedy decoding on the dev set. “gbi best” takes the \
             candidates it raises from masked beams of width {}. “gbi small” is the same, but \
             moves only biases. All decode with the beam named in their row, “gbi best” and “gbi \
             small” with one of at least {} ({} for transformers). In transformers, “gbi best” \
             moves all weights, and “gbi small” the gains of norms as well as all biases.",
            config.tuning.failures,
            masked_widths(&config.gbi.best).join(" and "),
            config.gbi.best.width,
            config.transformer_gbi.best.width
        ),
        "“constrained greedy” is the paper's constrained decoder: it drops impossible commands \
         and appends missing ones. Masked decoders allow only commands that can still \
         lead to a tree. A plain beam may fail to find a tree; its output is then repaired."
            .to_owned(),
        "Steps are counted over all failures; a dash means that fewer were converted. Times are \
         one thread's; inputs repaired together, as by “gbi small” and by all methods that \
         do not nudge, share them."
            .to_owned(),
    ]
}

/// Widths of the masked beams that supply feasible candidates.
fn masked_widths(config: &Config) -> Vec<String> {
    let width = |source: &Search| match source {
        Search::Masked { width } => Some(width.to_string()),
        _ => None,
    };
    config.sources.iter().filter_map(width).collect()
}

/// A short description of a network.
pub(super) fn describe(network: &NetworkConfig) -> String {
    let NetworkConfig { treebank, layers, hidden, dropout, share, .. } = network;
    let architecture = network.architecture.name();
    let pointer = if network.pointer { ", next token shown" } else { "" };
    format!(
        "{architecture}, {layers} × {hidden} units, dropout {dropout}{pointer}, {share} % of {treebank}"
    )
}

/// The paper's Table 2: the networks and their F1.
fn networks_table(networks: &[OfNetwork]) -> Table {
    let widths = widths(networks);
    let mut header: Vec<String> =
        ["net", "treebank", "kind", "hidden", "dropout", "data, %", "dev F1"]
            .map(str::to_owned)
            .to_vec();
    for &width in &widths {
        header.push(format!("{} F1", decoder_name(width)));
        header.extend(of_paper(width).map(|_| "paper".to_owned()));
    }
    let caption = "Networks, and their test F1 by beam width (the paper's Table 2)";
    let mut table = Table::new(caption, header);
    for network in networks {
        let NetworkConfig { name, treebank, layers, hidden, dropout, share, .. } = &network.config;
        let mut cells = vec![
            Cell::plain(name.as_str()),
            Cell::plain(treebank.as_str()),
            Cell::plain(network.config.architecture.name()),
            Cell::plain(format!("{layers} × {hidden}")),
            Cell::plain(dropout.to_string()),
            Cell::plain(share.to_string()),
            Cell::number(network.dev_f1, 2),
        ];
        for &width in &widths {
            let row = network.test.iter().find(|m| m.width == width).and_then(|m| m.rows.first());
            let f1 = row.map_or(f64::NAN, |row| row.figure(Figure::WholeF1Before));
            cells.push(Cell::number(f1, 2));
            cells.extend(of_paper(width).map(|figure| {
                Cell::number(paper::network(name).map_or(f64::NAN, figure), 2).muted()
            }));
        }
        table = table.row(cells);
    }
    table
}

/// The figure of the paper's Table 2 for this beam width, if it has one.
fn of_paper(width: usize) -> Option<fn(&paper::Network) -> f64> {
    match width {
        1 => Some(|network| network.greedy),
        9 => Some(|network| network.beam_9),
        _ => None,
    }
}

/// The paper's Tables 3 and 4: failures, conversion and F1 by network and width.
fn repairs_table(networks: &[OfNetwork]) -> Table {
    let header = [
        "net",
        "decoder",
        "preset",
        "failures",
        "%",
        "paper",
        "converted",
        "paper",
        "F1 before",
        "paper",
        "after",
        "paper",
        "test F1 before",
        "after",
        "ms",
    ];
    let caption = "Gradient-based inference by network and beam width (the paper's Tables 3 and 4)";
    let mut table = Table::new(caption, header);
    for network in networks {
        table = table.rule();
        for measured in &network.test {
            let beside = paper::repaired(&network.config.name, measured.width);
            for row in measured.rows.iter().filter(|row| row.method.starts_with("gbi")) {
                let names = [
                    Cell::plain(network.config.name.as_str()),
                    Cell::plain(decoder_name(measured.width)),
                    Cell::plain(row.method.trim_start_matches("gbi ")),
                    Cell::plain(format!("{} of {}", row.failures, row.total)),
                ];
                let ends = [
                    Cell::number(row.figure(Figure::WholeF1Before), 2),
                    Cell::number(row.figure(Figure::WholeF1After), 2),
                    Cell::number(row.figure(Figure::Milliseconds), 0),
                ];
                let cells =
                    names.into_iter().chain(beside_paper(measured, row, beside)).chain(ends);
                table = table.row(cells);
            }
        }
    }
    table
}

/// Failure rate, conversion, and F1 before and after, each with the paper's.
fn beside_paper(measured: &Measured, row: &Row, paper: Option<Repaired>) -> Vec<Cell> {
    type OfPaper = fn(&Repaired) -> f64;
    let columns: [(Figure, OfPaper); 4] = [
        (Figure::FailureRate, |paper| paper.failures),
        (Figure::Conversion, |paper| paper.converted),
        (Figure::F1Before, |paper| paper.before),
        (Figure::F1After, |paper| paper.after),
    ];
    let both = columns.into_iter().flat_map(|(figure, of_paper)| {
        let theirs = paper.as_ref().map_or(f64::NAN, of_paper);
        let plain = || Cell::number(row.figure(figure), 1);
        let ours = match figure {
            Figure::F1After => measured.tallies.f1(&row.method).map_or_else(plain, Cell::plain),
            _ => plain(),
        };
        [ours, Cell::number(theirs, 1).muted()]
    });
    both.collect()
}

/// F1 on the failures after every method, one column per method.
fn rivals_table(networks: &[OfNetwork]) -> Table {
    let blocks = blocks(networks);
    let caption = "F1 on the failures after every method; masked methods, constrained greedy and \
                   gbi best (almost) always give trees, beams do not";
    let methods = methods(&blocks);
    by_method(caption, &["net", "decoder", "failures"], &methods, &blocks, block_cells)
}

/// The percentage of failures that every method converts.
fn conversions_table(networks: &[OfNetwork]) -> Table {
    let blocks = blocks(networks);
    let methods = methods(&blocks);
    let header = ["net", "decoder", "failures"].into_iter().chain(methods.iter().copied());
    let caption = "Failures that every method converts, per cent";
    let mut table = Table::new(caption, header.collect::<Vec<_>>());
    for (name, measured) in &blocks {
        let figure = |method: &&str| {
            let row = measured.rows.iter().find(|row| row.method == **method);
            Cell::number(row.map_or(f64::NAN, |row| row.figure(Figure::Conversion)), 1)
        };
        table =
            table.row(block_cells(name, measured).into_iter().chain(methods.iter().map(figure)));
    }
    table
}

/// What each part of the best preset contributes, with greedy decoding.
fn parts_table(networks: &[OfNetwork]) -> Option<Table> {
    let caption = "The parts of “gbi best”, greedy decoding: F1 on the failures without one of them, \
                   beside its inner beam and its source alone";
    let blocks = blocks(networks);
    let blocks: Vec<_> = blocks.into_iter().filter(|(_, m)| !m.parts.is_empty()).collect();
    let (_, first) = blocks.first()?;
    let parts = first.parts.iter().map(|row| row.method.as_str());
    let alone = first.rows.iter().map(|row| row.method.as_str());
    let alone = alone.filter(|name| name.starts_with("beam") || name.starts_with("masked beam"));
    let methods: Vec<&str> = alone.chain(parts).chain([OURS]).collect();
    Some(by_method(caption, &["net", "decoder", "failures"], &methods, &blocks, block_cells))
}

/// The parsing half of the paper's Table 5, for one network.
fn genres_table(network: &OfNetwork) -> Table {
    let header = [
        "text",
        "preset",
        "failures",
        "%",
        "paper",
        "converted",
        "paper",
        "F1 before",
        "paper",
        "after",
        "paper",
        "all F1",
    ];
    let caption =
        format!("{}: other genres, greedy decoding (the paper's Table 5)", network.config.name);
    let mut table = Table::new(caption, header);
    for measured in &network.domains {
        let beside = paper::genre(&measured.data);
        for row in measured.rows.iter().filter(|row| row.method.starts_with("gbi")) {
            let names = [
                Cell::plain(measured.data.as_str()),
                Cell::plain(row.method.trim_start_matches("gbi ")),
                Cell::plain(format!("{} of {}", row.failures, row.total)),
            ];
            let all = [Cell::number(row.figure(Figure::WholeF1Before), 1)];
            let figures = beside_paper(measured, row, beside);
            table = table.row(names.into_iter().chain(figures).chain(all));
        }
    }
    table
}

/// F1 on the failures after every method by genre, for one network.
fn domains_table(network: &OfNetwork) -> Table {
    let blocks: Vec<(&str, &Measured)> =
        network.domains.iter().map(|m| (m.data.as_str(), m)).collect();
    let caption = format!(
        "{}: other genres, greedy decoding; F1 of all outputs, and on the failures after every \
         method",
        network.config.name
    );
    let methods = methods(&blocks);
    by_method(&caption, &["text", "failures", "all F1"], &methods, &blocks, |name, measured| {
        let Some(row) = measured.rows.first() else { return Vec::new() };
        vec![
            Cell::plain(name),
            Cell::plain(format!("{} of {}", row.failures, row.total)),
            Cell::number(row.figure(Figure::WholeF1Before), 1),
        ]
    })
}

/// The test sets of all networks, by name.
fn blocks(networks: &[OfNetwork]) -> Vec<(&str, &Measured)> {
    let of_one = |n| {
        let OfNetwork { config, test, .. }: &OfNetwork = n;
        test.iter().map(|m| (config.name.as_str(), m))
    };
    networks.iter().flat_map(of_one).collect()
}

/// The methods of the block that has most of them, without the untouched outputs.
fn methods<'m>(blocks: &[(&str, &'m Measured)]) -> Vec<&'m str> {
    let longest = blocks.iter().max_by_key(|(_, m)| m.rows.len());
    longest.map_or(Vec::new(), |(_, m)| m.rows[1..].iter().map(|r| r.method.as_str()).collect())
}

fn block_cells(name: &str, measured: &Measured) -> Vec<Cell> {
    let failures = measured.rows.first().map_or(0, |row| row.failures);
    vec![
        Cell::plain(name),
        Cell::plain(decoder_name(measured.width)),
        Cell::plain(failures.to_string()),
    ]
}

/// A table with a column per method: F1 on the failures with intervals and marks, the best in each
/// row highlighted.
fn by_method(
    caption: &str,
    first: &[&str],
    methods: &[&str],
    blocks: &[(&str, &Measured)],
    cells: impl Fn(&str, &Measured) -> Vec<Cell>,
) -> Table {
    let header = first.iter().copied().chain(["mended"]).chain(methods.iter().copied());
    let mut table = Table::new(caption, header.collect::<Vec<_>>());
    for (name, measured) in blocks {
        let Measured { rows, parts, tallies, .. } = measured;
        let f1 = |method: &str| {
            let row = rows.iter().chain(parts).find(|row| row.method == method);
            row.map_or(f64::NAN, |row| row.figure(Figure::F1After))
        };
        let best = methods.iter().map(|method| f1(method)).fold(f64::NAN, f64::max);
        let figure = |method: &str| match tallies.f1(method).map(Cell::plain) {
            Some(cell) if f1(method) == best => cell.best(),
            Some(cell) => cell,
            None => Cell::number(f64::NAN, 1),
        };
        let mended = rows.first().map_or("", |row| row.method.as_str());
        let mut row = cells(name, measured);
        row.push(figure(mended));
        row.extend(methods.iter().map(|method| figure(method)));
        table = table.row(row);
    }
    table
}

/// Steps within which given percentages of the failures were converted.
fn steps(networks: &[OfNetwork]) -> Table {
    let rows = networks.iter().flat_map(|network| {
        network.test.iter().flat_map(move |m| {
            let decoder = decoder_name(m.width);
            m.rows.iter().map(move |row| (network.config.name.as_str(), decoder.clone(), row))
        })
    });
    let caption = "Steps to convert 25, 50, 80 and 95 % of the failures (the paper: 5–7, 6–20, \
                   15–57, 55–84)";
    steps_table(caption, "decoder", rows)
}

/// F1 on the failures against compute, one point per method, greedy decoding.
fn f1_plot(network: &OfNetwork) -> Option<Plot> {
    let measured = network.test.iter().find(|m| m.width == 1)?;
    let mut plot = Plot::new(
        format!("F1 against compute: {}", network.config.name),
        Axis::log("network passes per failure"),
        Axis::linear("F1 on failures, per cent"),
    );
    plot.caption = "Failures of greedy decoding; “greedy” is the repaired output.".to_owned();
    let point = |row: &Row| {
        let points = vec![(row.figure(Figure::Passes), row.figure(Figure::F1After))];
        Series::points(row.method.as_str(), points)
    };
    plot.series = measured.rows.iter().map(point).collect();
    Some(plot)
}

/// The percentage of failures that each preset converts within a number of steps, greedy decoding.
fn conversion_plot(network: &OfNetwork) -> Option<Plot> {
    let measured = network.test.iter().find(|m| m.width == 1)?;
    let failures = measured.rows.first().map(|row| row.failures).filter(|&n| 0 < n)?;
    let mut plot = Plot::new(
        format!("Conversion against steps: {}", network.config.name),
        Axis::log_and_zero("steps"),
        Axis::linear("failures converted, per cent"),
    );
    plot.caption = "Failures of greedy decoding; restarts continue the count.".to_owned();
    let curve = |(method, steps): &(String, Vec<usize>)| {
        Series::steps(method.as_str(), conversion_curve(steps, failures))
    };
    plot.series = measured.steps.iter().map(curve).collect();
    Some(plot)
}

/// All measured widths, in order.
fn widths(networks: &[OfNetwork]) -> Vec<usize> {
    let mut widths: Vec<usize> =
        networks.iter().flat_map(|n| n.test.iter().map(|m| m.width)).collect();
    widths.sort_unstable();
    widths.dedup();
    widths
}
