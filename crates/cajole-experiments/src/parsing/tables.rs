//! The experiment's tables and plots: the paper's Tables 2, 3 and 4, competing methods, genres.

use cajole_core::{Config, Source};
use cajole_nn::models::Architecture;
use cajole_report::{Axis, Cell, Figure, Plot, Report, Row, Series, Table};
use cajole_tasks::parsing::NetworkConfig;

use super::config::ParsingConfig;
use super::experiment::{Measured, OfNetwork};
use super::methods::decoder_name;
use crate::{conversion_curve, steps_table};

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
    report.tables.extend(networks.iter().map(repairs_table));
    report.tables.push(rivals_table(networks));
    report.tables.push(steps(networks));
    report.tables.extend(networks.iter().filter(|n| !n.domains.is_empty()).map(domains_table));
    report.plots.extend(networks.iter().filter_map(f1_plot));
    report.plots.push(conversion_plot(networks));
    let all = networks.iter().flat_map(|n| n.test.iter().chain(&n.domains));
    report.rows = all.flat_map(|m| m.rows.iter().cloned()).collect();
    report.notes = vec![
        format!(
            "“gbi paper” is Algorithm 1 as printed; its step size is tuned for each network on \
             at most {} failures of greedy decoding on the dev set. “gbi best” takes the \
             candidates it raises from masked beams of width {}. “gbi small” is the same, but \
             moves only biases. All decode with the beam named in their row, “gbi best” and “gbi \
             small” with one of at least {}.",
            config.tuning.failures,
            masked_widths(&config.gbi.best).join(" and "),
            config.gbi.best.width
        ),
        "“constrained greedy” is the paper's constrained decoder: it drops impossible commands \
         and appends missing ones. Masked decoders allow only commands that can still \
         lead to a tree. A plain beam may fail to find a tree; its output is then repaired."
            .to_owned(),
        "Steps are counted over all failures; a dash means that fewer were converted. Times are \
         one thread's; inputs repaired together, as by “gbi small” and by all methods that \
         do not nudge, share them."
            .to_owned(),
    ];
    report
}

/// Widths of the masked beams that supply feasible candidates.
fn masked_widths(config: &Config) -> Vec<String> {
    let width = |source: &Source| match source {
        Source::Masked { width } => Some(width.to_string()),
        _ => None,
    };
    config.sources.iter().filter_map(width).collect()
}

/// A short description of a network.
pub(super) fn describe(network: &NetworkConfig) -> String {
    let NetworkConfig { treebank, layers, hidden, dropout, share, .. } = network;
    let architecture = architecture(network);
    let pointer = if network.pointer { ", next token shown" } else { "" };
    format!(
        "{architecture}, {layers} × {hidden} units, dropout {dropout}{pointer}, {share} % of {treebank}"
    )
}

fn architecture(network: &NetworkConfig) -> &'static str {
    match network.architecture {
        Architecture::Simple => "simple",
        Architecture::Gnmt => "gnmt",
    }
}

/// The paper's Table 2: the networks and their F1.
fn networks_table(networks: &[OfNetwork]) -> Table {
    let widths = widths(networks);
    let mut header: Vec<String> =
        ["net", "treebank", "kind", "hidden", "dropout", "data, %", "dev F1"]
            .map(str::to_owned)
            .to_vec();
    header.extend(widths.iter().map(|&width| format!("{} F1", decoder_name(width))));
    let mut table = Table::new("Networks, and their test F1 by beam width", header);
    for network in networks {
        let NetworkConfig { name, treebank, layers, hidden, dropout, share, .. } = &network.config;
        let mut cells = vec![
            Cell::plain(name.as_str()),
            Cell::plain(treebank.as_str()),
            Cell::plain(architecture(&network.config)),
            Cell::plain(format!("{layers} × {hidden}")),
            Cell::plain(dropout.to_string()),
            Cell::plain(share.to_string()),
            Cell::number(network.dev_f1, 2),
        ];
        for &width in &widths {
            let row = network.test.iter().find(|m| m.width == width).and_then(|m| m.rows.first());
            let f1 = row.map_or(f64::NAN, |row| row.figure(Figure::WholeF1Before));
            cells.push(Cell::number(f1, 2));
        }
        table = table.row(cells);
    }
    table
}

/// The paper's Tables 3 and 4: failures, conversion and F1 by width, for one network.
fn repairs_table(network: &OfNetwork) -> Table {
    let header = [
        "decoder",
        "failures",
        "preset",
        "converted",
        "F1 before",
        "after",
        "test F1 before",
        "after",
        "ms",
    ];
    let total = network.test.first().and_then(|m| m.rows.first()).map_or(0, |row| row.total);
    let caption = format!(
        "{}: gradient-based inference on {total} test sentences (paper preset: step size {})",
        network.config.name, network.step_size
    );
    let mut table = Table::new(caption, header);
    for measured in &network.test {
        for row in measured.rows.iter().filter(|row| row.method.starts_with("gbi")) {
            table = table.row([
                Cell::plain(decoder_name(measured.width)),
                Cell::plain(row.failures.to_string()),
                Cell::plain(row.method.trim_start_matches("gbi ")),
                Cell::number(row.figure(Figure::Conversion), 1),
                Cell::number(row.figure(Figure::F1Before), 2),
                Cell::number(row.figure(Figure::F1After), 2),
                Cell::number(row.figure(Figure::WholeF1Before), 2),
                Cell::number(row.figure(Figure::WholeF1After), 2),
                Cell::number(row.figure(Figure::Milliseconds), 0),
            ]);
        }
    }
    table
}

/// F1 on the failures after every method, one column per method.
fn rivals_table(networks: &[OfNetwork]) -> Table {
    let blocks: Vec<(&str, &Measured)> = networks
        .iter()
        .flat_map(|n| n.test.iter().map(move |m| (n.config.name.as_str(), m)))
        .collect();
    let caption = "F1 on the failures after every method; masked methods, constrained greedy and \
                   gbi best (almost) always give trees, beams do not";
    by_method(caption, &["net", "decoder", "failures"], &blocks, |name, measured| {
        let failures = measured.rows.first().map_or(0, |row| row.failures);
        vec![
            Cell::plain(name),
            Cell::plain(decoder_name(measured.width)),
            Cell::plain(failures.to_string()),
        ]
    })
}

/// The same by genre, for one network.
fn domains_table(network: &OfNetwork) -> Table {
    let blocks: Vec<(&str, &Measured)> =
        network.domains.iter().map(|m| (m.data.as_str(), m)).collect();
    let caption = format!(
        "{}: other genres, greedy decoding; F1 of all outputs, and on the failures after \
         every method",
        network.config.name
    );
    by_method(&caption, &["text", "failures", "all F1"], &blocks, |name, measured| {
        let Some(row) = measured.rows.first() else { return Vec::new() };
        vec![
            Cell::plain(name),
            Cell::plain(format!("{} of {}", row.failures, row.total)),
            Cell::number(row.figure(Figure::WholeF1Before), 1),
        ]
    })
}

/// A table with a column per method, highlighting the best in each row.
fn by_method(
    caption: &str,
    first: &[&str],
    blocks: &[(&str, &Measured)],
    cells: impl Fn(&str, &Measured) -> Vec<Cell>,
) -> Table {
    let longest = blocks.iter().max_by_key(|(_, m)| m.rows.len());
    let methods: Vec<&str> = longest
        .map_or(Vec::new(), |(_, m)| m.rows[1..].iter().map(|r| r.method.as_str()).collect());
    let header = first.iter().copied().chain(["mended"]).chain(methods.iter().copied());
    let mut table = Table::new(caption, header.collect::<Vec<_>>());
    for (name, measured) in blocks {
        let f1 = |method: &&str| {
            let row = measured.rows.iter().find(|row| row.method == **method);
            row.map_or(f64::NAN, |row| row.figure(Figure::F1After))
        };
        let values: Vec<f64> = methods.iter().map(f1).collect();
        let best = values.iter().copied().fold(f64::NAN, f64::max);
        let mended = measured.rows.first().map_or(f64::NAN, |row| row.figure(Figure::F1Before));
        let mut row = cells(name, measured);
        row.push(Cell::number(mended, 1));
        row.extend(values.iter().map(|&value| {
            let cell = Cell::number(value, 1);
            if value == best { cell.best() } else { cell }
        }));
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

/// The percentage of failures converted within a number of steps: every network, greedy decoding.
fn conversion_plot(networks: &[OfNetwork]) -> Plot {
    let mut plot = Plot::new(
        "Conversion against steps, greedy decoding",
        Axis::log("steps"),
        Axis::linear("failures converted, per cent"),
    );
    plot.caption = "Every preset; restarts continue the count.".to_owned();
    for network in networks {
        let Some(measured) = network.test.iter().find(|m| m.width == 1) else { continue };
        let failures = measured.rows.first().map_or(0, |row| row.failures).max(1);
        for (method, steps) in &measured.steps {
            let points = conversion_curve(steps, failures);
            let preset = method.trim_start_matches("gbi ");
            plot.series.push(Series::steps(format!("{} {preset}", network.config.name), points));
        }
    }
    plot
}

/// All measured widths, in order.
fn widths(networks: &[OfNetwork]) -> Vec<usize> {
    let mut widths: Vec<usize> =
        networks.iter().flat_map(|n| n.test.iter().map(|m| m.width)).collect();
    widths.sort_unstable();
    widths.dedup();
    widths
}
