//! A* search for the best tags under penalties, after He et al., "Deep Semantic Role Labeling"
//! (ACL 2017).
//!
//! Penalties for roles that do not go together look at the whole output, so no recursion over
//! positions finds the best one. A search does: prefixes wait on an agenda, ordered by
//!
//! ```text
//! Σ_{u<t} log p(y_u) − penalties so far + an upper bound on Σ_{u≥t} log p
//! ```
//!
//! and since no bound is too low, the first complete one taken off is the best of all. Only valid
//! BIO tags are made. A penalty is charged as soon as it is certain: for a role when its span
//! begins, for a span that is no bracket when it closes, for a reference to nothing at the end.
//!
//! Prefixes are made one at a time. Taking one off the agenda makes its best extension and its own
//! next best sibling, so that the agenda grows by two and not by the number of tags. It may still
//! grow exponentially; the limit makes that a result to report. A* knows the constraints, so it is
//! a rival of gradient-based inference.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cajole_core::Symbol;
use cajole_core::constraints::{
    Brackets, Continuations, PREDICATE_ROLES, References, Role, RoleSet, SpansInTree, Tag, TagSet,
    UniqueRoles,
};

use super::{Space, Suffixes, TagScores};

/// What each fault takes from the log-probability: nothing at 0, and infinity forbids.
///
/// Negative penalties and NaN are taken as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Penalties {
    /// For each surplus span of a core role.
    pub unique: f32,
    /// For each continuation of nothing.
    pub continuation: f32,
    /// For each reference to nothing.
    pub reference: f32,
    /// For each span that is none of the input's brackets.
    pub syntax: f32,
}

/// The bound on what is to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heuristic {
    /// The best tag of every later position, whether or not it may stand there: the paper's.
    #[default]
    Maximum,
    /// The best valid continuation, from Viterbi's table: never looser, and nearly as cheap.
    Viterbi,
}

/// Finds the tags with the highest log-probability less penalties.
#[derive(Clone, Debug)]
pub struct AStar<'a> {
    /// What faults cost.
    pub penalties: Penalties,
    /// Which spans are surplus.
    pub unique: UniqueRoles<'a>,
    /// Which spans continue nothing.
    pub continuations: Continuations<'a>,
    /// Which spans refer to nothing.
    pub references: References<'a>,
    /// Which spans are no brackets.
    pub syntax: SpansInTree<'a>,
    /// The bound.
    pub heuristic: Heuristic,
    /// How many prefixes may be made for one input; 40 bytes each.
    pub agenda_limit: usize,
}

impl<'a> AStar<'a> {
    /// PropBank's core roles, the predicate's own free, a million prefixes.
    pub fn new(tags: &'a TagSet, penalties: Penalties) -> Self {
        AStar {
            penalties,
            unique: UniqueRoles::new(tags),
            continuations: Continuations::new(tags),
            references: References::new(tags),
            syntax: SpansInTree { tags, free: RoleSet::named(tags, PREDICATE_ROLES) },
            heuristic: Heuristic::default(),
            agenda_limit: 1_000_000,
        }
    }

    /// Writes the best tags into `y` if they are found; `y` is empty otherwise.
    ///
    /// `scores` must be of the tags that this was made with. Without brackets there is no penalty
    /// for syntax.
    pub fn tag(
        &self,
        scores: &TagScores,
        brackets: Option<&Brackets>,
        agenda: &mut Agenda,
        y: &mut Vec<Symbol>,
    ) -> Search {
        y.clear();
        Run { a_star: self, scores, brackets, agenda }.search(y)
    }
}

/// How a search ended, and after how many prefixes taken off the agenda.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Search {
    /// With the best tags.
    Found {
        /// Their log-probability less their penalties.
        score: f32,
        /// How many.
        expansions: usize,
    },
    /// At the agenda's limit: the caller has to fall back on another decoder.
    TimedOut {
        /// How many.
        expansions: usize,
    },
    /// With certainty that all tags are impossible or forbidden.
    Impossible {
        /// How many.
        expansions: usize,
    },
}

/// What a search writes, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// Every prefix made: a tree, with the empty prefix at its root.
    prefixes: Vec<Prefix>,
    queue: BinaryHeap<Entry>,
    /// The best log-probabilities of positions `t..`, added up.
    maxima: Vec<f64>, // (T + 1)
    suffixes: Suffixes,
    /// The roles of the spans of the prefix at hand, last first, and the same as a set.
    begun: Vec<Role>,
    before: RoleSet,
}

/// A prefix of the tags, by its last tag; one of T + 1 tags is a complete output with its end.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    parent: u32,
    len: u32,
    tag: Tag,
    /// Where the span of the last tag starts.
    since: u32,
    /// The log-probability less penalties.
    sum: f64,
}

/// A prefix that waits, with what it may come to.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bound: f64,
    len: u32,
    prefix: u32,
}

/// The highest bound first; of equals the longest prefix, then the one made first.
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        let by_bound = self.bound.total_cmp(&other.bound);
        by_bound.then(self.len.cmp(&other.len)).then(other.prefix.cmp(&self.prefix))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// One search.
struct Run<'r> {
    a_star: &'r AStar<'r>,
    scores: &'r TagScores<'r>,
    brackets: Option<&'r Brackets>,
    agenda: &'r mut Agenda,
}

impl Run<'_> {
    fn search(mut self, y: &mut Vec<Symbol>) -> Search {
        let n = self.scores.n_positions();
        self.start();
        let mut expansions = 0;
        while let Some(entry) = self.agenda.queue.pop() {
            expansions += 1;
            let taken = self.agenda.prefixes[entry.prefix as usize];
            if n < taken.len as usize {
                self.read(taken, y);
                return Search::Found { score: taken.sum as f32, expansions };
            }
            let is_root = taken.len == 0;
            let is_made = self.make(entry.prefix, None)
                && (is_root || self.make(taken.parent, Some((entry.bound, taken.tag))));
            if !is_made {
                return Search::TimedOut { expansions };
            }
        }
        Search::Impossible { expansions }
    }

    /// Fills the bounds, and puts the empty prefix on the agenda.
    fn start(&mut self) {
        let Agenda { prefixes, queue, maxima, suffixes, .. } = &mut *self.agenda;
        prefixes.clear();
        queue.clear();
        match self.a_star.heuristic {
            Heuristic::Maximum => add_up_maxima(self.scores, maxima),
            Heuristic::Viterbi => suffixes.fill(self.scores, Space::Log),
        }
        prefixes.push(Prefix { parent: 0, len: 0, tag: Tag::O, since: 0, sum: 0.0 });
        queue.push(Entry { bound: 0.0, len: 0, prefix: 0 });
    }

    /// Makes the best extension of `parent` that comes after `last`, if there is one; false if
    /// that is one too many.
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
        queue.push(Entry { bound, len: prefix.len, prefix: number });
        prefixes.push(prefix);
        true
    }

    /// Hands every possible extension of `from`, whose history is at hand, to `take`.
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

    /// What ending the span at the end of `from` costs, and what beginning `tag` does.
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

    /// What ending the output with `from` costs.
    fn charge_at_end(&self, from: Prefix) -> f64 {
        let AStar { penalties, references, .. } = self.a_star;
        let Agenda { begun, before, .. } = &*self.agenda;
        let n_faults = begun.iter().filter(|&&role| !references.allows(role, before)).count();
        self.charge_for_span(from) + penalty(penalties.reference, n_faults)
    }

    /// What the span at the end of `from`, if there is one, costs if it ends there.
    fn charge_for_span(&self, from: Prefix) -> f64 {
        let AStar { penalties, syntax, .. } = self.a_star;
        let (Some(role), Some(brackets)) = (from.tag.role(), self.brackets) else { return 0.0 };
        let is_fault = !syntax.allows(brackets, role, from.since as usize, from.len as usize);
        penalty(penalties.syntax, usize::from(is_fault))
    }

    /// No less than what positions `t..` can add after `before`.
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
    /// Puts the roles of the spans of `prefix` at hand.
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

/// What `n_faults` cost; none cost nothing even where one costs infinity.
fn penalty(each: f32, n_faults: usize) -> f64 {
    if 0 < n_faults { f64::from(each.max(0.0)) * n_faults as f64 } else { 0.0 }
}

/// The best log-probabilities of positions `t..`, added up, for every `t`.
fn add_up_maxima(scores: &TagScores, maxima: &mut Vec<f64>) {
    let n = scores.n_positions();
    maxima.clear();
    maxima.resize(n + 1, 0.0);
    for t in (0..n).rev() {
        let row = (0..scores.tags().n_tags() as Symbol).map(|symbol| scores.log_prob(t, symbol));
        maxima[t] = maxima[t + 1] + row.fold(f64::NEG_INFINITY, f64::max);
    }
}
