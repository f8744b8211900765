//! The experiment's tables and plots: the paper's figures next to ours.

use cajole_nn::models::StartState;
use cajole_report::{Axis, CaseStudy, Cell, Figure, Plot, Report, Row, Series, Table};
use cajole_tasks::transduction::Kind;

use super::config::TransductionConfig;
use super::experiment::Measured;
use crate::{SHARES, Summary, conversion_curve};

/// Assembles the report.
pub(super) fn report(
    config: &TransductionConfig,
    measured: &[Measured],
    studies: &[Vec<Row>],
    cases: Vec<CaseStudy>,
) -> Report {
    let mut report = Report::new("Sequence transduction");
    report.intro = vec![
        "A network learns to map az to aaa and bz to zb on inputs of 2 to 20 symbols, perfectly, \
         and loses count on inputs of 22 and 24. Each method below repairs the outputs that \
         violate a constraint: the paper's (three a for each a of the input), or that together \
         with the target grammar and the output's length."
            .to_owned(),
        format!(
            "{} networks per kind of decoder; means over them, ranges in parentheses. Accuracy is \
             the share of positions that agree with the right output, over the longer length, end \
             symbol counted, on the failures only. One pass is one run of the network over one \
             sequence, forward or backward; times are one thread's.",
            config.seeds.len()
        ),
    ];
    for &kind in &Kind::ALL {
        for &state in &config.start_states {
            let group: Vec<&Measured> =
                measured.iter().filter(|m| m.kind == kind && m.start_state == state).collect();
            report.tables.push(overview(kind, state, &group));
            report.plots.push(accuracy_plot(kind, state, &group));
            if kind == Kind::Count {
                report.plots.push(conversion_plot(state, &group));
            }
        }
    }
    report.tables.extend(Kind::ALL.map(|kind| per_network(kind, measured)));
    for (study, rows) in config.studies.iter().zip(studies) {
        report.tables.extend((!rows.is_empty()).then(|| study.table(rows)));
    }
    report.rows = measured.iter().flat_map(|m| m.rows.iter().cloned()).collect();
    report.cases = cases;
    report.notes = vec![
        "The paper states neither the decoder's initial state nor the step size. Both kinds of \
         decoder are shown. The step size of “gbi paper” is tuned for each network on failures \
         among inputs of 26 symbols. “gbi paper, short steps” shows the paper's own operating \
         point: the step size, of those tried, whose conversion on the test set is closest to \
         the 65.2 % it reports."
            .to_owned(),
        "“gbi best, black box” sees only the value of the constraint. “gbi best” also asks masked \
         decoders for feasible candidates and lets them race; masked rows need the constraint as \
         an automaton as well. “gbi small” is the same, but moves only biases and repairs many \
         inputs at a time; so do the methods that do not nudge. Inputs repaired together \
         share the time."
            .to_owned(),
        "An output cut off at the length cap counts as violating.".to_owned(),
        "In case studies, “g” is the constraint loss, “log p” the log-probability of the output under \
         the nudged weights, and “distance” how far the weights have moved, ‖W_λ − W‖."
            .to_owned(),
        "The paper is Lee et al., “Gradient-based Inference for Networks with Output Constraints”, \
         AAAI 2019."
            .to_owned(),
    ];
    report
}

/// One row per method: means over networks.
fn overview(kind: Kind, state: StartState, group: &[&Measured]) -> Table {
    let rate = Summary::of(first_rows(group).map(|row| row.figure(Figure::FailureRate)));
    let before = Summary::of(first_rows(group).map(|row| row.figure(Figure::AccuracyBefore)));
    let whole = Summary::of(first_rows(group).map(|row| row.figure(Figure::WholeExactBefore)));
    let grammar = Summary::of(first_rows(group).map(|row| row.figure(Figure::WholeGrammatical)));
    let caption = format!(
        "{}, decoder started from {}: {} % of the test set fail; accuracy of these {}; exact match \
         of the whole test set {}; {} % of its outputs consist of aaa and zb only (the paper: all)",
        kind.describe(),
        state.describe(),
        rate.with_range(),
        before.with_range(),
        whole.with_range(),
        grammar.with_range(),
    );
    let header = [
        "method",
        "converted",
        "accuracy after",
        "exact",
        "test exact",
        "steps 25/50/80/95 %",
        "passes",
        "ms",
    ];
    let mut table = Table::new(caption, header);
    if kind == Kind::Count {
        let cells = ["paper (75.2 before)", "65.2", "82.4", "–", "–", "–", "–", "–"];
        table = table.row(cells.map(|text| Cell::plain(text).muted())).rule();
    }
    let methods = methods(group);
    let mean = |method: &str, figure: Figure| over_nets(group, method, figure).mean;
    let best = methods.iter().map(|m| mean(m, Figure::AccuracyAfter)).fold(f64::NAN, f64::max);
    for method in &methods {
        let of = |figure: Figure| over_nets(group, method, figure);
        let accuracy = Cell::plain(of(Figure::AccuracyAfter).with_range());
        let is_best = of(Figure::AccuracyAfter).mean == best;
        table = table.row([
            Cell::plain(method.as_str()),
            Cell::number(of(Figure::Conversion).mean, 1),
            if is_best { accuracy.best() } else { accuracy },
            Cell::number(of(Figure::ExactAfter).mean, 1),
            Cell::number(of(Figure::WholeExactAfter).mean, 1),
            Cell::plain(quantiles(group, method)),
            Cell::number(of(Figure::Passes).mean, 1),
            Cell::number(of(Figure::Milliseconds).mean, 2),
        ]);
    }
    table
}

/// The mean number of steps over the networks, for each percentage of failures converted.
fn quantiles(group: &[&Measured], method: &str) -> String {
    let steps = SHARES.map(|(_, figure)| over_nets(group, method, figure).mean);
    if steps.iter().all(|s| s.is_nan()) {
        return "–".to_owned();
    }
    let text = |s: f64| if s.is_nan() { "–".to_owned() } else { format!("{s:.0}") };
    steps.map(text).join("/")
}

/// One column per network: accuracy after each method.
fn per_network(kind: Kind, measured: &[Measured]) -> Table {
    let group: Vec<&Measured> = measured.iter().filter(|m| m.kind == kind).collect();
    let nets = first_rows(&group).map(|row| row.net.clone());
    let header = std::iter::once("method".to_owned()).chain(nets).collect::<Vec<_>>();
    let caption = format!("{}: accuracy on the failures of every network", kind.describe());
    let mut table = Table::new(caption, header);
    for method in std::iter::once("greedy".to_owned()).chain(methods(&group)) {
        let of_net = |m: &&Measured| m.rows.iter().find(|row| row.method == method).cloned();
        let rows: Vec<Row> = group.iter().filter_map(of_net).collect();
        let cells = rows.iter().map(|row| Cell::number(row.figure(Figure::AccuracyAfter), 1));
        table = table.row(std::iter::once(Cell::plain(method.as_str())).chain(cells));
        if rows.iter().any(|row| row.get(Figure::StepSize).is_some()) {
            let eta = rows.iter().map(|row| match row.get(Figure::StepSize) {
                Some(eta) => Cell::plain(format!("{eta:e}")).muted(),
                None => Cell::plain("").muted(),
            });
            table = table.row(std::iter::once(Cell::plain("  step size").muted()).chain(eta));
        }
    }
    table
}

/// The percentage of failures converted within a number of steps, pooled over all networks.
fn conversion_plot(state: StartState, group: &[&Measured]) -> Plot {
    let mut plot = Plot::new(
        format!("Conversion against steps, decoder started from {}", state.describe()),
        Axis::log_and_zero("steps"),
        Axis::linear("failures converted, per cent"),
    );
    plot.caption =
        "Count constraint, all networks together. Restarts continue the count.".to_owned();
    let names = group.first().map_or(&[][..], |m| m.steps.as_slice()).iter().map(|(name, ..)| name);
    for name in names {
        let of = || group.iter().flat_map(|m| m.steps.iter().filter(|(n, ..)| n == name));
        let total: usize = of().map(|(_, _, failures)| failures).sum();
        let mut steps: Vec<usize> = of().flat_map(|(_, steps, _)| steps.iter().copied()).collect();
        steps.sort_unstable();
        let points = conversion_curve(&steps, total);
        plot.series.push(Series::steps(name.as_str(), points));
    }
    plot
}

/// Accuracy after repair against its cost, one point per method.
fn accuracy_plot(kind: Kind, state: StartState, group: &[&Measured]) -> Plot {
    let mut plot = Plot::new(
        format!("Accuracy against compute: {}, started from {}", kind.describe(), state.describe()),
        Axis::log("network passes per failure"),
        Axis::linear("accuracy on failures, per cent"),
    );
    plot.caption = "Means over networks; “greedy” is the network's own output.".to_owned();
    let point = |method: &str| {
        (
            over_nets(group, method, Figure::Passes).mean,
            over_nets(group, method, Figure::AccuracyAfter).mean,
        )
    };
    let mut all = methods(group);
    all.insert(0, "greedy".to_owned());
    plot.series = all.iter().map(|m| Series::points(m.as_str(), vec![point(m)])).collect();
    plot
}

fn first_rows<'a>(group: &'a [&Measured]) -> impl Iterator<Item = &'a Row> {
    group.iter().filter_map(|m| m.rows.first())
}

/// The methods in the order they were run, without the untouched outputs.
fn methods(group: &[&Measured]) -> Vec<String> {
    group.first().map_or(Vec::new(), |m| m.rows[1..].iter().map(|r| r.method.clone()).collect())
}

fn over_nets(group: &[&Measured], method: &str, figure: Figure) -> Summary {
    let rows = group.iter().flat_map(|m| m.rows.iter().filter(|row| row.method == method));
    Summary::of(rows.map(|row| row.figure(figure)))
}
