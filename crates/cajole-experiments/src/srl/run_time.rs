//! What repairs cost: run time by method, the trade-off of step limits, and steps to convert.

use cajole_report::{Cell, Figure, Row, Table};

use super::experiment::OfNetwork;
use super::paper;
use crate::steps_table;

/// The cost and benefit of a step limit, for one network.
pub(super) fn limits_table(network: &OfNetwork) -> Option<Table> {
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

/// The paper's study of run time: whole test sets, relative to Viterbi decoding one by one.
pub(super) fn time_table(networks: &[OfNetwork]) -> Table {
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
        "paper: GBI-10",
        "paper: A*",
    ];
    let caption = "Run time of a whole set relative to Viterbi decoding of one input at a time, and \
                   in brackets the cost of one repair in units of one Viterbi pass; presets by step \
                   limit (the paper's appendix E; one repair of its GBI-10 costs 16.7, of its A* 25.0)";
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
            let is_meant = matches!(network.config.name.as_str(), "srl-100" | "srl-nw");
            let is_meant =
                is_meant && (network.config.name == "srl-100") == (measured.data == "test");
            let times = paper::times(&measured.data).filter(|_| is_meant);
            let [gbi, a_star] = times.unwrap_or([f64::NAN; 2]);
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
                Cell::number(gbi, 2).muted(),
                Cell::number(a_star, 2).muted(),
            ]);
        }
    }
    table
}

/// Steps within which given percentages of the failures were converted.
pub(super) fn steps(networks: &[OfNetwork]) -> Table {
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
