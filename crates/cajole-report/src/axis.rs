//! A plot axis: which values it can show, where its ticks are, and how they are labelled.

use serde::Serialize;

use super::number;

/// One axis of a plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// How values are spaced.
    pub scale: Scale,
}

/// How values are spaced along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences take equal space.
    Linear,
    /// Equal ratios take equal space; positive values only.
    Log,
    /// The same, and zero has a place of its own on the left.
    LogAndZero,
}

/// The share of an axis between zero and the first tick of a logarithmic scale.
pub(super) const GAP: f64 = 0.08;

/// Values beyond this, or so close to zero that their reciprocal is, are not shown.
const LIMIT: f64 = 1e150;

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Log }
    }

    /// A logarithmic axis on which zero is marked as well.
    pub fn log_and_zero(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::LogAndZero }
    }

    /// Whether the axis can show `value`.
    pub(super) fn admits(&self, value: f64) -> bool {
        match self.scale {
            Scale::Linear => value.abs() < LIMIT,
            Scale::Log => (1.0 / LIMIT..LIMIT).contains(&value),
            Scale::LogAndZero => value == 0.0 || (1.0 / LIMIT..LIMIT).contains(&value),
        }
    }

    /// At least two round numbers that cover all `values`, in increasing order.
    pub(super) fn ticks(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut has_zero = false;
        let is_apart = |value: f64| self.scale == Scale::LogAndZero && value == 0.0;
        let values = values.filter(|&value| {
            has_zero |= is_apart(value);
            self.admits(value) && !is_apart(value)
        });
        let range = values.fold(None, |range, value| {
            let (lo, hi) = range.unwrap_or((value, value));
            Some((value.min(lo), value.max(hi)))
        });
        let ticks = match (self.scale, range) {
            (Scale::Linear, Some((lo, hi))) => linear_ticks(lo, hi),
            (Scale::Linear, None) => linear_ticks(0.0, 1.0),
            (Scale::Log | Scale::LogAndZero, Some((lo, hi))) => log_ticks(lo, hi),
            (Scale::Log | Scale::LogAndZero, None) => log_ticks(1.0, 10.0),
        };
        has_zero.then_some(0.0).into_iter().chain(ticks).collect()
    }

    /// Whether these ticks begin with a zero that is set apart.
    pub(super) fn has_gap(&self, ticks: &[f64]) -> bool {
        self.scale == Scale::LogAndZero && ticks.first() == Some(&0.0)
    }

    /// The position of `value` between the first tick (0) and the last (1).
    pub(super) fn place(&self, value: f64, ticks: &[f64]) -> f64 {
        let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
        match self.has_gap(ticks) {
            false => self.fraction(value, first, last),
            true if value == 0.0 => 0.0,
            true => GAP + (1.0 - GAP) * self.fraction(value, ticks[1], last),
        }
    }

    /// The label of each tick.
    pub(super) fn tick_labels(&self, ticks: &[f64]) -> Vec<String> {
        self.labels(ticks, ticks[1] - ticks[0])
    }

    /// The table entry for each value, precise to a hundredth of the tick spacing.
    pub(super) fn figures(&self, values: &[f64]) -> Vec<String> {
        let ticks = self.ticks(values.iter().copied());
        self.labels(values, (ticks[1] - ticks[0]) / 100.0)
    }

    /// Formats numbers so that a difference of `step` shows; on a linear axis all have the same
    /// decimals.
    fn labels(&self, values: &[f64], step: f64) -> Vec<String> {
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        if self.scale != Scale::Linear || step < 1e-6 || largest >= 1e4 {
            return values.iter().map(|&value| number::brief(value)).collect();
        }
        let most = (-(step * (1.0 + 1e-9)).log10().floor()).max(0.0) as usize;
        let needed = values.iter().map(|&value| number::decimals(value, most)).max();
        values.iter().map(|&value| number::fixed(value, needed.unwrap_or(0))).collect()
    }

    /// The position of `value` between `lo` (0) and `hi` (1).
    pub(super) fn fraction(&self, value: f64, lo: f64, hi: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - lo) / (hi - lo),
            // From zero there is no ratio: what was holds.
            Scale::LogAndZero if lo == 0.0 => 0.0,
            Scale::Log | Scale::LogAndZero => {
                (value.log10() - lo.log10()) / (hi.log10() - lo.log10())
            }
        }
    }

    /// The value at `fraction` of the way from `lo` to `hi`; the inverse of `fraction`.
    pub(super) fn value(&self, fraction: f64, lo: f64, hi: f64) -> f64 {
        match self.scale {
            Scale::Linear => lo + fraction * (hi - lo),
            Scale::LogAndZero if lo == 0.0 || hi == 0.0 => lo,
            Scale::Log | Scale::LogAndZero => lo * (hi / lo).powf(fraction),
        }
    }
}

/// About six multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(lo: f64, hi: f64) -> Vec<f64> {
    let magnitude = lo.abs().max(hi.abs());
    let (lo, hi) = if hi - lo > (1e-9 * magnitude).max(1.0 / LIMIT) {
        (lo, hi)
    } else {
        let margin = if magnitude > 1.0 / LIMIT { 0.1 * magnitude } else { 1.0 };
        (lo - margin, hi + margin)
    };
    let rough = (hi - lo) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0].into_iter().find(|round| rough <= round * power * (1.0 + 1e-9));
    let step = round.unwrap_or(10.0) * power;
    let first = (lo / step + 1e-9).floor();
    let last = (hi / step - 1e-9).ceil();
    (0..=(last - first) as usize).map(|at| (first + at as f64) * step).collect()
}

/// 1, 2 and 5 times each power of ten, or powers of ten alone if those are too many.
fn log_ticks(lo: f64, hi: f64) -> Vec<f64> {
    const MOST: i32 = 10;
    let rung = |k: i32| [1.0, 2.0, 5.0][k.rem_euclid(3) as usize] * 10f64.powi(k.div_euclid(3));
    let (first_decade, last_decade) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let mut first = 3 * first_decade - 1;
    while rung(first + 1) <= lo * (1.0 + 1e-9) {
        first += 1;
    }
    let mut last = 3 * last_decade + 1;
    while rung(last - 1) >= hi * (1.0 - 1e-9) {
        last -= 1;
    }
    if first == last {
        (first, last) = (first - 1, last + 1);
    }
    if last - first < MOST {
        return (first..=last).map(rung).collect();
    }
    let stride = (last_decade - first_decade + MOST - 1) / MOST;
    let steps = (last_decade - first_decade + stride - 1) / stride;
    (0..=steps).map(|at| 10f64.powi(first_decade + at * stride)).collect()
}

#[cfg(test)]
mod tests {
    use super::Axis;

    fn check(axis: &Axis, values: &[f64], labels: &[&str]) {
        let ticks = axis.ticks(values.iter().copied());
        assert_eq!(axis.tick_labels(&ticks), labels, "for {values:?}");
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::linear("x");
        check(&axis, &[0.0, 100.0], &["0", "20", "40", "60", "80", "100"]);
        check(&axis, &[62.3, 98.9], &["60", "70", "80", "90", "100"]);
        check(&axis, &[0.1, 0.3], &["0.10", "0.15", "0.20", "0.25", "0.30"]);
        check(&axis, &[-1.0, 1.2], &["−1.0", "−0.5", "0.0", "0.5", "1.0", "1.5"]);
        check(&axis, &[100.0], &["90", "95", "100", "105", "110"]);
        check(&axis, &[0.0, 15_000.0], &["0", "5000", "10\u{a0}000", "15\u{a0}000"]);
        check(&axis, &[f64::NAN], &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn log_ticks_are_round() {
        let axis = Axis::log("x");
        check(&axis, &[12.0, 80.0], &["10", "20", "50", "100"]);
        check(&axis, &[10.0, 10.0], &["5", "10", "20"]);
        check(&axis, &[0.0, -3.0], &["1", "2", "5", "10"]);
        check(
            &axis,
            &[0.3, 2e4],
            &["0.1", "1", "10", "100", "1000", "10\u{a0}000", "100\u{a0}000"],
        );
    }

    #[test]
    fn ticks_cover_the_values() {
        let samples =
            [-1e149, -7.3, -1e-12, 0.0, 1e-149, 3e-8, 0.1, 1.0, 1.0 + 1e-15, 99.99, 1e149];
        for axis in [Axis::linear("x"), Axis::log("x")] {
            for lo in samples {
                for hi in samples.into_iter().filter(|&hi| axis.admits(lo) && axis.admits(hi)) {
                    let ticks = axis.ticks([lo, hi].into_iter());
                    let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
                    assert!(ticks.is_sorted_by(|a, b| a < b), "{ticks:?} for {lo} and {hi}");
                    assert!((2..=11).contains(&ticks.len()), "{ticks:?} for {lo} and {hi}");
                    for value in [lo, hi] {
                        let fraction = axis.fraction(value, first, last);
                        assert!((-1e-6..=1.0 + 1e-6).contains(&fraction), "{value} in {ticks:?}");
                    }
                    assert_eq!(axis.tick_labels(&ticks).len(), ticks.len());
                }
            }
        }
    }

    #[test]
    fn values_that_cannot_be_shown_are_not_admitted() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!Axis::linear("x").admits(value) && !Axis::log("x").admits(value));
        }
        assert!(!Axis::log("x").admits(0.0) && !Axis::log("x").admits(-1.0));
    }

    #[test]
    fn zero_is_set_apart_on_a_logarithmic_axis() {
        let axis = Axis::log_and_zero("steps");
        check(&axis, &[0.0, 1.0, 10.0], &["0", "1", "2", "5", "10"]);
        check(&axis, &[1.0, 10.0], &["1", "2", "5", "10"]);
        let ticks = axis.ticks([0.0, 1.0, 100.0].into_iter());
        let places = [0.0, 1.0, 10.0, 100.0].map(|value| axis.place(value, &ticks));
        assert_eq!(places[0], 0.0);
        assert!((places[1] - super::GAP).abs() < 1e-9 && (places[3] - 1.0).abs() < 1e-9);
        assert!((places[2] - (places[1] + places[3]) / 2.0).abs() < 1e-9, "{places:?}");
        assert!(!axis.admits(-1.0) && axis.admits(0.0) && !Axis::log("x").admits(0.0));
    }
}
