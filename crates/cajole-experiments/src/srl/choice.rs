//! Settings tuned per network and kind of constraint, by F1 on dev failures.

use cajole_core::Config;
use cajole_tasks::srl::Nudge;
use cajole_tasks::srl::instance::{Instance, Noise};
use cajole_treebank::roles::nodes::Reading;
use serde::{Deserialize, Serialize};

use super::config::groups;
use super::experiment::{Run, Tagged};
use super::methods::Failures;
use super::search::{Charges, finite};
use crate::{ExperimentError, Repair, best_of, nearly_best_of};

/// The tuned settings of one network.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// The step size of plain SGD.
    pub(super) step_size: f32,
    /// The other settings by kind of constraint, in measurement order.
    pub(super) kinds: Vec<Kind>,
}

/// A kind of constraint and its tuned settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kind {
    pub(super) noise: Noise,
    pub(super) reading: Reading,
    /// The best preset, with the tuned nudge.
    pub(super) best: Config,
    /// A*'s penalties.
    pub(super) charges: Charges,
    /// How much to distrust noisy constraints.
    pub(super) caution: Option<Caution>,
}

/// When gradient-based inference tolerates a violation: if the network's scores insist on it, or
/// after a number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Caution {
    /// Tolerates arguments that A* keeps despite this penalty; `None` tolerates none.
    pub(super) penalty: Option<f32>,
    /// The maximum number of steps, if lower than the schedule's.
    pub(super) limit: Option<usize>,
}

impl Run<'_> {
    /// Tunes settings for these kinds of noise, or loads those that are saved.
    pub(super) fn choose(
        &self,
        kinds: &[Noise],
        dev: &Tagged<'_>,
    ) -> Result<Chosen, ExperimentError> {
        let (kept, net) = (self.kept, self.name);
        let readings = match self.has_every_kind() {
            true => &self.config.readings[..],
            false => &self.config.readings[..1],
        };
        let step_size = kept.get(&format!("{net} step size"), || self.choose_step_size(dev))?;
        let best = readings.iter().map(|&reading| {
            let name = format!("{net} best {}", reading.name());
            kept.get(&name, || self.choose_best(reading, dev))
        });
        let best = best.collect::<Result<Vec<_>, _>>()?;
        let kinds = kinds.iter().flat_map(|&noise| {
            let of_one = readings.iter().zip(&best);
            of_one.map(move |(&reading, best)| {
                let name = format!("{net} chosen {} {}", noise.name(), reading.name());
                kept.get(&name, || self.choose_kind(noise, reading, best, dev))
            })
        });
        Ok(Chosen { step_size, kinds: kinds.collect::<Result<_, _>>()? })
    }

    /// The step size of plain SGD with the best F1.
    fn choose_step_size(&self, dev: &Tagged<'_>) -> Result<f32, ExperimentError> {
        let config = self.config;
        let instances = self.instances(dev.sentences, config.readings[0], config.noise[0])?;
        let failures = self.dev_failures(&instances, config.readings[0], dev)?;
        let step_size = best_of(config.tuning.step_sizes.iter().copied(), |step_size| {
            let paper = config.gbi.paper_by(step_size);
            self.gbi_f1(&format!("step size {step_size}"), &failures, paper)
        })?;
        Ok(step_size.unwrap_or(config.gbi.paper.schedule.step_size))
    }

    /// Which groups the best preset moves, and how far: the cheapest candidate with nearly the best
    /// F1.
    fn choose_best(&self, reading: Reading, dev: &Tagged<'_>) -> Result<Config, ExperimentError> {
        /// F1 differences that mean little on some hundred failures.
        const MARGIN: f64 = 0.2;
        let instances = self.instances(dev.sentences, reading, self.config.noise[0])?;
        let failures = self.dev_failures(&instances, reading, dev)?;
        let presets = &self.config.gbi;
        let nudge = nearly_best_of(&self.config.tuning.nudges, MARGIN, |nudge: &Nudge| {
            let name = format!("moving {} by {}", groups(&nudge.moves), nudge.step_size);
            self.gbi_f1(&name, &failures, moved(&presets.best, nudge))
        })?;
        Ok(nudge.map_or_else(|| presets.best.clone(), |nudge| moved(&presets.best, nudge)))
    }

    /// Tunes how far to trust constraints of this kind.
    fn choose_kind(
        &self,
        noise: Noise,
        reading: Reading,
        best: &Config,
        dev: &Tagged<'_>,
    ) -> Result<Kind, ExperimentError> {
        let (tuning, best) = (&self.config.tuning, best.clone());
        let instances = self.instances(dev.sentences, reading, noise)?;
        let failures = self.dev_failures(&instances, reading, dev)?;
        let mut searched = Vec::with_capacity(tuning.penalties.len());
        for &penalty in &tuning.penalties {
            let (name, charges) = (format!("A*, penalty {penalty}"), Charges::by_syntax(penalty));
            searched.push((finite(penalty), self.a_star(&name, &failures, &charges)?));
        }
        let chosen =
            best_of(&searched, |(_, repairs)| Ok::<_, ExperimentError>(f1(&failures, repairs)))?;
        let penalty = chosen.and_then(|(penalty, _)| *penalty).unwrap_or(f32::INFINITY);
        let charges = self.choose_charges(&failures, penalty)?;
        let caution = match noise {
            Noise::Free => None,
            Noise::Noisy | Noise::Predicted => {
                Some(self.choose_caution(&failures, searched, &best)?)
            }
        };
        Ok(Kind { noise, reading, best, charges, caution })
    }

    /// A*'s penalties for roles, tuned one after the other beside the syntax penalty.
    fn choose_charges(
        &self,
        failures: &Failures<'_>,
        syntax: f32,
    ) -> Result<Charges, ExperimentError> {
        let mut charges = Charges::by_syntax(syntax);
        for fault in Charges::ROLES {
            let candidates = self.config.tuning.role_penalties.iter().copied();
            let chosen = best_of(candidates, |penalty| {
                let name = format!("A*, {fault} penalty {penalty}");
                let repairs = self.a_star(&name, failures, &charges.with_role(fault, penalty))?;
                Ok::<_, ExperimentError>(f1(failures, &repairs))
            })?;
            charges = chosen.map_or(charges, |penalty| charges.with_role(fault, penalty));
        }
        Ok(charges)
    }

    fn a_star(
        &self,
        name: &str,
        failures: &Failures<'_>,
        charges: &Charges,
    ) -> Result<Vec<Repair>, ExperimentError> {
        self.watch.begin(name, failures.cases.len() as u64);
        let by = charges.searching(self.config.rivals.agenda_limit);
        let repairs = failures.a_star(by, self.watch);
        self.watch.end();
        Ok(repairs?)
    }

    fn choose_caution(
        &self,
        failures: &Failures<'_>,
        searched: Vec<(Option<f32>, Vec<Repair>)>,
        best: &Config,
    ) -> Result<Caution, ExperimentError> {
        let mut tried = Vec::new();
        for (penalty, searched) in searched {
            let nudged = match penalty {
                Some(penalty) => {
                    let name = format!("gbi cautious, penalty {penalty}");
                    failures.cautious(&name, best.clone(), searched, self.watch)?
                }
                None => failures.gbi("gbi best", best.clone(), self.watch)?,
            };
            // Ties go to the largest limit, because it converts more.
            let limits = self.config.limits.iter().rev().map(|&limit| Some(limit));
            for limit in std::iter::once(None).chain(limits) {
                let repairs = failures.within(&nudged, limit);
                tried.push((f1(failures, &repairs), Caution { penalty, limit }));
            }
        }
        let chosen = best_of(&tried, |&(f1, _)| Ok::<_, ExperimentError>(f1))?;
        Ok(chosen.map_or(Caution { penalty: None, limit: None }, |&(_, caution)| caution))
    }

    fn dev_failures<'i>(
        &'i self,
        instances: &'i [Instance],
        reading: Reading,
        dev: &Tagged<'_>,
    ) -> Result<Failures<'i>, ExperimentError> {
        let failures = self.failures(instances, reading, dev)?;
        Ok(failures.truncated(self.config.tuning.failures))
    }

    /// F1 on these failures after gradient-based inference.
    fn gbi_f1(
        &self,
        name: &str,
        failures: &Failures<'_>,
        preset: Config,
    ) -> Result<f64, ExperimentError> {
        let nudged = failures.gbi(name, preset, self.watch)?;
        Ok(f1(failures, &failures.within(&nudged, None)))
    }
}

/// A preset with this nudge.
fn moved(preset: &Config, nudge: &Nudge) -> Config {
    let mut preset = preset.clone();
    preset.moves.clone_from(&nudge.moves);
    preset.schedule.step_size = nudge.step_size;
    preset
}

/// F1 on the failures after these repairs.
fn f1(failures: &Failures<'_>, repairs: &[Repair]) -> f64 {
    failures.score(repairs.iter().map(|repair| repair.output.as_slice())).f1()
}
