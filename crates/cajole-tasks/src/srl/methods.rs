//! A tagger's failures, and every way of repairing them.

use cajole_core::constraints::{Brackets, SpansInTree};
use cajole_core::corpus::decode_all;
use cajole_core::report::Row;
use cajole_core::{Candidate, Config, Constraint, Decoder, Gbi, Outcome, Symbol, UnknownGroup};
use cajole_nn::decoders::{AStar, Exact, Heuristic, Penalties, Tagged};

use super::eval::{Counts, Score};
use super::instance::Instance;
use super::tagger::{Net, RoleTagger};
use crate::experiment::{Otherwise, Repair, Watch, with_costs, with_decoder, with_gbi};

/// The predicates for which a tagger's own output violates the constraint.
pub struct Failures<'a> {
    /// The tagger.
    pub tagger: &'a RoleTagger,
    /// The failures, each with its first output.
    pub cases: Vec<(&'a Instance, Candidate)>,
    /// How many predicates there were.
    pub total: usize,
    constraint: SpansInTree<'a>,
    /// Score of all other outputs.
    rest: Score,
}

/// What gradient-based inference did to the failures, to be looked at under several step limits.
pub struct Nudged {
    /// One run per failure.
    pub outcomes: Vec<Outcome>,
    /// What A* kept before, if it was asked.
    searched: Vec<Repair>,
}

impl Nudged {
    /// What the first pass took on average, in milliseconds.
    pub fn first(&self) -> f64 {
        let firsts = self.outcomes.iter().filter_map(|outcome| outcome.trace.steps().first());
        let total: f64 = firsts.map(|step| step.elapsed.as_secs_f64() * 1e3).sum();
        total / self.outcomes.len() as f64
    }
}

impl<'a> Failures<'a> {
    /// Tags `instances` and keeps those that fail.
    pub fn find(tagger: &'a RoleTagger, instances: &'a [Instance], watch: &dyn Watch) -> Self {
        /// Predicates between two signs of progress.
        const CHUNK: usize = 512;
        let constraint = tagger.constraint();
        let (mut rest, mut cases) = (Score::default(), Vec::new());
        watch.begin("viterbi", instances.len() as u64);
        for (i, chunk) in instances.chunks(CHUNK).enumerate() {
            let xs: Vec<&Instance> = chunk.iter().collect();
            let decoded = decode_all::<Net, _>(&tagger.model, &tagger.viterbi(), &xs);
            for (x, first) in chunk.iter().zip(decoded) {
                match constraint.check(x, &first.output).is_satisfied() {
                    true => rest += Score::of(&x.gold, &tagger.vocabulary.arguments(&first.output)),
                    false => cases.push((x, first)),
                }
            }
            watch.advance((i * CHUNK + chunk.len()) as u64, &format!("{} fail", cases.len()));
        }
        watch.end();
        Failures { tagger, cases, total: instances.len(), constraint, rest }
    }

    /// Only the first `n` failures.
    #[must_use]
    pub fn truncated(mut self, n: usize) -> Self {
        self.cases.truncate(n);
        self
    }

    /// A* search, with this penalty for an argument that is no node.
    pub fn a_star(&self, penalty: f32, agenda_limit: usize, watch: &dyn Watch) -> Vec<Repair> {
        let tags = &self.tagger.vocabulary.tags;
        let penalties = Penalties { syntax: penalty, ..Penalties::default() };
        let mut search = AStar::new(tags, penalties);
        (search.agenda_limit, search.heuristic) = (agenda_limit, Heuristic::Viterbi);
        self.with(&Tagged { tags, search }, watch)
    }

    /// The most probable output that satisfies the constraint.
    pub fn exact(&self, watch: &dyn Watch) -> Vec<Repair> {
        let tags = &self.tagger.vocabulary.tags;
        self.with(&Tagged { tags, search: Exact { free: &self.constraint.free } }, watch)
    }

    /// The network's own outputs, as a method that changes nothing.
    pub fn untouched(&self) -> Vec<Repair> {
        self.cases.iter().map(|(_, first)| Repair::untouched(first, 1)).collect()
    }

    /// Gradient-based inference; exact decoding proposes what is raised, if anything is. Who watches
    /// sees it under this name.
    ///
    /// # Errors
    /// If the preset names a parameter group that the network does not have.
    pub fn gbi(
        &self,
        name: &str,
        config: Config,
        watch: &dyn Watch,
    ) -> Result<Nudged, UnknownGroup> {
        let xs: Vec<&Instance> = self.cases.iter().map(|(x, _)| *x).collect();
        Ok(Nudged { searched: Vec::new(), outcomes: self.gbi_on(name, config, &xs, watch)? })
    }

    /// The same under a constraint that gives way where the network insists: an argument that A*
    /// kept at some penalty may stay, whatever the tree.
    ///
    /// # Errors
    /// If the preset names a parameter group that the network does not have.
    pub fn cautious(
        &self,
        name: &str,
        config: Config,
        searched: Vec<Repair>,
        watch: &dyn Watch,
    ) -> Result<Nudged, UnknownGroup> {
        let lenient = |((x, _), repair): (&(&Instance, Candidate), &Repair)| {
            let kept = self.constraint.faults(*x, &repair.output).map(|s| (s.start, s.end));
            let widen = |nodes: &Brackets| nodes.as_pairs().iter().copied().chain(kept).collect();
            Instance { brackets: x.brackets.as_ref().map(widen), ..(*x).clone() }
        };
        let lenient: Vec<Instance> = self.cases.iter().zip(&searched).map(lenient).collect();
        let xs: Vec<&Instance> = lenient.iter().collect();
        Ok(Nudged { outcomes: self.gbi_on(name, config, &xs, watch)?, searched })
    }

    fn gbi_on(
        &self,
        name: &str,
        config: Config,
        xs: &[&Instance],
        watch: &dyn Watch,
    ) -> Result<Vec<Outcome>, UnknownGroup> {
        let tags = &self.tagger.vocabulary.tags;
        let exact = Tagged { tags, search: Exact { free: &self.constraint.free } };
        let (model, constraint) = (&self.tagger.model, &self.constraint);
        let decoder = &self.tagger.viterbi();
        let gbi = Gbi { model, decoder, constraint, sources: vec![&exact], config };
        watch.begin(name, xs.len() as u64);
        let outcomes = with_gbi(&gbi, xs, watch);
        watch.end();
        outcomes
    }

    /// What gradient-based inference gives within so many steps, judged by the constraint as it is.
    pub fn within(&self, nudged: &Nudged, limit: Option<usize>) -> Vec<Repair> {
        let cases = self.cases.iter().zip(&nudged.outcomes).enumerate();
        let judged = cases.map(|(i, ((x, _), outcome))| {
            let mut repair = Repair::within(outcome, limit.unwrap_or(usize::MAX));
            repair.converted &= self.constraint.check(*x, &repair.output).is_satisfied();
            if let Some(searched) = nudged.searched.get(i) {
                repair.passes += searched.passes;
                repair.milliseconds += searched.milliseconds;
            }
            repair
        });
        judged.collect()
    }

    fn with(&self, decoder: &dyn Decoder<Net>, watch: &dyn Watch) -> Vec<Repair> {
        let cases: Vec<_> = self.cases.iter().map(|(x, first)| (*x, first)).collect();
        let model = &self.tagger.model;
        with_decoder(model, decoder, &self.constraint, &cases, Otherwise::Found, watch)
    }

    /// The score of these outputs on the failures.
    pub fn score<'y>(&self, outputs: impl IntoIterator<Item = &'y [Symbol]>) -> Score {
        let mut total = Score::default();
        for ((x, _), y) in self.cases.iter().zip(outputs) {
            total += Score::of(&x.gold, &self.tagger.vocabulary.arguments(y));
        }
        total
    }

    /// For every role: how many there are, F1 of all outputs as they were, and with these repairs.
    pub fn by_role(&self, repairs: &[Repair]) -> Vec<(String, usize, f64, f64)> {
        let before = self.whole(self.cases.iter().map(|(_, first)| first.output.as_slice()));
        let after = self.whole(repairs.iter().map(|r| r.output.as_slice()));
        let f1 = |score: &Score, role: &str| score.roles.get(role).map_or(0.0, Counts::f1);
        let roles = before.roles.iter().map(|(role, counts)| {
            let gold = counts.correct + counts.missed;
            (role.clone(), gold, f1(&before, role), f1(&after, role))
        });
        roles.collect()
    }

    /// The score of all outputs, these being those of the failures.
    fn whole<'y>(&self, outputs: impl IntoIterator<Item = &'y [Symbol]>) -> Score {
        let mut whole = self.rest.clone();
        whole += self.score(outputs);
        whole
    }

    /// The share of arguments that are no node, averaged over the failures, in per cent.
    fn disagreement<'y>(&self, outputs: impl IntoIterator<Item = &'y [Symbol]>) -> f64 {
        let (tags, free) = (self.constraint.tags, &self.constraint.free);
        let of_one = |((x, _), y): (&(&Instance, Candidate), &'y [Symbol])| {
            let arguments = tags.iter_spans(y).filter(|span| !free.contains(span.role)).count();
            self.constraint.faults(*x, y).count() as f64 / arguments.max(1) as f64
        };
        let sum: f64 = self.cases.iter().zip(outputs).map(of_one).sum();
        100.0 * sum / self.cases.len() as f64
    }

    /// All figures of one method, in per cent where they are shares.
    pub fn row(&self, net: &str, method: &str, data: &str, repairs: &[Repair]) -> Row {
        let n = repairs.len() as f64;
        let mean = |f: &dyn Fn(&Repair) -> f64| repairs.iter().map(f).sum::<f64>() / n;
        let share = |f: &dyn Fn(&Repair) -> bool| 100.0 * mean(&|r| f64::from(u8::from(f(r))));
        let firsts = || self.cases.iter().map(|(_, first)| first.output.as_slice());
        let outputs = || repairs.iter().map(|r| r.output.as_slice());
        let (before, after) = (self.score(firsts()), self.score(outputs()));
        let (whole_before, whole_after) = (self.whole(firsts()), self.whole(outputs()));
        let mut row = Row::new(net, method, data)
            .counted(self.total, self.cases.len())
            .with("failure_rate", 100.0 * self.cases.len() as f64 / self.total as f64)
            .with("conversion", share(&|r| r.converted))
            .with("gave_up", share(&|r| r.gave_up))
            .with("disagreement_before", self.disagreement(firsts()))
            .with("disagreement_after", self.disagreement(outputs()));
        // Of nothing there is no score.
        let some = |figure: f64| if repairs.is_empty() { f64::NAN } else { figure };
        for (when, score, whole) in
            [("before", &before, &whole_before), ("after", &after, &whole_after)]
        {
            row = row
                .with(format!("precision_{when}"), some(score.precision()))
                .with(format!("recall_{when}"), some(score.recall()))
                .with(format!("f1_{when}"), some(score.f1()))
                .with(format!("exact_{when}"), some(score.perfect_rate()))
                .with(format!("whole_precision_{when}"), whole.precision())
                .with(format!("whole_recall_{when}"), whole.recall())
                .with(format!("whole_f1_{when}"), whole.f1())
                .with(format!("whole_exact_{when}"), whole.perfect_rate());
        }
        with_costs(row, repairs)
    }
}
