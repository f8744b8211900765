//! Paired bootstrap: how much of a figure, or of a difference between two methods, is chance.
//!
//! Failures are drawn again with replacement, a thousand times, and the figure is computed from
//! each draw. The middle 95 % of these figures are its interval. Two methods are compared on the
//! same draws, because an input that is hard for one is hard for the other. They differ
//! significantly if the interval of the difference does not contain zero.

use cajole_core::random::Random;
use serde::{Deserialize, Serialize};

/// How many times failures are drawn again.
const DRAWS: usize = 1000;

/// All draws start from it, so that the same results have the same intervals.
const SEED: u64 = 1;

/// How much a method got right on one failure, or on many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u32; 5]", into = "[u32; 5]")]
pub(crate) struct Tally {
    /// Brackets or arguments that are in the output and in gold.
    pub(crate) correct: u32,
    /// Those in the output.
    pub(crate) found: u32,
    /// Those in gold.
    pub(crate) gold: u32,
    /// Outputs that match exactly.
    pub(crate) exact: u32,
    /// Outputs.
    pub(crate) outputs: u32,
}

/// A figure computed from a tally.
pub(crate) type Score = fn(&Tally) -> f64;

impl Tally {
    /// F1 in per cent; NaN if there is nothing to find.
    pub(crate) fn f1(&self) -> f64 {
        200.0 * f64::from(self.correct) / f64::from(self.found + self.gold)
    }

    /// The percentage of outputs that match exactly.
    pub(crate) fn exact(&self) -> f64 {
        100.0 * f64::from(self.exact) / f64::from(self.outputs)
    }
}

cajole_treebank::summable!(Tally { correct, found, gold, exact, outputs });

/// Stored as arrays, results on thousands of failures stay small.
impl From<Tally> for [u32; 5] {
    fn from(Tally { correct, found, gold, exact, outputs }: Tally) -> Self {
        [correct, found, gold, exact, outputs]
    }
}

impl From<[u32; 5]> for Tally {
    fn from([correct, found, gold, exact, outputs]: [u32; 5]) -> Self {
        Tally { correct, found, gold, exact, outputs }
    }
}

/// A figure with its 95 % interval; for a difference, ours minus theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// The figure itself.
    pub(crate) value: f64,
    /// The lower end.
    pub(crate) low: f64,
    /// The upper end.
    pub(crate) high: f64,
}

/// The outcome of a comparison of two methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ours is significantly better.
    Won,
    /// Neither is.
    Level,
    /// Theirs is significantly better.
    Lost,
}

impl Interval {
    /// A figure of one method.
    pub(crate) fn of(tallies: &[Tally], figure: Score) -> Self {
        Interval::drawn(tallies.len(), |draw| figure(&draw.iter().map(|&i| tallies[i]).sum()))
    }

    /// The difference between two methods on the same failures.
    pub(crate) fn between(ours: &[Tally], theirs: &[Tally], figure: Score) -> Self {
        let n = ours.len().min(theirs.len());
        Interval::drawn(n, |draw| {
            let [ours, theirs] =
                [ours, theirs].map(|all| figure(&draw.iter().map(|&i| all[i]).sum()));
            ours - theirs
        })
    }

    fn drawn(n: usize, figure: impl Fn(&[usize]) -> f64) -> Self {
        let mut draw: Vec<usize> = (0..n).collect();
        let value = figure(&draw);
        let mut random = Random::new(SEED);
        let mut figures = Vec::with_capacity(DRAWS);
        for _ in 0..DRAWS {
            draw.iter_mut().for_each(|i| *i = random.below(n));
            figures.push(figure(&draw));
        }
        figures.retain(|figure| figure.is_finite());
        figures.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * figures.len().saturating_sub(1) as f64).round() as usize;
            figures.get(place).copied().unwrap_or(f64::NAN)
        };
        Interval { value, low: at(0.025), high: at(0.975) }
    }

    /// The verdict of a difference.
    pub(crate) fn verdict(&self) -> Verdict {
        match *self {
            Interval { low, .. } if 0.0 < low => Verdict::Won,
            Interval { high, .. } if high < 0.0 => Verdict::Lost,
            _ => Verdict::Level,
        }
    }

    /// A difference as `+1.3 (0.2 to 2.4)`.
    pub(crate) fn signed(&self) -> String {
        let signed = |value: f64| match value {
            value if value.is_nan() => "–".to_owned(),
            value => format!("{value:+.1}").replace('-', "−"),
        };
        format!("{} ({} to {})", signed(self.value), signed(self.low), signed(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallies(n: usize, rate: usize) -> Vec<Tally> {
        let mut random = Random::new(7);
        let one = |_| {
            let correct = u32::from(random.below(100) < rate);
            Tally { correct, found: 1, gold: 1, exact: correct, outputs: 1 }
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn intervals_are_those_of_a_proportion() {
        // The standard error of a proportion p is √(p(1−p)/n), and here F1 is p.
        let some = tallies(400, 50);
        let Interval { value, low, high } = Interval::of(&some, Tally::f1);
        let error = (value * (100.0 - value) / 400.0).sqrt();
        assert!((value - 1.96 * error - low).abs() < 1.0, "{low}");
        assert!((value + 1.96 * error - high).abs() < 1.0, "{high}");
        assert_eq!(Interval::of(&some, Tally::exact).value, value);
        assert_eq!(Interval::of(&some, Tally::f1), Interval { value, low, high }, "the same again");
    }

    #[test]
    fn differences_are_paired() {
        // Ours is right wherever theirs is, and on five more of 400: paired, that is not chance.
        let theirs = tallies(400, 50);
        let mut ours = theirs.clone();
        let wrong = ours.iter_mut().filter(|tally| tally.correct == 0).step_by(20);
        wrong.for_each(|tally| *tally = Tally { correct: 1, exact: 1, ..*tally });
        let between = Interval::between(&ours, &theirs, Tally::f1);
        assert_eq!(between.verdict(), Verdict::Won, "{between:?}");
        assert_eq!(Interval::between(&theirs, &ours, Tally::f1).verdict(), Verdict::Lost);
        assert_eq!(Interval::between(&ours, &ours, Tally::exact).verdict(), Verdict::Level);
        let other: Vec<Tally> = tallies(800, 50)[400..].to_vec();
        assert_eq!(Interval::between(&other, &theirs, Tally::f1).verdict(), Verdict::Level);
        assert_eq!(between.signed().matches('+').count(), 3, "{}", between.signed());
    }

    #[test]
    fn no_failures_have_no_figures() {
        let none = Interval::of(&[], Tally::f1);
        assert!(none.value.is_nan() && none.low.is_nan() && none.verdict() == Verdict::Level);
    }

    #[test]
    fn tallies_round_trip() {
        let some = tallies(3, 50);
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Tally>>(&text).unwrap(), some);
    }
}
