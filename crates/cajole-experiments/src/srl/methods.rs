//! A tagger's failures, and every method of repairing them.

use std::sync::Arc;

use cajole_core::constraints::{Brackets, SpansInTree};
use cajole_core::decoders::tags::{AStar, Exact, Tagged};
use cajole_core::{
    Candidate, Config, ConstrainedDecoder, Constraint, Gbi, Symbol, UnknownParameter,
};
use cajole_report::{Figure, Row};
use cajole_tasks::Watch;
use cajole_tasks::srl::instance::Instance;
use cajole_tasks::srl::tagger::{Net, RoleTagger};
use cajole_treebank::roles::eval::{Counts, Score};

use super::search::Searching;
use crate::{Interval, Nudged, Otherwise, Repair, Tally, with_costs, with_gbi, with_search};

/// The predicates for which a tagger's own output violates the constraint.
pub struct Failures<'a> {
    /// The tagger.
    pub tagger: &'a RoleTagger,
    /// The failures, each with its first output.
    pub cases: Vec<(&'a Instance, Candidate)>,
    /// The predicate of each failure, by its index.
    pub(super) inputs: Vec<usize>,
    /// The number of predicates.
    pub total: usize,
    constraint: SpansInTree,
    /// The score of all other outputs.
    rest: Score,
}

/// Gradient-based inference on all failures, to be evaluated under several step limits.
pub struct AllNudged {
    /// One run per failure.
    pub runs: Vec<Nudged>,
    /// The preceding A* results, if it was run.
    searched: Vec<Repair>,
}

impl AllNudged {
    /// The mean time of the first pass, in milliseconds.
    pub fn first(&self) -> f64 {
        let first = |run: &Nudged| run.milliseconds(run.outcome.trace.steps().first());
        self.runs.iter().map(first).sum::<f64>() / self.runs.len() as f64
    }
}

impl<'a> Failures<'a> {
    /// Tags `instances` and keeps the failures.
    pub fn find(tagger: &'a RoleTagger, instances: &'a [Instance], watch: &dyn Watch) -> Self {
        Failures::among(tagger, instances, &Failures::decode(tagger, instances, watch))
    }

    /// The tagger's own outputs. They do not depend on what is allowed, so they serve all kinds of
    /// constraints.
    pub(super) fn decode(
        tagger: &RoleTagger,
        instances: &[Instance],
        watch: &dyn Watch,
    ) -> Vec<Candidate> {
        /// Predicates between progress reports.
        const CHUNK: usize = 512;
        watch.begin("viterbi", instances.len() as u64);
        let mut firsts = Vec::with_capacity(instances.len());
        for chunk in instances.chunks(CHUNK) {
            let xs: Vec<&Instance> = chunk.iter().collect();
            firsts.extend(tagger.model.decode_all(&tagger.viterbi(), &xs));
            watch.advance(firsts.len() as u64, "");
        }
        watch.end();
        firsts
    }

    /// The failures among these instances, whose outputs are `firsts`.
    pub(super) fn among(
        tagger: &'a RoleTagger,
        instances: &'a [Instance],
        firsts: &[Candidate],
    ) -> Self {
        let constraint = tagger.constraint();
        let (mut rest, mut cases, mut inputs) = (Score::default(), Vec::new(), Vec::new());
        for (i, (x, first)) in instances.iter().zip(firsts).enumerate() {
            if constraint.check(x, &first.output).is_satisfied() {
                rest += Score::of(&x.gold, &tagger.vocabulary.arguments(&first.output));
            } else {
                cases.push((x, first.clone()));
                inputs.push(i);
            }
        }
        Failures { tagger, cases, inputs, total: instances.len(), constraint, rest }
    }

    /// Keeps only the first `n` failures.
    #[must_use]
    pub fn truncated(mut self, n: usize) -> Self {
        self.cases.truncate(n);
        self.inputs.truncate(n);
        self
    }

    /// The first `n` failures, as a set of their own.
    pub(super) fn first(&self, n: usize) -> Failures<'a> {
        let cases = self.cases.iter().take(n).cloned().collect();
        let inputs = self.inputs.iter().take(n).copied().collect();
        let (tagger, total, rest) = (self.tagger, self.total, self.rest.clone());
        Failures { tagger, cases, inputs, total, constraint: tagger.constraint(), rest }
    }

    /// A* search. Where it gives up, the first output stays.
    pub fn a_star(&self, by: Searching, watch: &dyn Watch) -> Vec<Repair> {
        let tags = &self.tagger.vocabulary.tags;
        let mut search = AStar::new(tags, by.penalties);
        (search.agenda_limit, search.heuristic) = (by.agenda_limit, by.heuristic);
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

    /// Gradient-based inference. Objectives that raise an output take it from exact decoding, unless
    /// the settings have no sources: then the constraint is a black box.
    /// `name` labels the progress report.
    ///
    /// # Errors
    /// If the preset names a parameter that the network does not have.
    pub fn gbi(
        &self,
        name: &str,
        config: Config,
        watch: &dyn Watch,
    ) -> Result<AllNudged, UnknownParameter> {
        let xs: Vec<&Instance> = self.cases.iter().map(|(x, _)| *x).collect();
        Ok(AllNudged { searched: Vec::new(), runs: self.gbi_on(name, config, &xs, watch)? })
    }

    /// Gradient-based inference under a relaxed constraint: accepts arguments that A* keeps despite
    /// the penalty, whatever the tree.
    ///
    /// # Errors
    /// If the preset names a parameter that the network does not have.
    pub fn cautious(
        &self,
        name: &str,
        config: Config,
        searched: Vec<Repair>,
        watch: &dyn Watch,
    ) -> Result<AllNudged, UnknownParameter> {
        let lenient = |((x, _), repair): (&(&Instance, Candidate), &Repair)| {
            let kept = self.constraint.faults(*x, &repair.output).map(|s| (s.start, s.end));
            let widen = |nodes: &Brackets| {
                Arc::new(nodes.as_pairs().iter().copied().chain(kept).collect::<Brackets>())
            };
            Instance { brackets: x.brackets.as_deref().map(widen), ..(*x).clone() }
        };
        let lenient: Vec<Instance> = self.cases.iter().zip(&searched).map(lenient).collect();
        let xs: Vec<&Instance> = lenient.iter().collect();
        Ok(AllNudged { runs: self.gbi_on(name, config, &xs, watch)?, searched })
    }

    fn gbi_on(
        &self,
        name: &str,
        config: Config,
        xs: &[&Instance],
        watch: &dyn Watch,
    ) -> Result<Vec<Nudged>, UnknownParameter> {
        let model = &self.tagger.model;
        let sources = self.tagger.sources(&config, Some(&self.constraint.free));
        let gbi =
            Gbi::with(model, config)?.decoder(Box::new(self.tagger.viterbi())).sources(sources);
        watch.begin(name, xs.len() as u64);
        let runs = with_gbi(model, &gbi, &self.constraint, xs, watch);
        watch.end();
        Ok(runs)
    }

    /// The results within `limit` steps, judged by the original constraint.
    pub fn within(&self, nudged: &AllNudged, limit: Option<usize>) -> Vec<Repair> {
        let cases = self.cases.iter().zip(&nudged.runs).enumerate();
        let judged = cases.map(|(i, ((x, _), run))| {
            let mut repair = run.within(limit.unwrap_or(usize::MAX));
            repair.converted &= self.constraint.check(*x, &repair.output).is_satisfied();
            if let Some(searched) = nudged.searched.get(i) {
                repair.passes += searched.passes;
                repair.milliseconds += searched.milliseconds;
            }
            repair
        });
        judged.collect()
    }

    fn with(&self, search: &dyn ConstrainedDecoder<Net>, watch: &dyn Watch) -> Vec<Repair> {
        let cases: Vec<_> = self.cases.iter().map(|(x, first)| (*x, first)).collect();
        let model = &self.tagger.model;
        with_search(model, search, &self.constraint, &cases, Otherwise::Found, watch)
    }

    /// The score of these outputs on the failures.
    pub fn score<'y>(&self, outputs: impl IntoIterator<Item = &'y [Symbol]>) -> Score {
        let mut total = Score::default();
        for ((x, _), y) in self.cases.iter().zip(outputs) {
            total += Score::of(&x.gold, &self.tagger.vocabulary.arguments(y));
        }
        total
    }

    /// The tallies of these outputs, failure by failure.
    pub(crate) fn tallies(&self, repairs: &[Repair]) -> Vec<Tally> {
        let tally = |((x, _), repair): (&(&Instance, Candidate), &Repair)| {
            let score = Score::of(&x.gold, &self.tagger.vocabulary.arguments(&repair.output));
            let Counts { correct, excess, missed } = score.overall();
            let [correct, found, gold] =
                [correct, correct + excess, correct + missed].map(|n| n as u32);
            Tally { correct, found, gold, exact: score.perfect as u32, outputs: 1 }
        };
        self.cases.iter().zip(repairs).map(tally).collect()
    }

    /// For every role: its count, and F1 of all outputs before and after these repairs.
    pub(super) fn by_role(&self, repairs: &[Repair]) -> Vec<(String, usize, f64, f64)> {
        let before = self.whole(self.cases.iter().map(|(_, first)| first.output.as_slice()));
        let after = self.whole(repairs.iter().map(|r| r.output.as_slice()));
        let f1 = |score: &Score, role: &str| score.roles.get(role).map_or(0.0, Counts::f1);
        let roles = before.roles.iter().map(|(role, counts)| {
            let gold = counts.correct + counts.missed;
            (role.clone(), gold, f1(&before, role), f1(&after, role))
        });
        roles.collect()
    }

    /// The score of all outputs, with `outputs` for the failures.
    fn whole<'y>(&self, outputs: impl IntoIterator<Item = &'y [Symbol]>) -> Score {
        let mut whole = self.rest.clone();
        whole += self.score(outputs);
        whole
    }

    /// The percentage of arguments that are not constituents, averaged over the failures.
    fn disagreement<'y>(&self, outputs: impl IntoIterator<Item = &'y [Symbol]>) -> f64 {
        let (tags, free) = (&self.constraint.tags, &self.constraint.free);
        let of_one = |((x, _), y): (&(&Instance, Candidate), &'y [Symbol])| {
            let arguments = tags.iter_spans(y).filter(|span| !free.contains(span.role)).count();
            self.constraint.faults(*x, y).count() as f64 / arguments.max(1) as f64
        };
        let sum: f64 = self.cases.iter().zip(outputs).map(of_one).sum();
        100.0 * sum / self.cases.len() as f64
    }

    /// All figures of one method; rates are in per cent.
    pub fn row(&self, net: &str, method: &str, data: &str, repairs: &[Repair]) -> Row {
        let n = repairs.len() as f64;
        let mean = |f: &dyn Fn(&Repair) -> f64| repairs.iter().map(f).sum::<f64>() / n;
        let share = |f: &dyn Fn(&Repair) -> bool| 100.0 * mean(&|r| f64::from(u8::from(f(r))));
        let firsts = || self.cases.iter().map(|(_, first)| first.output.as_slice());
        let outputs = || repairs.iter().map(|r| r.output.as_slice());
        let (before, after) = (self.score(firsts()), self.score(outputs()));
        let (whole_before, whole_after) = (self.whole(firsts()), self.whole(outputs()));
        let interval = Interval::of(&self.tallies(repairs), Tally::f1);
        let mut row = Row::new(net, method, data)
            .counted(self.total, self.cases.len())
            .with(Figure::FailureRate, 100.0 * self.cases.len() as f64 / self.total as f64)
            .with(Figure::Conversion, share(&|r| r.converted))
            .with(Figure::GaveUp, share(&|r| r.gave_up))
            .with(Figure::F1Low, interval.low)
            .with(Figure::F1High, interval.high)
            .with(Figure::DisagreementBefore, self.disagreement(firsts()))
            .with(Figure::DisagreementAfter, self.disagreement(outputs()));
        // Scores of the empty set are undefined.
        let some = |figure: f64| if repairs.is_empty() { f64::NAN } else { figure };
        for (figures, score, whole) in
            [(BEFORE, &before, &whole_before), (AFTER, &after, &whole_after)]
        {
            let of_failures = scores(score).map(some);
            for (figure, value) in
                figures.into_iter().zip(of_failures.into_iter().chain(scores(whole)))
            {
                row = row.with(figure, value);
            }
        }
        with_costs(row, repairs)
    }
}

/// Scores on the failures, then on all outputs, in the order of [`scores`].
const BEFORE: [Figure; 8] = [
    Figure::PrecisionBefore,
    Figure::RecallBefore,
    Figure::F1Before,
    Figure::ExactBefore,
    Figure::WholePrecisionBefore,
    Figure::WholeRecallBefore,
    Figure::WholeF1Before,
    Figure::WholeExactBefore,
];
const AFTER: [Figure; 8] = [
    Figure::PrecisionAfter,
    Figure::RecallAfter,
    Figure::F1After,
    Figure::ExactAfter,
    Figure::WholePrecisionAfter,
    Figure::WholeRecallAfter,
    Figure::WholeF1After,
    Figure::WholeExactAfter,
];

fn scores(score: &Score) -> [f64; 4] {
    [score.precision(), score.recall(), score.f1(), score.perfect_rate()]
}
