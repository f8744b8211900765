//! The experiment's plots: quality against cost, conversion against steps.

use cajole_report::{Axis, Figure, Plot, Row, Series};

use super::experiment::OfNetwork;
use crate::conversion_curve;

/// F1 on the failures against the cost of a repair, for one network.
pub(super) fn cost_plot(network: &OfNetwork) -> Option<Plot> {
    let measured = network.test.first()?;
    let mut plot = Plot::new(
        format!("F1 against cost: {}", network.config.name),
        Axis::log_and_zero("cost of a repair, Viterbi passes"),
        Axis::linear("F1 on failures, per cent"),
    );
    plot.caption = format!(
        "Test failures under {} constraints; Algorithm 1 by step limit.",
        measured.noise.name()
    );
    let point = |row: &Row| (row.figure(Figure::RepairCost).max(0.0), row.figure(Figure::F1After));
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
pub(super) fn conversion_plot(networks: &[OfNetwork]) -> Plot {
    let mut plot = Plot::new(
        "Conversion against steps",
        Axis::log_and_zero("steps"),
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
