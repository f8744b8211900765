//! One block of the experiment: every method on the failures of one tagger, on one set of
//! sentences, under one kind of constraint.

use cajole_core::{Config, UnknownParameter};
use cajole_report::{Figure, Row};
use cajole_tasks::Watch;
use cajole_tasks::srl::instance::Noise;
use cajole_treebank::roles::nodes::Reading;
use serde::{Deserialize, Serialize};

use super::choice::{Caution, Kind};
use super::config::SrlConfig;
use super::methods::{AllNudged, Failures};
use crate::{Repair, converted_steps};

/// The measurements for one tagger, one set of sentences and one kind of constraint.
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
    /// The steps of each conversion, by nudging method.
    pub(super) steps: Vec<(String, Vec<usize>)>,
    /// By role: its count, and F1 of all outputs before and after the best preset.
    pub(super) roles: Vec<(String, usize, f64, f64)>,
}

/// The failures of one block.
pub(super) struct Block<'a> {
    /// The tagger's name.
    pub(super) net: &'a str,
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: &'a str,
    /// The step size of plain SGD.
    pub(super) step_size: f32,
    pub(super) kind: &'a Kind,
    pub(super) failures: &'a Failures<'a>,
    /// The time Viterbi decoding takes for one input, in milliseconds.
    pub(super) viterbi: f64,
    pub(super) config: &'a SrlConfig,
    pub(super) watch: &'a dyn Watch,
}

impl Block<'_> {
    /// Repairs them by every method.
    pub(super) fn repair_all(&self) -> Result<Measured, UnknownParameter> {
        let Block { config, failures, kind, watch, .. } = *self;
        let agenda = config.rivals.agenda_limit;
        let a_star = |penalty| failures.a_star(penalty, agenda, watch);
        let mut rows = vec![
            self.row("viterbi", &failures.untouched(), 0.0),
            self.decoded("A*", || a_star(kind.penalty.unwrap_or(f32::INFINITY))),
            self.decoded("exact MAP", || failures.exact(watch)),
        ];
        let paper = failures.gbi("gbi paper", self.paper(), watch)?;
        let small = failures.gbi("gbi small", config.gbi.small.clone(), watch)?;
        let best = failures.gbi("gbi best", kind.best.clone(), watch)?;
        let paper_steps = Some(config.gbi.paper.schedule.max_steps);
        rows.push(self.nudged("gbi paper", &paper, paper_steps));
        if let Some(Caution { penalty, limit }) = kind.caution {
            let name = "gbi cautious";
            let row = match penalty {
                Some(penalty) => {
                    watch.begin("A*, for caution", failures.cases.len() as u64);
                    let searched = a_star(penalty);
                    watch.end();
                    let cautious = failures.cautious(name, kind.best.clone(), searched, watch)?;
                    self.nudged(name, &cautious, limit)
                }
                None => self.nudged(name, &best, limit),
            };
            rows.push(row);
        }
        rows.push(self.nudged("gbi small", &small, None));
        rows.push(self.nudged("gbi best", &best, None));
        let limits =
            [("gbi paper", &paper), ("gbi best", &best)].into_iter().flat_map(|(name, n)| {
                let of_one = self.limits().iter();
                of_one.map(move |&l| self.nudged(name, n, Some(l)).with(Figure::Limit, l as f64))
            });
        let of_best = failures.within(&best, None);
        let steps = [("gbi paper", &failures.within(&paper, paper_steps)), ("gbi best", &of_best)];
        Ok(Measured {
            data: self.data.to_owned(),
            reading: kind.reading,
            noise: kind.noise,
            rows,
            limits: limits.collect(),
            steps: steps.map(|(name, r)| (name.to_owned(), converted_steps(r))).to_vec(),
            roles: failures.by_role(&of_best),
        })
    }

    /// The trade-off of step limits is shown once, under the first kind of constraint.
    fn limits(&self) -> &[usize] {
        let first = (self.config.readings[0], self.config.noise[0]);
        if (self.kind.reading, self.kind.noise) == first { &self.config.limits } else { &[] }
    }

    /// The paper's preset, up to the largest step limit shown.
    fn paper(&self) -> Config {
        let mut paper = self.config.gbi.paper_by(self.step_size);
        let longest = self.limits().iter().copied().max().unwrap_or(0);
        paper.schedule.max_steps = paper.schedule.max_steps.max(longest);
        paper
    }

    /// A row of gradient-based inference, whose first pass is the one every input takes anyway.
    fn nudged(&self, method: &str, nudged: &AllNudged, limit: Option<usize>) -> Row {
        let repairs = self.failures.within(nudged, limit);
        self.row(method, &repairs, milliseconds(&repairs) - nudged.first())
    }

    /// A row of another decoder, which is charged a pass of its own.
    fn decoded(&self, method: &str, repair: impl FnOnce() -> Vec<Repair>) -> Row {
        self.watch.begin(method, self.failures.cases.len() as u64);
        let repairs = repair();
        self.watch.end();
        self.row(method, &repairs, milliseconds(&repairs))
    }

    /// `more` is the time of a repair beyond the one pass that every input takes, in milliseconds.
    fn row(&self, method: &str, repairs: &[Repair], more: f64) -> Row {
        let row = self.failures.row(self.net, method, self.data, repairs);
        row.with(Figure::ViterbiMs, self.viterbi).with(Figure::RepairCost, more / self.viterbi)
    }
}

/// The mean time of a repair.
fn milliseconds(repairs: &[Repair]) -> f64 {
    repairs.iter().map(|r| r.milliseconds).sum::<f64>() / repairs.len() as f64
}
