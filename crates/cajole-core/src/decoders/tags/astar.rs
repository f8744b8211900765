//! A* search for the best tags under penalties, after He et al., "Deep Semantic Role Labeling"
//! (ACL 2017).
//!
//! Penalties for incompatible roles depend on the whole output, so no recursion over positions
//! finds the optimum. A search does: prefixes wait on an agenda, ordered by
//!
//! ```text
//! Σ_{u<t} log p(y_u) − penalties so far + an upper bound on Σ_{u≥t} log p
//! ```
//!
//! and since the bound is admissible, the first complete one popped is the optimum. Only valid BIO
//! tags are generated. A penalty is charged as soon as it is certain: for a role when its span
//! begins, for a span that is not a bracket when it closes, for a dangling reference at the end.
//!
//! Prefixes are generated lazily. Popping one generates its best extension and its own next-best
//! sibling, so that the agenda grows by two rather than by the number of tags. It may still grow
//! exponentially; hitting the limit is reported as a result. A* knows the constraints, so it is a
//! baseline for gradient-based inference.

use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::Symbol;
use crate::constraints::{
    Brackets, PREDICATE_ROLES, Role, RoleRule, RoleSet, SpansInTree, Tag, TagSet,
};

use super::queued::Queued;
use super::{Space, Suffixes, TagScores};

/// The cost of each fault, subtracted from the log-probability: 0 ignores it, infinity forbids it.
///
/// Negative penalties and NaN count as 0. Infinity is serialized as null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Penalties {
    /// For each repeated span of a core role.
    #[serde(with = "or_infinity")]
    pub unique: f32,
    /// For each continuation of nothing.
    #[serde(with = "or_infinity")]
    pub continuation: f32,
    /// For each reference to nothing.
    #[serde(with = "or_infinity")]
    pub reference: f32,
    /// For each span that is not among the input's brackets.
    #[serde(with = "or_infinity")]
    pub syntax: f32,
}

/// Only spans that are not brackets are forbidden.
impl Default for Penalties {
    fn default() -> Self {
        Penalties { syntax: f32::INFINITY, ..Penalties::NONE }
    }
}

impl Penalties {
    /// Everything is allowed.
    pub const NONE: Penalties =
        Penalties { unique: 0.0, continuation: 0.0, reference: 0.0, syntax: 0.0 };
}

/// A penalty, or null for infinity, which JSON does not have.
mod or_infinity {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(penalty: &f32, to: S) -> Result<S::Ok, S::Error> {
        Some(*penalty).filter(|penalty| penalty.is_finite()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f32, D::Error> {
        Ok(Option::<f32>::deserialize(from)?.unwrap_or(f32::INFINITY))
    }
}

/// The bound on the rest of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heuristic {
    /// The sum of every later position's best tag, valid or not: the paper's.
    #[default]
    Maximum,
    /// The best valid continuation, from the Viterbi table: never looser, and nearly as cheap.
    Viterbi,
}

/// Finds the tags with the highest log-probability minus penalties.
#[derive(Clone, Debug)]
pub struct AStar {
    /// The cost of faults.
    pub penalties: Penalties,
    /// Which spans are repeated.
    pub unique: RoleRule,
    /// Which spans continue nothing.
    pub continuations: RoleRule,
    /// Which spans refer to nothing.
    pub references: RoleRule,
    /// Which spans are not brackets.
    pub syntax: SpansInTree,
    /// The bound.
    pub heuristic: Heuristic,
    /// Maximum number of prefixes per input; 40 bytes each.
    pub agenda_limit: usize,
}

impl AStar {
    /// PropBank's core roles, free predicate roles, and a million prefixes.
    pub fn new(tags: &TagSet, penalties: Penalties) -> Self {
        AStar {
            penalties,
            unique: RoleRule::unique(tags),
            continuations: RoleRule::continuations(tags),
            references: RoleRule::references(tags),
            syntax: SpansInTree { tags: tags.clone(), free: RoleSet::named(tags, PREDICATE_ROLES) },
            heuristic: Heuristic::default(),
            agenda_limit: 1_000_000,
        }
    }

    /// Writes the best tags into `y` if they are found; `y` is empty otherwise.
    ///
    /// `scores` must use the tags this was made with. Without brackets there is no syntax penalty.
    pub fn tag(
        &self,
        scores: &TagScores,
        brackets: Option<&Brackets>,
        agenda: &mut Agenda,
        y: &mut Vec<Symbol>,
    ) -> Ended {
        y.clear();
        Run { a_star: self, scores, brackets, agenda }.search(y)
    }
}

/// How a search ended, and the number of prefixes popped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended {
    /// The best tags were found.
    Found {
        /// Their log-probability minus their penalties.
        score: f32,
        /// Prefixes popped.
        expansions: usize,
    },
    /// The agenda's limit was reached: the caller must fall back to another decoder.
    TimedOut {
        /// Prefixes popped.
        expansions: usize,
    },
    /// All outputs are impossible or forbidden.
    Impossible {
        /// Prefixes popped.
        expansions: usize,
    },
}

/// Written by a search, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// All generated prefixes: a tree, with the empty prefix at its root.
    prefixes: Vec<Prefix>,
    queue: BinaryHeap<Queued>,
    /// Suffix sums of the best log-probability of each position.
    maxima: Vec<f64>, // (T + 1)
    suffixes: Suffixes,
    /// The roles of the current prefix's spans, last first, and the same as a set.
    begun: Vec<Role>,
    before: RoleSet,
}

/// A prefix, by its last tag; one of T + 1 tags is a complete output with its end.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    parent: u32,
    len: u32,
    tag: Tag,
    /// Start of the last tag's span.
    since: u32,
    /// The log-probability minus penalties.
    sum: f64,
}

/// One search.
struct Run<'r> {
    a_star: &'r AStar,
    scores: &'r TagScores<'r>,
    brackets: Option<&'r Brackets>,
    agenda: &'r mut Agenda,
}

impl Run<'_> {
    fn search(mut self, y: &mut Vec<Symbol>) -> Ended {
        let n = self.scores.n_positions();
        self.start();
        let mut expansions = 0;
        while let Some(entry) = self.agenda.queue.pop() {
            expansions += 1;
            let taken = self.agenda.prefixes[entry.prefix as usize];
            if n < taken.len as usize {
                self.read(taken, y);
                return Ended::Found { score: taken.sum as f32, expansions };
            }
            let is_root = taken.len == 0;
            let is_made = self.make(entry.prefix, None)
                && (is_root || self.make(taken.parent, Some((entry.bound, taken.tag))));
            if !is_made {
                return Ended::TimedOut { expansions };
            }
        }
        Ended::Impossible { expansions }
    }

    /// Computes the bounds and queues the empty prefix.
    fn start(&mut self) {
        let Agenda { prefixes, queue, maxima, suffixes, .. } = &mut *self.agenda;
        prefixes.clear();
        queue.clear();
        match self.a_star.heuristic {
            Heuristic::Maximum => add_up_maxima(self.scores, maxima),
            Heuristic::Viterbi => suffixes.fill(self.scores, Space::Log),
        }
        prefixes.push(Prefix { parent: 0, len: 0, tag: Tag::O, since: 0, sum: 0.0 });
        queue.push(Queued { bound: 0.0, len: 0, prefix: 0 });
    }

    /// Generates the best extension of `parent` that ranks after `last`, if there is one; false if
    /// the limit is reached.
    fn make(&mut self, parent: u32, last: Option<(f64, Tag)>) -> bool {
        self.agenda.recall(parent);
        let from = self.agenda.prefixes[parent as usize];
        let place = |(bound, tag): (f64, Tag)| (bound, self.scores.tags().symbol(tag));
        let comes_after = |a: (f64, Tag), b: (f64, Tag)| {
            let (a, b) = (place(a), place(b));
            a.0 < b.0 || a.0 == b.0 && b.1 < a.1
        };
        let mut best: Option<((f64, Tag), Prefix)> = None;
        self.extensions(parent, from, |bound, prefix| {
            let new = (bound, prefix.tag);
            let is_new = last.is_none_or(|last| comes_after(new, last));
            if is_new && best.is_none_or(|(best, _)| comes_after(best, new)) {
                best = Some((new, prefix));
            }
        });
        let Some(((bound, _), prefix)) = best else { return true };
        let Agenda { prefixes, queue, .. } = &mut *self.agenda;
        let Ok(number) = u32::try_from(prefixes.len()) else { return false };
        if self.a_star.agenda_limit <= prefixes.len() {
            return false;
        }
        queue.push(Queued { bound, len: prefix.len, prefix: number });
        prefixes.push(prefix);
        true
    }

    /// Passes every possible extension of `from`, whose roles have been recalled, to `take`.
    fn extensions(&self, parent: u32, from: Prefix, mut take: impl FnMut(f64, Prefix)) {
        let (tags, t) = (self.scores.tags(), from.len as usize);
        if t == self.scores.n_positions() {
            let sum = from.sum - self.charge_at_end(from);
            if f64::NEG_INFINITY < sum {
                take(sum, Prefix { parent, len: from.len + 1, tag: Tag::O, since: 0, sum });
            }
            return;
        }
        for (symbol, tag) in (0..tags.n_tags() as Symbol).filter_map(|s| Some((s, tags.tag(s)?))) {
            let goes_on = matches!(tag, Tag::I(_)) && tag.role() == from.tag.role();
            if matches!(tag, Tag::I(_)) && !goes_on {
                continue;
            }
            let charge = if goes_on { 0.0 } else { self.charge(from, tag) };
            let sum = from.sum + self.scores.log_prob(t, symbol) - charge;
            let bound = sum + self.bound_after(t + 1, tag);
            if f64::NEG_INFINITY < bound {
                let since = if goes_on { from.since } else { from.len };
                take(bound, Prefix { parent, len: from.len + 1, tag, since, sum });
            }
        }
    }

    /// The cost of ending the span at the end of `from` and beginning `tag`.
    fn charge(&self, from: Prefix, tag: Tag) -> f64 {
        let AStar { penalties, unique, continuations, .. } = self.a_star;
        let before = &self.agenda.before;
        let mut charge = self.charge_for_span(from);
        if let Tag::B(role) = tag {
            charge += penalty(penalties.unique, usize::from(!unique.allows(role, before)));
            let is_fault = !continuations.allows(role, before);
            charge += penalty(penalties.continuation, usize::from(is_fault));
        }
        charge
    }

    /// The cost of ending the output with `from`.
    fn charge_at_end(&self, from: Prefix) -> f64 {
        let AStar { penalties, references, .. } = self.a_star;
        let Agenda { begun, before, .. } = &*self.agenda;
        let n_faults = begun.iter().filter(|&&role| !references.allows(role, before)).count();
        self.charge_for_span(from) + penalty(penalties.reference, n_faults)
    }

    /// The cost of ending the span, if any, at the end of `from`.
    fn charge_for_span(&self, from: Prefix) -> f64 {
        let AStar { penalties, syntax, .. } = self.a_star;
        let (Some(role), Some(brackets)) = (from.tag.role(), self.brackets) else { return 0.0 };
        let is_fault = !syntax.allows(brackets, role, from.since as usize, from.len as usize);
        penalty(penalties.syntax, usize::from(is_fault))
    }

    /// An upper bound on what positions `t..` can add after `before`.
    fn bound_after(&self, t: usize, before: Tag) -> f64 {
        match self.a_star.heuristic {
            Heuristic::Maximum => self.agenda.maxima[t],
            Heuristic::Viterbi => self.agenda.suffixes.after(self.scores, t, before),
        }
    }

    /// Writes the tags of a complete output.
    fn read(&self, complete: Prefix, y: &mut Vec<Symbol>) {
        let mut at = self.agenda.prefixes[complete.parent as usize];
        while 0 < at.len {
            y.extend(self.scores.tags().symbol(at.tag));
            at = self.agenda.prefixes[at.parent as usize];
        }
        y.reverse();
    }
}

impl Agenda {
    /// Loads the roles of the spans of `prefix`.
    fn recall(&mut self, prefix: u32) {
        self.begun.clear();
        self.before.clear();
        let mut at = self.prefixes[prefix as usize];
        while 0 < at.len {
            if let Tag::B(role) = at.tag {
                self.begun.push(role);
                self.before.insert(role);
            }
            at = self.prefixes[at.parent as usize];
        }
    }
}

/// The cost of `n_faults`; zero faults cost nothing, even if one costs infinity.
fn penalty(each: f32, n_faults: usize) -> f64 {
    if 0 < n_faults { f64::from(each.max(0.0)) * n_faults as f64 } else { 0.0 }
}

/// Suffix sums of the best log-probability of each position.
fn add_up_maxima(scores: &TagScores, maxima: &mut Vec<f64>) {
    let n = scores.n_positions();
    maxima.clear();
    maxima.resize(n + 1, 0.0);
    for t in (0..n).rev() {
        let row = (0..scores.tags().n_tags() as Symbol).map(|symbol| scores.log_prob(t, symbol));
        maxima[t] = maxima[t + 1] + row.fold(f64::NEG_INFINITY, f64::max);
    }
}
