//! Exact constrained decoding that charges for repeated core roles.
//!
//! A predicate has one agent, but [`Exact`] may find it two: a recursion over positions does not
//! know which roles it has used. With `c` for the charge, this finds the best of
//!
//! ```text
//! Σ_t log p(y_t) − c · (core roles of y that occurred before)
//! ```
//!
//! among the outputs whose arguments are allowed spans. If [`Exact`]'s output repeats nothing, it
//! is the best here too. Otherwise a best-first search extends prefixes by whole spans. Its bound
//! on the rest is [`Exact`]'s chart, which leaves out only the charges, and prefixes that are sure
//! to score below [`Exact`]'s output are dropped. Of prefixes that end at the same position with
//! the same roles used, only the best is extended. If a million prefixes do not suffice, as for a
//! long input that the network is undecided about, the result is [`Exact`]'s output.

use std::collections::BinaryHeap;

use crate::Symbol;
use crate::constraints::{Brackets, CORE_ROLES, Role, RoleSet, TagSet};

use super::queued::Queued;
use super::{Chart, Exact, TagScores};

/// Finds the best tag sequence whose arguments are brackets, less a charge for each repetition of a
/// core role.
#[derive(Clone, Debug)]
pub struct UniqueExact<'a> {
    exact: Exact<'a>,
    charge: f64,
    /// The bit of each core role; 0 for other roles.
    bits: Vec<u8>, // (R)
}

impl<'a> UniqueExact<'a> {
    /// Charges for PropBank's core roles; spans of `free` roles may be anywhere. Negative charges and
    /// NaN count as 0; infinity forbids repetitions.
    pub fn new(tags: &TagSet, free: &'a RoleSet, charge: f32) -> Self {
        const { assert!(CORE_ROLES.len() < 8, "one bit each") }
        let bit = |role| {
            let name = tags.role_name(role);
            CORE_ROLES.iter().position(|core| *core == name).map_or(0, |i| 1 << i)
        };
        UniqueExact {
            exact: Exact { free },
            charge: f64::from(charge.max(0.0)),
            bits: tags.roles().map(bit).collect(),
        }
    }

    /// Writes the best sequence into `y` and returns its log-probability less the charges; `None` if
    /// every satisfying sequence is impossible, or if repetitions are forbidden and the search gives
    /// up. Without brackets, every span is allowed.
    ///
    /// `scores` must use the tags this was made with.
    pub fn tag(
        &self,
        scores: &TagScores,
        brackets: Option<&Brackets>,
        chart: &mut Chart,
        frontier: &mut Frontier,
        y: &mut Vec<Symbol>,
    ) -> Option<f32> {
        let sum = self.exact.tag(scores, brackets, chart, y)?;
        let repeated = self.repetitions(scores.tags(), y);
        if repeated == 0 || self.charge == 0.0 {
            return Some(sum);
        }
        let floor = chart.after(0) - self.charge * f64::from(repeated);
        match (Run { of: self, scores, brackets, chart, frontier, floor }).search(y) {
            Some(score) => Some(score as f32),
            // The search gave up, or rounding dropped an output as good as `Exact`'s.
            None if f64::NEG_INFINITY < floor => Some(floor as f32),
            None => {
                y.clear();
                None
            }
        }
    }

    fn repetitions(&self, tags: &TagSet, y: &[Symbol]) -> u32 {
        let (mut used, mut n) = (0, 0);
        for span in tags.iter_spans(y) {
            let bit = self.bits[span.role.index()];
            n += u32::from(used & bit != 0);
            used |= bit;
        }
        n
    }
}

/// The most prefixes of a search, of some 50 bytes each.
const MOST_PREFIXES: usize = 1 << 20;

/// The prefixes of a search, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Frontier {
    prefixes: Vec<Prefix>,
    queue: BinaryHeap<Queued>,
    /// Whether the best prefix of this length with these core roles was extended.
    is_done: Vec<bool>, // (T + 1, 2^7)
}

const N_USES: usize = 1 << CORE_ROLES.len();

/// A prefix, by its last span or `O`.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    parent: u32,
    end: u32,
    /// The first symbol of its last span.
    symbol: Symbol,
    used: u8,
    /// The log-probability less the charges.
    sum: f64,
}

struct Run<'r> {
    of: &'r UniqueExact<'r>,
    scores: &'r TagScores<'r>,
    brackets: Option<&'r Brackets>,
    chart: &'r Chart,
    frontier: &'r mut Frontier,
    /// Nothing below this is wanted.
    floor: f64,
}

impl Run<'_> {
    /// Writes the best sequence into `y` and returns its score.
    fn search(mut self, y: &mut Vec<Symbol>) -> Option<f64> {
        let (tags, n) = (self.scores.tags(), self.scores.n_positions());
        let Frontier { prefixes, queue, is_done } = &mut *self.frontier;
        prefixes.clear();
        queue.clear();
        is_done.clear();
        is_done.resize((n + 1) * N_USES, false);
        prefixes.push(Prefix { parent: 0, end: 0, symbol: tags.outside(), used: 0, sum: 0.0 });
        queue.push(Queued { bound: self.chart.after(0), len: 0, prefix: 0 });
        while let Some(Queued { prefix, .. }) = self.frontier.queue.pop() {
            let from = self.frontier.prefixes[prefix as usize];
            if from.end as usize == n {
                self.read(prefix, y);
                return Some(from.sum);
            }
            let place = from.end as usize * N_USES + usize::from(from.used);
            if !std::mem::replace(&mut self.frontier.is_done[place], true) {
                self.extend(prefix, from);
            }
            if MOST_PREFIXES < self.frontier.prefixes.len() {
                return None;
            }
        }
        None
    }

    /// Queues `from` with every span, or `O`, that may follow.
    fn extend(&mut self, parent: u32, from: Prefix) {
        let (tags, t) = (self.scores.tags(), from.end as usize);
        let outside = tags.outside();
        let sum = from.sum + self.scores.log_prob(t, outside);
        self.push(Prefix { parent, end: from.end + 1, symbol: outside, used: from.used, sum });
        for role in tags.roles() {
            let bit = self.of.bits[role.index()];
            let charge = if from.used & bit == 0 { 0.0 } else { self.of.charge };
            let symbol = tags.begin(role);
            let used = from.used | bit;
            let begun = from.sum + self.scores.log_prob(t, symbol) - charge;
            let prefix = Prefix { parent, end: from.end + 1, symbol, used, sum: begun };
            match self.brackets {
                Some(brackets) if !self.of.exact.free.contains(role) => {
                    let ends = brackets.starting_at(t).iter().map(|&(_, end)| end);
                    self.push_spans(role, prefix, ends);
                }
                _ => self.push_spans(role, prefix, t + 1..=self.scores.n_positions()),
            }
        }
    }

    /// Queues `prefix`, whose last span, of `role`, has one tag so far, with each of the ascending
    /// `ends`.
    fn push_spans(&mut self, role: Role, mut prefix: Prefix, ends: impl Iterator<Item = usize>) {
        let inside = self.scores.tags().inside(role);
        for end in ends.take_while(|&end| end <= self.scores.n_positions()) {
            for u in prefix.end as usize..end {
                prefix.sum +=
                    inside.map_or(f64::NEG_INFINITY, |inside| self.scores.log_prob(u, inside));
            }
            prefix.end = end as u32;
            self.push(prefix);
        }
    }

    fn push(&mut self, prefix: Prefix) {
        let bound = prefix.sum + self.chart.after(prefix.end as usize);
        if bound < self.floor || bound == f64::NEG_INFINITY {
            return;
        }
        let Frontier { prefixes, queue, .. } = &mut *self.frontier;
        queue.push(Queued { bound, len: prefix.end, prefix: prefixes.len() as u32 });
        prefixes.push(prefix);
    }

    /// Writes the tags of a complete prefix.
    fn read(&self, complete: u32, y: &mut Vec<Symbol>) {
        let tags = self.scores.tags();
        y.clear();
        y.resize(self.scores.n_positions(), tags.outside());
        let mut at = self.frontier.prefixes[complete as usize];
        while 0 < at.end {
            let before = self.frontier.prefixes[at.parent as usize];
            let inside = tags.tag(at.symbol).and_then(|tag| tags.inside(tag.role()?));
            let start = before.end as usize;
            y[start] = at.symbol;
            y[start + 1..at.end as usize].fill(inside.unwrap_or(at.symbol));
            at = before;
        }
    }
}
