//! Our method against every rival, failure set by failure set: who is significantly ahead.

use std::collections::BTreeMap;

use cajole_report::{Cell, Table};
use serde::{Deserialize, Serialize};

use crate::{Interval, Score, Tally, Verdict};

/// The tallies of every method on each failure of one set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tallies(Vec<(String, Vec<Tally>)>);

/// The method that all others are compared with by default.
pub(crate) const OURS: &str = "gbi best";

/// What the marks of [`Tallies::mark`] mean.
pub(crate) const LEGEND: &str = "F1 is given with half the width of its 95 % interval, from 1000 \
    paired bootstrap draws of the failures. † marks methods that “gbi best” is significantly \
    above, ‡ those that are significantly above it (95 %, without correction for the number of \
    comparisons).";

impl Tallies {
    /// Adds the results of a method.
    pub(crate) fn push(&mut self, method: &str, tallies: Vec<Tally>) {
        self.0.push((method.to_owned(), tallies));
    }

    /// The results of a method.
    pub(crate) fn of(&self, method: &str) -> Option<&[Tally]> {
        self.0.iter().find(|(name, _)| name == method).map(|(_, tallies)| tallies.as_slice())
    }

    /// The methods, in order.
    pub(crate) fn methods(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// How far a method is ahead of a rival, if both were measured.
    fn ahead(&self, ours: &str, rival: &str, figure: Score) -> Option<Interval> {
        Some(Interval::between(self.of(ours)?, self.of(rival)?, figure))
    }

    /// † if ours is significantly better than this method, ‡ if it is significantly worse.
    pub(crate) fn mark(&self, method: &str, figure: Score) -> &'static str {
        match self.ahead(OURS, method, figure).filter(|_| method != OURS).map(|d| d.verdict()) {
            Some(Verdict::Won) => "†",
            Some(Verdict::Lost) => "‡",
            Some(Verdict::Level) | None => "",
        }
    }

    /// `44.0 ± 3.9†`: F1 of a method with its interval and mark.
    pub(crate) fn f1(&self, method: &str) -> Option<String> {
        let tallies = self.of(method).filter(|tallies| !tallies.is_empty())?;
        let Interval { value, low, high } = Interval::of(tallies, Tally::f1);
        let mark = self.mark(method, Tally::f1);
        Some(format!("{value:.1} ± {:.1}{mark}", (high - low) / 2.0))
    }
}

/// The failures of one network and decoder, among others that are compared with it.
pub(crate) struct FailureSet<'a> {
    /// The tallies of every method on them.
    pub(crate) tallies: &'a Tallies,
    /// The input of each failure. An input on which several networks or decoders fail is drawn as
    /// one, with all its outputs, because these are not independent observations.
    pub(crate) inputs: Vec<String>,
}

/// The tallies of two methods, input by input over all sets.
fn by_input(sets: &[&FailureSet<'_>], ours: &str, rival: &str) -> (Vec<Tally>, Vec<Tally>) {
    let mut pooled: BTreeMap<&str, (Tally, Tally)> = BTreeMap::new();
    for set in sets {
        let (Some(own), Some(theirs)) = (set.tallies.of(ours), set.tallies.of(rival)) else {
            continue;
        };
        for (input, (&own, &theirs)) in set.inputs.iter().zip(own.iter().zip(theirs)) {
            let both = pooled.entry(input).or_default();
            both.0 += own;
            both.1 += theirs;
        }
    }
    pooled.into_values().unzip()
}

/// How far `ours` is ahead of a rival on all these sets together, from draws of the inputs.
pub(crate) fn ahead_on_all(
    sets: &[&FailureSet<'_>],
    ours: &str,
    rival: &str,
    figure: Score,
) -> Interval {
    let (own, theirs) = by_input(sets, ours, rival);
    Interval::between(&own, &theirs, figure)
}

/// A tally of all comparisons: on how many failure sets `ours` is significantly ahead of each rival,
/// level, and behind; and how far it is ahead on all their failures together.
pub(crate) fn tally_table(ours: &str, sets: &[FailureSet<'_>], figures: &[(&str, Score)]) -> Table {
    /// Differences on smaller sets are mostly chance.
    const FEWEST: usize = 10;
    let big = |set: &&FailureSet<'_>| set.tallies.of(ours).is_some_and(|all| FEWEST <= all.len());
    let sets: Vec<&FailureSet<'_>> = sets.iter().filter(big).collect();
    let caption = format!(
        "“{ours}” against every other method, on the {} sets of at least {FEWEST} failures: sets \
         on which it is significantly ahead, level or behind, and the difference on all their \
         failures together with its 95 % interval, from draws of the inputs",
        sets.len()
    );
    let header =
        ["rival", "figure", "won", "level", "lost", "failures", "inputs", "pooled difference"];
    let mut table = Table::new(caption, header);
    let mut rivals: Vec<&str> = Vec::new();
    for method in sets.iter().flat_map(|set| set.tallies.methods()) {
        if method != ours && !rivals.contains(&method) {
            rivals.push(method);
        }
    }
    for rival in rivals {
        for (name, figure) in figures {
            let differences: Vec<Interval> =
                sets.iter().filter_map(|set| set.tallies.ahead(ours, rival, *figure)).collect();
            let count =
                |verdict| differences.iter().filter(|d| d.verdict() == verdict).count().to_string();
            let (own, theirs) = by_input(&sets, ours, rival);
            let failures: u32 = own.iter().map(|tally| tally.outputs).sum();
            let pooled = Interval::between(&own, &theirs, *figure);
            let cell = Cell::plain(pooled.signed());
            let is_won = pooled.verdict() == Verdict::Won;
            table = table.row([
                Cell::plain(rival),
                Cell::plain(*name),
                Cell::plain(count(Verdict::Won)),
                Cell::plain(count(Verdict::Level)),
                Cell::plain(count(Verdict::Lost)),
                Cell::plain(failures.to_string()),
                Cell::plain(own.len().to_string()),
                if is_won { cell.best() } else { cell },
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(n: usize, ours: u32, theirs: u32) -> Tallies {
        let mut set = Tallies::default();
        let all = |correct| {
            vec![Tally { correct, found: 10, gold: 10, exact: correct / 10, outputs: 1 }; n]
        };
        set.push("rival", all(theirs));
        set.push(OURS, all(ours));
        set
    }

    /// The cells of the only row, for sets that share no inputs, or all of them.
    fn row(ours: &str, sets: &[Tallies], shared: bool) -> Vec<String> {
        let named = |(i, tallies): (usize, &Tallies)| {
            let n = tallies.of(ours).map_or(0, <[Tally]>::len);
            let name = |input| if shared { format!("{input}") } else { format!("{i} {input}") };
            (0..n).map(name).collect::<Vec<_>>()
        };
        let sets: Vec<FailureSet<'_>> = sets
            .iter()
            .enumerate()
            .map(|(i, tallies)| FailureSet { tallies, inputs: named((i, tallies)) })
            .collect();
        let table = tally_table(ours, &sets, &[("F1", Tally::f1)]);
        assert!(table.caption.contains("3 sets"), "{}", table.caption);
        table.rows[0].iter().map(|cell| cell.text.clone()).collect()
    }

    #[test]
    fn comparisons_are_counted_by_verdict() {
        let sets = [set(30, 8, 5), set(20, 6, 6), set(40, 4, 5), set(9, 0, 10)];
        let texts = row(OURS, &sets, false);
        let expected = ["rival", "F1", "1", "1", "1", "90", "90"];
        assert_eq!(texts[..7], expected, "the small set is left out");
        // 30·30 + 0 − 40·10, over 90.
        assert!(texts[7].starts_with("+5.6 ("), "{}", texts[7]);
        let texts = row("rival", &sets, false);
        assert!(texts[0] == OURS && texts[7].starts_with("−5.6 ("), "{texts:?}");
    }

    #[test]
    fn what_several_fail_on_is_one_observation() {
        // Right on the first half of the inputs, wrong on the second, by three networks.
        let mut one = Tallies::default();
        let right = |i| Tally { correct: i, found: 1, gold: 1, exact: i, outputs: 1 };
        one.push("rival", (0..40).map(|i| right(u32::from(20 <= i))).collect());
        one.push(OURS, (0..40).map(|i| right(u32::from(i < 24))).collect());
        let sets = [one.clone(), one.clone(), one];
        let (alone, together) = (row(OURS, &sets, false), row(OURS, &sets, true));
        assert_eq!((&alone[6][..], &together[6][..]), ("120", "40"));
        let width = |text: &str| {
            let ends = text.split(['(', ')']).nth(1).unwrap().replace('−', "-");
            let ends: Vec<f64> = ends.split(" to ").map(|end| end.parse().unwrap()).collect();
            ends[1] - ends[0]
        };
        let wider = width(&together[7]) / width(&alone[7]);
        assert!((1.5..2.0).contains(&wider), "√3 as wide: {wider}");
    }

    #[test]
    fn marks_say_who_is_ahead() {
        assert_eq!(set(30, 8, 5).mark("rival", Tally::f1), "†");
        assert_eq!(set(30, 5, 8).mark("rival", Tally::f1), "‡");
        assert_eq!(set(30, 5, 5).mark("rival", Tally::f1), "");
        assert_eq!(set(30, 8, 5).mark(OURS, Tally::f1), "");
        assert_eq!(set(30, 8, 5).f1("rival").unwrap(), "50.0 ± 0.0†");
        assert_eq!(set(0, 8, 5).f1("rival"), None);
    }
}
