//! Summarises figures over several networks: mean and range.

use cajole_report::{Cell, Figure, Row, Table};

use crate::Repair;

/// The percentages of failures whose number of steps to conversion is reported.
pub(crate) const SHARES: [(f64, Figure); 4] = [
    (25.0, Figure::Steps25),
    (50.0, Figure::Steps50),
    (80.0, Figure::Steps80),
    (95.0, Figure::Steps95),
];

/// Mean and range of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Summary {
    /// Summarises these values; NaN if there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let fold = |f: fn(f64, f64) -> f64| values.iter().copied().reduce(f).unwrap_or(f64::NAN);
        Summary { mean, least: fold(f64::min), most: fold(f64::max) }
    }

    /// Formats it for a table: `87.4 (85.1–90.2)`.
    pub(crate) fn with_range(&self) -> String {
        format!("{:.1} ({:.1}–{:.1})", self.mean, self.least, self.most)
    }
}

/// The steps of each conversion, in increasing order.
pub(crate) fn converted_steps(repairs: &[Repair]) -> Vec<usize> {
    let converted = repairs.iter().filter(|r| r.converted);
    let mut steps: Vec<usize> = converted.filter_map(|r| r.steps).collect();
    steps.sort_unstable();
    steps
}

/// The percentage of `failures` converted within each number of steps.
pub(crate) fn conversion_curve(steps: &[usize], failures: usize) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (i, &s) in steps.iter().enumerate() {
        let point = (s as f64, 100.0 * (i + 1) as f64 / failures as f64);
        match points.last_mut() {
            Some(last) if last.0 == point.0 => *last = point,
            _ => points.push(point),
        }
    }
    points
}

/// Adds a method's costs: the steps it took to convert given percentages of the failures, if it
/// nudges, and the passes and time per failure.
pub(crate) fn with_costs(mut row: Row, repairs: &[Repair]) -> Row {
    let mean =
        |f: &dyn Fn(&Repair) -> f64| repairs.iter().map(f).sum::<f64>() / repairs.len() as f64;
    if repairs.iter().any(|r| r.steps.is_some()) {
        for (share, figure) in SHARES {
            let steps = steps_to_convert(repairs, share).map_or(f64::NAN, |s| s as f64);
            row = row.with(figure, steps);
        }
    }
    row.with(Figure::Passes, mean(&|r| r.passes as f64))
        .with(Figure::Milliseconds, mean(&|r| r.milliseconds))
}

/// A table of the steps within which given percentages of the failures were converted, from the
/// rows of nudging methods, each with two labels.
pub(crate) fn steps_table<'r>(
    caption: &str,
    second: &str,
    rows: impl IntoIterator<Item = (&'r str, String, &'r Row)>,
) -> Table {
    let names = ["net", second, "preset"].map(str::to_owned);
    let header = names.into_iter().chain(SHARES.map(|(share, _)| format!("{share} %")));
    let mut table = Table::new(caption, header.collect::<Vec<_>>());
    for (net, second, row) in rows.into_iter().filter(|(.., row)| row.method.starts_with("gbi")) {
        let preset = row.method.trim_start_matches("gbi ").to_owned();
        let steps = SHARES.map(|(_, figure)| match row.figure(figure) {
            steps if steps.is_nan() => "–".to_owned(),
            steps => steps.to_string(),
        });
        let cells = [net.to_owned(), second, preset].into_iter().chain(steps);
        table = table.row(cells.map(Cell::plain));
    }
    table
}

/// The steps within which `share` per cent of all failures were converted, if ever.
pub(crate) fn steps_to_convert(repairs: &[Repair], share: f64) -> Option<usize> {
    let steps = converted_steps(repairs);
    let needed = (share / 100.0 * repairs.len() as f64).ceil() as usize;
    needed.checked_sub(1).and_then(|last| steps.get(last).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_range() {
        let summary = Summary::of([3.0, 1.0, 5.0]);
        assert_eq!(summary, Summary { mean: 3.0, least: 1.0, most: 5.0 });
        assert_eq!(summary.with_range(), "3.0 (1.0–5.0)");
        assert!(Summary::of([]).mean.is_nan());
    }

    #[test]
    fn quantiles_include_unconverted_failures() {
        let repair = |converted, steps| Repair {
            output: vec![],
            converted,
            gave_up: false,
            steps: Some(steps),
            passes: 0,
            milliseconds: 0.0,
        };
        let repairs = [repair(true, 1), repair(true, 4), repair(false, 100), repair(true, 9)];
        assert_eq!(steps_to_convert(&repairs, 25.0), Some(1));
        assert_eq!(steps_to_convert(&repairs, 50.0), Some(4));
        assert_eq!(steps_to_convert(&repairs, 75.0), Some(9));
        assert_eq!(steps_to_convert(&repairs, 80.0), None, "never reached");
    }
}
