//! Constrained decoders of tags against exhaustive search over all tag sequences.
//!
//! Scores are quarters, so that every sum is exact and there are ties, with some that are no numbers
//! in between. Automata are random tables, which the oracle follows by itself.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cajole_core::constraint::{Constraint, Violation};
use cajole_core::constraints::{Automaton, Dfa, TagSet};
use cajole_core::decoders::tags::{
    DoublingTags, MaskedTags, SamplingTags, SuffixLists, TagScores, Trellis,
};
use cajole_core::{Symbol, Wanted};
use proptest::collection::vec;
use proptest::prelude::*;

/// In no helpful order; `V` has no `I-` in the second.
const TAG_SETS: [&[&str]; 3] =
    [&["O", "B-A", "I-A", "B-V", "I-V"], &["I-A", "B-V", "B-B", "O", "I-B", "B-A"], &["O"]];

const IMPOSSIBLE: f64 = f64::NEG_INFINITY;

/// Whether `name` may stand behind `before`, by their names alone.
fn may_follow(before: Option<&str>, name: &str) -> bool {
    let Some(role) = name.strip_prefix("I-") else { return true };
    before.is_some_and(|before| before != "O" && &before[2..] == role)
}

fn value(scores: &[f32], n_tags: usize, t: usize, symbol: Symbol) -> f64 {
    let score = scores[t * n_tags + symbol as usize];
    if score.is_finite() { f64::from(score) } else { IMPOSSIBLE }
}

/// Every valid sequence of the first `n` positions with its sum, in the order of their symbols.
fn all_valid(names: &[&str], scores: &[f32], n: usize) -> Vec<(Vec<Symbol>, f64)> {
    let mut all = vec![(Vec::new(), 0.0)];
    for t in 0..n {
        let longer = |(y, sum): &(Vec<Symbol>, f64)| {
            let before = y.last().map(|&symbol: &Symbol| names[symbol as usize]);
            let next = (0..names.len() as Symbol)
                .filter(|&symbol| may_follow(before, names[symbol as usize]));
            let add = |symbol| {
                let y = [y.as_slice(), &[symbol]].concat();
                (y, sum + value(scores, names.len(), t, symbol))
            };
            next.map(add).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// The first of the best that satisfy, unless these are impossible.
fn first_best(
    all: &[(Vec<Symbol>, f64)],
    satisfies: impl Fn(&[Symbol]) -> bool,
) -> Option<&(Vec<Symbol>, f64)> {
    let possible = || all.iter().filter(|(y, sum)| satisfies(y) && *sum != IMPOSSIBLE);
    let best = possible().map(|(_, sum)| *sum).fold(IMPOSSIBLE, f64::max);
    possible().find(|(_, sum)| *sum == best)
}

/// A random language: where each symbol leads from each state, and which states accept.
#[derive(Clone, Debug)]
struct Table {
    n_symbols: usize,
    next: Vec<Option<usize>>, // (S, V)
    accepts: Vec<bool>,       // (S)
}

impl Table {
    fn end(&self, y: &[Symbol]) -> Option<usize> {
        let step = |state, &symbol: &Symbol| self.next[state * self.n_symbols + symbol as usize];
        y.iter().try_fold(0, step)
    }

    fn contains(&self, y: &[Symbol]) -> bool {
        self.end(y).is_some_and(|state| self.accepts[state])
    }

    fn dfa(&self) -> Dfa {
        let next =
            |&state: &usize, symbol: Symbol| self.next[state * self.n_symbols + symbol as usize];
        Dfa::explore(self.n_symbols, 0, next, |&state| self.accepts[state])
    }

    /// How many symbols lead from `state` to acceptance: as many steps as it takes for that state to
    /// be among those that do.
    fn distance(&self, state: usize) -> Option<usize> {
        let mut near: HashSet<usize> =
            (0..self.accepts.len()).filter(|&state| self.accepts[state]).collect();
        for far in 0..=self.accepts.len() {
            if near.contains(&state) {
                return Some(far);
            }
            let arcs = |state: usize| &self.next[state * self.n_symbols..][..self.n_symbols];
            let leads = |&state: &usize| arcs(state).iter().flatten().any(|to| near.contains(to));
            let more: Vec<usize> = (0..self.accepts.len()).filter(leads).collect();
            near.extend(more);
        }
        None
    }
}

struct Within(Dfa);

impl Constraint<()> for Within {
    fn check(&self, (): &(), y: &[Symbol]) -> Violation {
        Violation::Whole(if self.0.contains(y) { 0.0 } else { 1.0 })
    }

    fn automaton(&self, (): &()) -> Option<Box<dyn Automaton + '_>> {
        Some(Box::new(&self.0))
    }
}

/// A score: mostly quarters, so that there are ties.
fn score() -> impl Strategy<Value = f32> {
    prop_oneof![
        12 => (-12..=0i8).prop_map(|quarters| f32::from(quarters) / 4.0),
        1 => Just(f32::NEG_INFINITY),
        1 => Just(f32::NAN),
    ]
}

/// One of the tag sets, scores for at most four positions, and a language over the tags.
fn problem() -> impl Strategy<Value = (&'static [&'static str], Vec<f32>, Table)> {
    (0..TAG_SETS.len(), 0..=4usize, 1..=4usize).prop_flat_map(|(set, n, n_states)| {
        let names = TAG_SETS[set];
        let n_symbols = names.len();
        let arc = prop_oneof![1 => Just(None), 3 => (0..n_states).prop_map(Some)];
        let table = (vec(arc, n_states * n_symbols), vec(any::<bool>(), n_states))
            .prop_map(move |(next, accepts)| Table { n_symbols, next, accepts });
        (Just(names), vec(score(), n * n_symbols), table)
    })
}

fn tag_set(names: &[&str]) -> TagSet {
    TagSet::new(names.to_vec()).unwrap()
}

fn masked(
    constraint: &Within,
    max_states: usize,
    scores: &TagScores,
) -> Option<(Vec<Symbol>, f64)> {
    let mut y = vec![7];
    let wanted = Wanted::new(&(), constraint);
    let sum = MaskedTags { max_states }.tag(scores, &wanted, &mut Trellis::default(), &mut y);
    sum.map(|sum| (y, f64::from(sum)))
}

proptest! {
    #[test]
    fn masked_tags_are_the_first_of_the_best_members((names, scores, table) in problem()) {
        let (tags, n) = (tag_set(names), scores.len() / names.len());
        let all = all_valid(names, &scores, n);
        let best = first_best(&all, |y| table.contains(y));
        let got = masked(&Within(table.dfa()), usize::MAX, &TagScores::new(&tags, &scores));
        prop_assert_eq!(got.as_ref(), best);
    }

    #[test]
    fn masked_tags_keep_what_can_still_be_a_member((names, scores, table) in problem()) {
        let (tags, n) = (tag_set(names), scores.len() / names.len());
        let mut reached = HashSet::new();
        for t in 1..=n {
            for (y, sum) in all_valid(names, &scores, t) {
                let Some(state) = table.end(&y) else { continue };
                let can_end = table.distance(state).is_some_and(|far| far <= n - t);
                if can_end && sum != IMPOSSIBLE {
                    let name = names[y[t - 1] as usize];
                    reached.insert((t, state, name.get(2..)));
                }
            }
        }
        let (scores, within) = (TagScores::new(&tags, &scores), Within(table.dfa()));
        let enough = 1 + reached.len();
        let unlimited = masked(&within, usize::MAX, &scores);
        prop_assert_eq!(masked(&within, enough, &scores), unlimited);
        if 1 < enough {
            prop_assert_eq!(masked(&within, enough - 1, &scores), None);
        }
    }

    #[test]
    fn doubling_tags_are_the_best_that_satisfy(
        (names, scores, table) in problem(), from in 0..6usize, to in 0..300usize,
    ) {
        let (tags, n) = (tag_set(names), scores.len() / names.len());
        let all = all_valid(names, &scores, n);
        let checks = AtomicUsize::new(0);
        let constraint = |_: &(), y: &[Symbol]| {
            checks.fetch_add(1, Ordering::Relaxed);
            if table.contains(y) { 0.0 } else { 1.0 }
        };
        let (search, wanted) = (DoublingTags { from, to }, Wanted::new(&(), &constraint));
        let (mut lists, mut y) = (SuffixLists::default(), vec![7]);
        let got = search.tag(&TagScores::new(&tags, &scores), &wanted, &mut lists, &mut y);
        let best = first_best(&all, |y| table.contains(y)).map(|(_, sum)| *sum);
        let least = best.unwrap_or(IMPOSSIBLE);
        let n_above = all.iter().filter(|(_, sum)| least < *sum).count();
        let n_not_below =
            all.iter().filter(|(_, sum)| least <= *sum && *sum != IMPOSSIBLE).count();
        if let Some(sum) = got {
            prop_assert!(best == Some(f64::from(sum)) && n_above < to);
            prop_assert!(table.contains(&y) && all.contains(&(y.clone(), f64::from(sum))));
        } else {
            prop_assert!(best.is_none() || to < n_not_below);
        }
        let checks = checks.load(Ordering::Relaxed);
        prop_assert!(checks <= n_not_below.min(to), "{} checks", checks);
    }

    #[test]
    fn samples_are_valid_and_the_same_each_time((names, scores, table) in problem(), seed: u64) {
        let (tags, n) = (tag_set(names), scores.len() / names.len());
        let all = all_valid(names, &scores, n);
        let scores = TagScores::new(&tags, &scores);
        let constraint = |_: &(), y: &[Symbol]| if table.contains(y) { 0.0 } else { 1.0 };
        let search = SamplingTags { samples: 20, temperature: 1.0, seed };
        let wanted = Wanted::new(&(), &constraint);
        let (mut y, mut again) = (vec![7], Vec::new());
        let sum = search.tag(&scores, &wanted, &mut y);
        prop_assert_eq!(search.tag(&scores, &wanted, &mut again), sum);
        prop_assert_eq!(&y, &again);
        if let Some(sum) = sum {
            prop_assert!(table.contains(&y) && sum.is_finite());
            prop_assert!(all.contains(&(y, f64::from(sum))));
        }
    }
}

/// Three positions of the first tag set, none of them sure.
fn unsure() -> Vec<f32> {
    let rows: [f32; 15] =
        [0.3, 0.2, 0.1, 0.3, 0.1, 0.1, 0.2, 0.4, 0.1, 0.2, 0.25, 0.05, 0.3, 0.2, 0.2];
    rows.map(f32::ln).to_vec()
}

#[test]
fn samples_follow_the_network() {
    let (names, scores) = (TAG_SETS[0], unsure());
    let tags = tag_set(names);
    // Position by position, among the tags that may follow.
    let probability = |y: &[Symbol]| -> f64 {
        let one = |t: usize| {
            let before = t.checked_sub(1).map(|before| names[y[before] as usize]);
            let p = |symbol: Symbol| value(&scores, names.len(), t, symbol).exp();
            let may = |&s: &Symbol| may_follow(before, names[s as usize]);
            p(y[t]) / (0..names.len() as Symbol).filter(may).map(p).sum::<f64>()
        };
        (0..y.len()).map(one).product()
    };
    for y in [[0, 0, 0], [1, 2, 2], [3, 1, 0]] {
        let is_y = |_: &(), other: &[Symbol]| if other == y { 0.0 } else { 1.0 };
        let draws = 5000;
        let is_drawn = |&seed: &u64| {
            let one = SamplingTags { samples: 1, temperature: 1.0, seed };
            let (scores, wanted) = (TagScores::new(&tags, &scores), Wanted::new(&(), &is_y));
            one.tag(&scores, &wanted, &mut Vec::new()).is_some()
        };
        let share = (0..draws).filter(is_drawn).count() as f64 / draws as f64;
        let p = probability(&y);
        let deviation = (p * (1.0 - p) / draws as f64).sqrt();
        assert!((share - p).abs() < 4.0 * deviation, "{share} of the samples are {y:?}, not {p}");
    }
}

#[test]
fn of_many_samples_the_best_is_the_best_of_all() {
    let (names, scores) = (TAG_SETS[0], unsure());
    let (tags, all) = (tag_set(names), all_valid(names, &scores, 3));
    let constraint = |_: &(), y: &[Symbol]| (y.iter().sum::<Symbol>() as f32 - 5.0).abs();
    let want = first_best(&all, |y| y.iter().sum::<Symbol>() == 5).unwrap();
    let search = SamplingTags { samples: 5000, temperature: 1.5, seed: 3 };
    let (mut y, wanted) = (Vec::new(), Wanted::new(&(), &constraint));
    let sum = search.tag(&TagScores::new(&tags, &scores), &wanted, &mut y);
    assert_eq!((&y, sum), (&want.0, Some(want.1 as f32)));
}

#[test]
fn nothing_is_found_without_an_automaton_or_without_time() {
    let (tags, scores) = (tag_set(TAG_SETS[0]), unsure());
    let scores = TagScores::new(&tags, &scores);
    let anything = |_: &(), _: &[Symbol]| 0.0;
    let mut y = Vec::new();
    let (masked, mut wanted) = (MaskedTags { max_states: 100 }, Wanted::new(&(), &anything));
    assert_eq!(masked.tag(&scores, &wanted, &mut Trellis::default(), &mut y), None);
    for (deadline, is_found) in [(Duration::ZERO, false), (Duration::from_secs(600), true)] {
        wanted.until = Some(Instant::now() + deadline);
        let search = DoublingTags { from: 1, to: 8 };
        let found = search.tag(&scores, &wanted, &mut SuffixLists::default(), &mut y);
        assert_eq!(found.is_some(), is_found);
    }
}
