//! Our method against every rival, failure set by failure set: who is significantly ahead.

use cajole_report::{Cell, Table};
use serde::{Deserialize, Serialize};

use crate::{Interval, Score, Tally, Verdict};

/// What every method got right on each failure of one set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tallies(Vec<(String, Vec<Tally>)>);

/// The method that all others are compared with, unless another is named.
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

/// A tally of all comparisons: on how many failure sets `ours` is significantly ahead of each rival,
/// level, and behind; and how far it is ahead on all their failures together.
pub(crate) fn tally_table(ours: &str, sets: &[&Tallies], figures: &[(&str, Score)]) -> Table {
    /// The difference of smaller sets is chance.
    const FEWEST: usize = 10;
    let big = |set: &&&Tallies| set.of(ours).is_some_and(|all| FEWEST <= all.len());
    let sets: Vec<&Tallies> = sets.iter().filter(big).copied().collect();
    let caption = format!(
        "“{ours}” against every other method, on the {} sets of at least {FEWEST} failures: sets \
         on which it is significantly ahead, level or behind, and the difference on all their \
         failures together with its 95 % interval",
        sets.len()
    );
    let header = ["rival", "figure", "won", "level", "lost", "failures", "pooled difference"];
    let mut table = Table::new(caption, header);
    let mut rivals: Vec<&str> = Vec::new();
    for method in sets.iter().flat_map(|set| set.methods()) {
        if method != ours && !rivals.contains(&method) {
            rivals.push(method);
        }
    }
    for rival in rivals {
        for (name, figure) in figures {
            let differences: Vec<Interval> =
                sets.iter().filter_map(|set| set.ahead(ours, rival, *figure)).collect();
            let count =
                |verdict| differences.iter().filter(|d| d.verdict() == verdict).count().to_string();
            let both = sets.iter().filter_map(|set| Some((set.of(ours)?, set.of(rival)?)));
            let (own, theirs): (Vec<_>, Vec<_>) = both.unzip();
            let (own, theirs) = (own.concat(), theirs.concat());
            let pooled = Interval::between(&own, &theirs, *figure);
            let cell = Cell::plain(pooled.signed());
            let is_won = pooled.verdict() == Verdict::Won;
            table = table.row([
                Cell::plain(rival),
                Cell::plain(*name),
                Cell::plain(count(Verdict::Won)),
                Cell::plain(count(Verdict::Level)),
                Cell::plain(count(Verdict::Lost)),
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

    #[test]
    fn comparisons_are_counted_by_verdict() {
        let sets = [set(30, 8, 5), set(20, 6, 6), set(40, 4, 5), set(9, 0, 10)];
        let table = tally_table(OURS, &sets.iter().collect::<Vec<_>>(), &[("F1", Tally::f1)]);
        let texts: Vec<&str> = table.rows[0].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts[..6], ["rival", "F1", "1", "1", "1", "90"], "the small set is left out");
        // 30·30 + 0 − 40·10, over 90.
        assert!(texts[6].starts_with("+5.6 ("), "{}", texts[6]);
        assert!(table.caption.contains("3 sets"), "{}", table.caption);
        let table = tally_table("rival", &sets.iter().collect::<Vec<_>>(), &[("F1", Tally::f1)]);
        let texts: Vec<&str> = table.rows[0].iter().map(|cell| cell.text.as_str()).collect();
        assert!(texts[0] == OURS && texts[6].starts_with("−5.6 ("), "{texts:?}");
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
