//! One block of the experiment: every method on the failures of one tagger, among one set of
//! sentences, under one kind of constraint.

use cajole::report::Row;
use cajole::{Config, Outcome, UnknownGroup};
use serde::{Deserialize, Serialize};

use super::config::SrlConfig;
use super::instance::Noise;
use super::methods::Failures;
use super::nodes::Reading;
use crate::experiment::{Repair, Watch, converted_steps};

/// What was measured with one tagger, one set of sentences and one kind of constraint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: String,
    pub(super) reading: Reading,
    pub(super) noise: Noise,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
    /// Algorithm 1 stopped early: one row per preset and limit.
    pub(super) limits: Vec<Row>,
    /// Steps of each conversion, by method that nudges.
    pub(super) steps: Vec<(String, Vec<usize>)>,
    /// By role: how many there are, F1 of all outputs before, and after the best preset.
    pub(super) roles: Vec<(String, usize, f64, f64)>,
}

/// Settings that depend on the network, chosen on development data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// The step size of plain SGD.
    pub(super) step_size: f32,
    /// The best preset, with the nudge that suits the network.
    pub(super) best: Config,
    /// How far to trust each kind of constraint.
    pub(super) trust: Vec<Trust>,
}

/// How far a kind of constraint is to be trusted: a right one always, one that is wrong at times
/// only where the network does not insist.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trust {
    pub(super) noise: Noise,
    pub(super) reading: Reading,
    /// A*'s penalty for an argument that is no node; none forbids it.
    pub(super) penalty: Option<f32>,
    /// Steps that the best preset takes before it lets an output be.
    pub(super) limit: usize,
}

impl Chosen {
    fn trust(&self, noise: Noise, reading: Reading) -> Trust {
        let mut known = self.trust.iter();
        let found = known.find(|trust| (trust.noise, trust.reading) == (noise, reading));
        found.copied().unwrap_or(Trust { noise, reading, penalty: None, limit: usize::MAX })
    }
}

/// The failures of one block, to be repaired.
pub(super) struct Block<'a> {
    /// The tagger's name.
    pub(super) net: &'a str,
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: &'a str,
    pub(super) reading: Reading,
    pub(super) noise: Noise,
    pub(super) failures: &'a Failures<'a>,
    /// How long Viterbi decoding takes for one input, in milliseconds.
    pub(super) viterbi: f64,
    pub(super) config: &'a SrlConfig,
    pub(super) watch: &'a dyn Watch,
}

impl Block<'_> {
    /// Repairs them by every method.
    pub(super) fn repair_all(&self, chosen: &Chosen) -> Result<Measured, UnknownGroup> {
        let Block { config, failures, watch, .. } = *self;
        let trust = chosen.trust(self.noise, self.reading);
        let penalty = trust.penalty.unwrap_or(f32::INFINITY);
        let a_star = || failures.a_star(penalty, config.rivals.agenda_limit, watch);
        let mut rows = vec![
            self.row("viterbi", &failures.untouched(), 0.0),
            self.decoded("A*", a_star),
            self.decoded("exact MAP", || failures.exact(watch)),
        ];
        let paper = self.nudge("gbi paper", self.paper(chosen.step_size))?;
        let best = self.nudge("gbi best", chosen.best.clone())?;
        let of_paper = paper.within(config.gbi.paper.schedule.max_steps);
        let of_best = best.within(usize::MAX);
        rows.push(self.nudged("gbi paper", &of_paper, &paper));
        if self.noise != Noise::Free {
            rows.push(self.nudged("gbi cautious", &best.within(trust.limit), &best));
        }
        rows.push(self.nudged("gbi best", &of_best, &best));
        let steps = [("gbi paper", &of_paper), ("gbi best", &of_best)];
        let limited = |&limit: &usize, name: &str, nudged: &Nudged| {
            self.nudged(name, &nudged.within(limit), nudged).with("limit", limit as f64)
        };
        let limits = [("gbi paper", &paper), ("gbi best", &best)]
            .into_iter()
            .flat_map(|(name, n)| self.limits().iter().map(move |limit| limited(limit, name, n)));
        Ok(Measured {
            data: self.data.to_owned(),
            reading: self.reading,
            noise: self.noise,
            rows,
            limits: limits.collect(),
            steps: steps.map(|(name, r)| (name.to_owned(), converted_steps(r))).to_vec(),
            roles: failures.by_role(&of_best),
        })
    }

    /// How step limits trade off is shown once, under the first kind of constraint.
    fn limits(&self) -> &[usize] {
        let first = (self.config.readings[0], self.config.noise[0]);
        if (self.reading, self.noise) == first { &self.config.gbi.limits } else { &[] }
    }

    /// The paper's preset, up to the largest step limit that is shown.
    fn paper(&self, step_size: f32) -> Config {
        let mut paper = self.config.gbi.paper_by(step_size);
        let longest = self.limits().iter().copied().max().unwrap_or(0);
        paper.schedule.max_steps = paper.schedule.max_steps.max(longest);
        paper
    }

    fn nudge(&self, name: &str, preset: Config) -> Result<Nudged, UnknownGroup> {
        let outcomes = self.failures.gbi(name, preset, self.watch)?;
        let first = outcomes.iter().filter_map(|o| o.trace.steps().first());
        let first = first.map(|s| s.elapsed.as_secs_f64() * 1e3).sum::<f64>();
        Ok(Nudged { first: first / outcomes.len() as f64, outcomes })
    }

    /// A row of gradient-based inference: its first pass is the one that every input takes.
    fn nudged(&self, method: &str, repairs: &[Repair], nudged: &Nudged) -> Row {
        self.row(method, repairs, milliseconds(repairs) - nudged.first)
    }

    /// A row of another decoder, which is charged a pass of its own.
    fn decoded(&self, method: &str, repair: impl FnOnce() -> Vec<Repair>) -> Row {
        self.watch.begin(method, self.failures.cases.len() as u64);
        let repairs = repair();
        self.watch.end();
        self.row(method, &repairs, milliseconds(&repairs))
    }

    /// `more` is what a repair takes beyond the one pass that every input takes, in milliseconds.
    fn row(&self, method: &str, repairs: &[Repair], more: f64) -> Row {
        let row = self.failures.row(self.net, method, self.data, repairs);
        row.with("viterbi_ms", self.viterbi).with("repair_cost", more / self.viterbi)
    }
}

/// What gradient-based inference did, to be looked at under several step limits.
struct Nudged {
    outcomes: Vec<Outcome>,
    /// What the first pass took on average, in milliseconds.
    first: f64,
}

impl Nudged {
    fn within(&self, limit: usize) -> Vec<Repair> {
        self.outcomes.iter().map(|outcome| Repair::within(outcome, limit)).collect()
    }
}

/// What one repair took on average.
fn milliseconds(repairs: &[Repair]) -> f64 {
    repairs.iter().map(|r| r.milliseconds).sum::<f64>() / repairs.len() as f64
}
