//! One block of the experiment: every method on the failures of one tagger, on one set of
//! sentences, under one kind of constraint.

use cajole_core::Config;
use cajole_report::{Figure, Row};
use cajole_tasks::Watch;
use cajole_tasks::srl::instance::Noise;
use cajole_treebank::roles::nodes::Reading;
use serde::{Deserialize, Serialize};

use super::choice::{Caution, Kind};
use super::config::SrlConfig;
use super::methods::{AllNudged, Failures};
use super::search::Searching;
use crate::{ExperimentError, Repair, Tallies, converted_steps};

/// The measurements for one tagger, one set of sentences and one kind of constraint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: String,
    pub(super) reading: Reading,
    pub(super) noise: Noise,
    /// The predicate of each failure, by its index.
    pub(super) inputs: Vec<usize>,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
    /// The tallies of each method, failure by failure.
    pub(super) tallies: Tallies,
    /// Variants of the best preset that lack a part.
    pub(super) parts: Vec<Row>,
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
    /// Whether the parts of the best preset are measured.
    pub(super) has_parts: bool,
    /// The time Viterbi decoding takes for one input, in milliseconds.
    pub(super) viterbi: f64,
    pub(super) config: &'a SrlConfig,
    pub(super) watch: &'a dyn Watch,
}

impl Block<'_> {
    /// Repairs them by every method.
    pub(super) fn repair_all(&self) -> Result<Measured, ExperimentError> {
        let Block { config, failures, kind, watch, .. } = *self;
        let mut measured = Measured {
            data: self.data.to_owned(),
            reading: kind.reading,
            noise: kind.noise,
            inputs: failures.inputs.clone(),
            rows: Vec::new(),
            tallies: Tallies::default(),
            parts: Vec::new(),
            limits: Vec::new(),
            steps: Vec::new(),
            roles: Vec::new(),
        };
        self.decode(&mut measured)?;
        let paper = failures.gbi("gbi paper", self.paper(), watch)?;
        let small = failures.gbi("gbi small", config.gbi.small.clone(), watch)?;
        let best = failures.gbi("gbi best", kind.best.clone(), watch)?;
        let paper_steps = Some(config.gbi.paper.schedule.max_steps);
        self.nudge(&mut measured, "gbi paper", &paper, paper_steps);
        self.caution(&mut measured, &best)?;
        self.nudge(&mut measured, "gbi small", &small, None);
        self.nudge(&mut measured, "gbi best", &best, None);
        for (name, nudged) in [("gbi paper", &paper), ("gbi best", &best)] {
            for &limit in self.limits() {
                let row = self.nudged(name, nudged, Some(limit)).1;
                measured.limits.push(row.with(Figure::Limit, limit as f64));
            }
        }
        let parts = config.parts.iter().filter(|_| self.has_parts);
        for part in parts {
            let mut preset = part.config(&config.gbi, self.step_size)?;
            if !part.set.contains_key("moves") {
                preset.moves.clone_from(&kind.best.moves);
                preset.schedule.step_size = kind.best.schedule.step_size;
            }
            let nudged = failures.gbi(&part.name, preset, watch)?;
            let (repairs, row) = self.nudged(&part.name, &nudged, None);
            measured.parts.push(row);
            measured.tallies.push(&part.name, failures.tallies(&repairs));
        }
        let of_best = failures.within(&best, None);
        let steps = [("gbi paper", &failures.within(&paper, paper_steps)), ("gbi best", &of_best)];
        measured.steps = steps.map(|(name, r)| (name.to_owned(), converted_steps(r))).to_vec();
        measured.roles = failures.by_role(&of_best);
        Ok(measured)
    }

    /// The methods that only decode.
    fn decode(&self, to: &mut Measured) -> Result<(), ExperimentError> {
        let Block { config, failures, kind, watch, .. } = *self;
        let untouched = failures.untouched();
        to.rows.push(self.row("viterbi", &untouched, 0.0));
        to.tallies.push("viterbi", failures.tallies(&untouched));
        let a_star = kind.charges.searching(config.rivals.agenda_limit);
        let names = ["A*", "exact MAP"];
        for name in names {
            watch.begin(name, failures.cases.len() as u64);
            let repairs = match name {
                "A*" => failures.a_star(a_star, watch)?,
                _ => failures.exact(watch)?,
            };
            watch.end();
            // A separate decoder is charged a pass of its own.
            to.rows.push(self.row(name, &repairs, milliseconds(&repairs)));
            to.tallies.push(name, failures.tallies(&repairs));
        }
        Ok(())
    }

    /// The best preset with caution, if the constraint may be wrong.
    fn caution(&self, to: &mut Measured, best: &AllNudged) -> Result<(), ExperimentError> {
        let Block { config, failures, kind, watch, .. } = *self;
        let Some(Caution { penalty, limit }) = kind.caution else { return Ok(()) };
        let name = "gbi cautious";
        let Some(penalty) = penalty else {
            self.nudge(to, name, best, limit);
            return Ok(());
        };
        watch.begin("A*, for caution", failures.cases.len() as u64);
        let by = Searching::by_syntax(penalty, config.rivals.agenda_limit);
        let searched = failures.a_star(by, watch)?;
        watch.end();
        let cautious = failures.cautious(name, kind.best.clone(), searched, watch)?;
        self.nudge(to, name, &cautious, limit);
        Ok(())
    }

    /// Adds the figures of gradient-based inference.
    fn nudge(&self, to: &mut Measured, method: &str, nudged: &AllNudged, limit: Option<usize>) {
        let (repairs, row) = self.nudged(method, nudged, limit);
        to.rows.push(row);
        to.tallies.push(method, self.failures.tallies(&repairs));
    }

    /// Whether this is the first kind of constraint.
    fn is_first(&self) -> bool {
        let first = (self.config.readings[0], self.config.noise[0]);
        (self.kind.reading, self.kind.noise) == first
    }

    /// The trade-off of step limits is shown once, under the first kind of constraint.
    fn limits(&self) -> &[usize] {
        if self.is_first() { &self.config.limits } else { &[] }
    }

    /// The paper's preset, up to the largest step limit shown.
    fn paper(&self) -> Config {
        let mut paper = self.config.gbi.paper_by(self.step_size);
        let longest = self.limits().iter().copied().max().unwrap_or(0);
        paper.schedule.max_steps = paper.schedule.max_steps.max(longest);
        paper
    }

    /// Gradient-based inference within a limit; its first pass is the one every input takes anyway.
    fn nudged(&self, method: &str, nudged: &AllNudged, limit: Option<usize>) -> (Vec<Repair>, Row) {
        let repairs = self.failures.within(nudged, limit);
        let row = self.row(method, &repairs, milliseconds(&repairs) - nudged.first());
        (repairs, row)
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
