//! Per-proposition counts, and their sums.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use super::phrases::{Phrases, Verdict};
use crate::percent;
use crate::roles::bio::Argument;

/// The role of the predicate.
const PREDICATE: &str = "V";

/// Counts summed over propositions. Ratios are computed on demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// All propositions.
    pub propositions: usize,
    /// Propositions whose arguments all match.
    pub perfect: usize,
    /// Argument counts by role, including `V`.
    pub roles: BTreeMap<String, Counts>,
}

/// Counts of arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Predicted and in gold.
    pub correct: usize,
    /// Predicted, but not in gold.
    pub excess: usize,
    /// In gold, but not predicted.
    pub missed: usize,
}

impl Score {
    /// Scores the predictions for one predicate. Arguments must not overlap, as those that
    /// [`bio::arguments`](crate::roles::bio::arguments) returns.
    pub fn of(gold: &[Argument], predicted: &[Argument]) -> Self {
        Score::compare(&Phrases::flat(gold), &Phrases::flat(predicted))
    }

    pub(super) fn compare(gold: &Phrases, predicted: &Phrases) -> Self {
        let mut roles = BTreeMap::<String, Counts>::new();
        for (role, verdict) in Phrases::compare(gold, predicted) {
            let counts = roles.entry(role.to_owned()).or_default();
            match verdict {
                Verdict::Correct => counts.correct += 1,
                Verdict::Excess => counts.excess += 1,
                Verdict::Missed => counts.missed += 1,
            }
        }
        let mut score = Score { propositions: 1, perfect: 0, roles };
        let Counts { excess, missed, .. } = score.overall();
        score.perfect = usize::from(excess + missed == 0);
        score
    }

    /// The counts over all roles except `V`.
    pub fn overall(&self) -> Counts {
        self.arguments().map(|(_, counts)| *counts).sum()
    }

    /// The counts of each role except `V`.
    pub(super) fn arguments(&self) -> impl Iterator<Item = (&String, &Counts)> {
        self.roles.iter().filter(|(role, _)| *role != PREDICATE)
    }

    /// The counts of `V`, if there are any.
    pub(super) fn predicate(&self) -> Option<(&String, &Counts)> {
        self.roles.get_key_value(PREDICATE)
    }

    /// The percentage of predicted arguments that are correct; 0 if there are none.
    pub fn precision(&self) -> f64 {
        self.overall().precision()
    }

    /// The percentage of gold arguments that were found; 0 if there are none.
    pub fn recall(&self) -> f64 {
        self.overall().recall()
    }

    /// The harmonic mean of precision and recall, in per cent.
    pub fn f1(&self) -> f64 {
        self.overall().f1()
    }

    /// The percentage of propositions that are perfect.
    pub fn perfect_rate(&self) -> f64 {
        percent(self.perfect, self.propositions)
    }
}

impl Counts {
    /// The percentage of predicted arguments that are correct; 0 if there are none.
    pub fn precision(&self) -> f64 {
        percent(self.correct, self.correct + self.excess)
    }

    /// The percentage of gold arguments that were found; 0 if there are none.
    pub fn recall(&self) -> f64 {
        percent(self.correct, self.correct + self.missed)
    }

    /// The harmonic mean of precision and recall, in per cent; 0 if nothing is correct.
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if self.correct == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Score) {
        self.propositions += other.propositions;
        self.perfect += other.perfect;
        for (role, counts) in other.roles {
            *self.roles.entry(role).or_default() += counts;
        }
    }
}

crate::summable!(Score);
crate::summable!(Counts { correct, excess, missed });

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::roles::bio::{self, tests::sentence};

    fn arguments(tags: &str) -> Vec<Argument> {
        let tags: Vec<_> = tags.split(' ').map(str::to_owned).collect();
        bio::arguments(&tags).unwrap()
    }

    /// Correct, excess and missed, without `V`.
    #[track_caller]
    fn check(gold: &str, predicted: &str, counts: [usize; 3]) {
        let score = Score::of(&arguments(gold), &arguments(predicted));
        let Counts { correct, excess, missed } = score.overall();
        assert_eq!([correct, excess, missed], counts);
        assert_eq!(score.perfect == 1, excess + missed == 0);
    }

    #[test]
    fn continuations_count_as_part_of_their_argument() {
        check("B-A O B-C-A O", "B-A O B-C-A O", [1, 0, 0]);
        check("B-A O B-C-A O", "B-A O O O", [0, 1, 1]);
        check("B-A O B-C-A O", "B-A I-A I-A O", [0, 1, 1]);
        check("B-A O B-C-A B-C-A", "B-A O B-C-A O", [0, 1, 1]);
        // It continues the last one before it.
        check("B-A B-A B-C-A", "B-A B-B O", [1, 1, 1]);
        // With nothing to continue, it is an argument of that role.
        check("O B-C-A O", "O B-A O", [1, 0, 0]);
        check("O B-C-A B-C-A", "O B-A B-C-A", [1, 0, 0]);
        check("B-R-A B-C-A", "B-R-A O", [1, 0, 1]);
    }

    #[test]
    fn the_predicate_does_not_count() {
        check("B-V O", "O B-V", [0, 0, 0]);
        check("B-V B-C-V", "B-V O", [0, 0, 0]);
        let score = Score::of(&arguments("B-V B-C-V"), &arguments("B-V O"));
        assert_eq!(score.roles["V"], Counts { correct: 0, excess: 1, missed: 1 });
    }

    proptest! {
        #[test]
        fn sides_are_symmetric((gold, _) in sentence(), (predicted, _) in sentence()) {
            let (there, back) = (Score::of(&gold, &predicted), Score::of(&predicted, &gold));
            prop_assert_eq!(there.precision(), back.recall());
            prop_assert_eq!(there.perfect, back.perfect);
            let same = Score::of(&gold, &gold);
            prop_assert_eq!(same.perfect, 1);
            prop_assert!(same.roles.values().all(|counts| counts.excess + counts.missed == 0));
            let sum: Score = [there.clone(), back].into_iter().sum();
            prop_assert_eq!(sum.overall().correct, 2 * there.overall().correct);
        }
    }
}
