//! A tagger's failures, and every method of repairing them.

use std::sync::Arc;
use std::time::Instant;

use cajole_core::constraints::{Brackets, SpansInTree};
use cajole_core::{Config, Constraint, Search, Symbol, UnknownParameter};
use cajole_infer::answer::Answer;
use cajole_infer::case::Case;
use cajole_infer::decoded::{Decoded, decode, repair};
use cajole_infer::driver::Driver;
use cajole_infer::engine::Engine;
use cajole_infer::input::Input;
use cajole_infer::task::Task;
use cajole_infer::{Roles, Settings};
use cajole_report::{Figure, Row};
use cajole_rules::Rules;
use cajole_tasks::Watch;
use cajole_tasks::srl::instance::Instance;
use cajole_tasks::srl::tagger::RoleTagger;
use cajole_treebank::roles::Reading;
use cajole_treebank::roles::eval::{Counts, Score};

use super::search::Searching;
use crate::{Interval, Repair, Tally, milliseconds_to, with_costs};

/// The predicates for which a tagger's own output violates the constraint.
pub struct Failures<'a> {
    /// The tagger.
    pub task: &'a Roles,
    /// The failures.
    pub cases: Vec<(&'a Instance, Decoded)>,
    /// The predicate of each failure, by its index.
    pub(super) inputs: Vec<usize>,
    /// The number of predicates.
    pub total: usize,
    reading: Reading,
    constraint: SpansInTree,
    /// The score of all other outputs.
    rest: Score,
}

/// Gradient-based inference on all failures, to be evaluated under several step limits.
pub struct AllNudged {
    /// One run per failure.
    pub runs: Vec<Answer>,
    /// The preceding A* results, if it was run.
    searched: Vec<Repair>,
}

impl AllNudged {
    /// The mean time of the first pass, in milliseconds.
    pub fn first(&self) -> f64 {
        let mut firsts = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            // Runs without a trace satisfied before the first step.
            if let Some(trace) = &run.trace {
                firsts.push(milliseconds_to(run, trace.steps().first()));
            }
        }
        firsts.iter().sum::<f64>() / firsts.len() as f64
    }
}

/// An output of the tagger's own, with its log-probability.
pub(super) type Own = (Vec<Symbol>, f32);

impl<'a> Failures<'a> {
    /// Tags `instances` and keeps the failures.
    ///
    /// # Errors
    /// If the usual preset names a parameter that the network does not have.
    pub fn find(
        task: &'a Roles,
        instances: &'a [Instance],
        reading: Reading,
        watch: &dyn Watch,
    ) -> Result<Self, UnknownParameter> {
        let own = Failures::decode(task, instances, watch)?;
        Ok(Failures::among(task, instances, reading, &own))
    }

    /// The tagger's own outputs. They do not depend on what is allowed, so they serve all kinds of
    /// constraints.
    pub(super) fn decode(
        task: &Roles,
        instances: &[Instance],
        watch: &dyn Watch,
    ) -> Result<Vec<Own>, UnknownParameter> {
        watch.begin("viterbi", instances.len() as u64);
        let rules = rules(task, Reading::All);
        let cases = instances.iter().map(|x| (Roles::case(x, Reading::All), rules.clone()));
        let settings = settings(task, Search::Network);
        let decoded = decode(task, &settings, cases.collect(), watch)?;
        watch.end();
        let own = |one: Decoded| (one.own.output, one.own.log_prob.unwrap_or(f32::NAN));
        Ok(decoded.into_iter().map(own).collect())
    }

    /// The failures among these instances, whose own outputs are known.
    pub(super) fn among(
        task: &'a Roles,
        instances: &'a [Instance],
        reading: Reading,
        own: &[Own],
    ) -> Self {
        let (tagger, rules) = (task.tagger(), rules(task, reading));
        let (mut rest, mut cases, mut inputs) = (Score::default(), Vec::new(), Vec::new());
        for (i, (x, (output, log_prob))) in instances.iter().zip(own).enumerate() {
            let case = Roles::case(x, reading);
            let decoded = Decoded::known(case, rules.clone(), output.clone(), *log_prob);
            if decoded.is_failure() {
                cases.push((x, decoded));
                inputs.push(i);
            } else {
                rest += Score::of(&x.gold, &tagger.vocabulary.arguments(output));
            }
        }
        let (total, constraint) = (instances.len(), tagger.constraint());
        Failures { task, cases, inputs, total, reading, constraint, rest }
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
        let (task, total, reading, rest) = (self.task, self.total, self.reading, self.rest.clone());
        let constraint = task.tagger().constraint();
        Failures { task, cases, inputs, total, reading, constraint, rest }
    }

    fn tagger(&self) -> &RoleTagger {
        self.task.tagger()
    }

    /// A* search. Where it gives up, the first output stays.
    ///
    /// # Errors
    /// If the usual preset names a parameter that the network does not have.
    pub fn a_star(
        &self,
        by: Searching,
        watch: &dyn Watch,
    ) -> Result<Vec<Repair>, UnknownParameter> {
        let Searching { penalties, heuristic, agenda_limit: limit } = by;
        self.by(Search::Astar { limit, penalties, heuristic }, watch)
    }

    /// The most probable output that satisfies the constraint.
    ///
    /// # Errors
    /// If the usual preset names a parameter that the network does not have.
    pub fn exact(&self, watch: &dyn Watch) -> Result<Vec<Repair>, UnknownParameter> {
        self.by(Search::Exact { limit: 1 }, watch)
    }

    fn by(&self, search: Search, watch: &dyn Watch) -> Result<Vec<Repair>, UnknownParameter> {
        let failures: Vec<&Decoded> = self.cases.iter().map(|(_, decoded)| decoded).collect();
        let answers = repair(self.task, &settings(self.task, search), &failures, watch)?;
        Ok(answers.iter().map(Repair::from).collect())
    }

    /// The network's own outputs, as a method that changes nothing.
    pub fn untouched(&self) -> Vec<Repair> {
        self.cases.iter().map(|(_, decoded)| Repair::untouched(&decoded.own, 1)).collect()
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
        let failures: Vec<&Decoded> = self.cases.iter().map(|(_, decoded)| decoded).collect();
        let runs = self.nudged(name, config, &failures, watch)?;
        Ok(AllNudged { searched: Vec::new(), runs })
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
        let mut lenient = Vec::with_capacity(self.cases.len());
        for ((x, decoded), repair) in self.cases.iter().zip(&searched) {
            let kept = self.constraint.faults(*x, &repair.output).map(|s| (s.start, s.end));
            let widen = |nodes: &Brackets| {
                Arc::new(nodes.as_pairs().iter().copied().chain(kept).collect::<Brackets>())
            };
            let brackets = x.brackets.as_deref().map(widen);
            let case = Roles::case(&Instance { brackets, ..(*x).clone() }, self.reading);
            let Decoded { rules, own, .. } = decoded;
            let log_prob = own.log_prob.unwrap_or(f32::NAN);
            lenient.push(Decoded::known(case, rules.clone(), own.output.clone(), log_prob));
        }
        // What the relaxed constraint allows stays as it is.
        let failures: Vec<&Decoded> = lenient.iter().filter(|one| one.is_failure()).collect();
        let mut nudged = self.nudged(name, config, &failures, watch)?.into_iter();
        let runs = lenient.iter().map(|one| match one.is_failure() {
            true => nudged.next().unwrap_or_else(|| one.own.clone()),
            false => one.own.clone(),
        });
        Ok(AllNudged { runs: runs.collect(), searched })
    }

    fn nudged(
        &self,
        name: &str,
        config: Config,
        failures: &[&Decoded],
        watch: &dyn Watch,
    ) -> Result<Vec<Answer>, UnknownParameter> {
        let settings = settings(self.task, Search::Gbi(Box::new(config)));
        watch.begin(name, failures.len() as u64);
        let answers = repair(self.task, &settings, failures, watch);
        watch.end();
        answers
    }

    /// The results within `limit` steps, judged by the original constraint.
    pub fn within(&self, nudged: &AllNudged, limit: Option<usize>) -> Vec<Repair> {
        let cases = self.cases.iter().zip(&nudged.runs).enumerate();
        let judged = cases.map(|(i, ((x, _), run))| {
            let mut repair = Repair::within(run, limit.unwrap_or(usize::MAX));
            repair.converted &= self.constraint.check(*x, &repair.output).is_satisfied();
            if let Some(searched) = nudged.searched.get(i) {
                repair.passes += searched.passes;
                repair.milliseconds += searched.milliseconds;
            }
            repair
        });
        judged.collect()
    }

    /// The score of these outputs on the failures.
    pub fn score<'y>(&self, outputs: impl IntoIterator<Item = &'y [Symbol]>) -> Score {
        let mut total = Score::default();
        for ((x, _), y) in self.cases.iter().zip(outputs) {
            total += Score::of(&x.gold, &self.tagger().vocabulary.arguments(y));
        }
        total
    }

    /// The tallies of these outputs, failure by failure.
    pub(crate) fn tallies(&self, repairs: &[Repair]) -> Vec<Tally> {
        let tally = |((x, _), repair): (&(&Instance, Decoded), &Repair)| {
            let score = Score::of(&x.gold, &self.tagger().vocabulary.arguments(&repair.output));
            let Counts { correct, excess, missed } = score.overall();
            let [correct, found, gold] =
                [correct, correct + excess, correct + missed].map(|n| n as u32);
            Tally { correct, found, gold, exact: score.perfect as u32, outputs: 1 }
        };
        self.cases.iter().zip(repairs).map(tally).collect()
    }

    /// For every role: its count, and F1 of all outputs before and after these repairs.
    pub(super) fn by_role(&self, repairs: &[Repair]) -> Vec<(String, usize, f64, f64)> {
        let before =
            self.whole(self.cases.iter().map(|(_, decoded)| decoded.own.output.as_slice()));
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
        let of_one = |((x, _), y): (&(&Instance, Decoded), &'y [Symbol])| {
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
        let firsts = || self.cases.iter().map(|(_, decoded)| decoded.own.output.as_slice());
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

/// The mean time that the tagger's own decoder takes for one input at a time, in milliseconds.
///
/// # Errors
/// If the usual preset names a parameter that the network does not have.
pub(super) fn mean_milliseconds(
    task: &Roles,
    instances: &[Instance],
) -> Result<f64, UnknownParameter> {
    let (rules, settings) = (rules(task, Reading::All), settings(task, Search::Network));
    let mut driver = Driver::new(task, &settings)?;
    let cases: Vec<Case> = instances.iter().map(|x| Roles::case(x, Reading::All)).collect();
    let started = Instant::now();
    for case in &cases {
        driver.own_outputs(&mut [Input::new(case, &rules, 0)]);
    }
    Ok(started.elapsed().as_secs_f64() * 1e3 / cases.len() as f64)
}

/// The rules of the experiment: arguments are nodes of the tree.
pub(super) fn rules(task: &Roles, reading: Reading) -> Arc<Rules> {
    let text = format!("spans-in-tree = \"{}\"", reading.name());
    let rules = Rules::parse("arguments are nodes", &text, None, task.vocabulary());
    Arc::new(rules.expect("they are tested"))
}

/// The settings of a run by one search.
pub(super) fn settings(task: &Roles, search: Search) -> Settings {
    Settings::of(task).by(Engine::exactly(search))
}
