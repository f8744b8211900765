//! What depends on the network and on the kind of constraint, chosen by F1 on development failures.

use cajole_core::Config;
use serde::{Deserialize, Serialize};

use super::config::{Nudge, groups};
use super::experiment::Run;
use super::instance::{Instance, Noise};
use super::methods::Failures;
use super::nodes::Reading;
use super::sentence::Sentence;
use crate::experiment::{ExperimentError, Repair, best_of, nearly_best_of};

/// Settings of one network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// The step size of plain SGD.
    pub(super) step_size: f32,
    /// The rest, by kind of constraint, in the order in which they are measured.
    pub(super) kinds: Vec<Kind>,
}

/// A kind of constraint, and the settings for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kind {
    pub(super) noise: Noise,
    pub(super) reading: Reading,
    /// The best preset, with the nudge that suits.
    pub(super) best: Config,
    /// A*'s penalty for an argument that is no node; none forbids it.
    pub(super) penalty: Option<f32>,
    /// How far not to trust constraints that are wrong at times.
    pub(super) caution: Option<Caution>,
}

/// Where gradient-based inference lets an output be: where the network insists on it, by its scores
/// or by its patience.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Caution {
    /// An argument that A* keeps at this penalty may stay; none may without.
    pub(super) penalty: Option<f32>,
    /// Steps that are taken at most, if fewer than there may be.
    pub(super) limit: Option<usize>,
}

impl Run<'_> {
    /// Chooses settings for these kinds of noise.
    pub(super) fn choose(
        &self,
        kinds: &[Noise],
        dev: &[Sentence],
    ) -> Result<Chosen, ExperimentError> {
        let (config, readings) = (self.config, &self.config.readings);
        let instances = self.instances(dev, readings[0], config.noise[0]);
        let failures = self.dev_failures(&instances);
        let step_size = best_of(config.tuning.step_sizes.iter().copied(), |step_size| {
            let paper = config.gbi.paper_by(step_size);
            self.gbi_f1(&format!("step size {step_size}"), &failures, paper)
        })?;
        let step_size = step_size.unwrap_or(config.gbi.paper.schedule.step_size);
        let best = readings.iter().map(|&reading| self.choose_best(reading, dev));
        let best = best.collect::<Result<Vec<_>, _>>()?;
        let kinds = kinds.iter().flat_map(|&noise| {
            let of_one = readings.iter().zip(&best);
            of_one.map(move |(&reading, best)| self.choose_kind(noise, reading, best, dev))
        });
        Ok(Chosen { step_size, kinds: kinds.collect::<Result<_, _>>()? })
    }

    /// What the best preset moves, and how far: the cheapest whose F1 is about the best.
    fn choose_best(&self, reading: Reading, dev: &[Sentence]) -> Result<Config, ExperimentError> {
        /// Differences in F1 that mean little on some hundred failures.
        const MARGIN: f64 = 0.5;
        let instances = self.instances(dev, reading, self.config.noise[0]);
        let failures = self.dev_failures(&instances);
        let presets = &self.config.gbi;
        let nudge = nearly_best_of(&self.config.tuning.nudges, MARGIN, |nudge: &Nudge| {
            let name = format!("moving {} by {}", groups(&nudge.moves), nudge.step_size);
            self.gbi_f1(&name, &failures, presets.best_by(nudge))
        })?;
        Ok(nudge.map_or_else(|| presets.best.clone(), |nudge| presets.best_by(nudge)))
    }

    /// How far to trust constraints of this kind.
    fn choose_kind(
        &self,
        noise: Noise,
        reading: Reading,
        best: &Config,
        dev: &[Sentence],
    ) -> Result<Kind, ExperimentError> {
        let (tuning, best) = (&self.config.tuning, best.clone());
        let instances = self.instances(dev, reading, noise);
        let failures = self.dev_failures(&instances);
        let searched = tuning.penalties.iter().map(|&penalty| {
            self.watch.begin(&format!("A*, penalty {penalty}"), failures.cases.len() as u64);
            let repairs = failures.a_star(penalty, self.config.rivals.agenda_limit, self.watch);
            self.watch.end();
            (Some(penalty).filter(|penalty| penalty.is_finite()), repairs)
        });
        let searched: Vec<_> = searched.collect();
        let chosen =
            best_of(&searched, |(_, repairs)| Ok::<_, ExperimentError>(f1(&failures, repairs)))?;
        let penalty = chosen.and_then(|(penalty, _)| *penalty);
        let caution = match noise {
            Noise::Free => None,
            Noise::Noisy | Noise::Predicted => {
                Some(self.choose_caution(&failures, searched, &best)?)
            }
        };
        Ok(Kind { noise, reading, best, penalty, caution })
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
            // Of equals, the longest: a conversion is worth something.
            let limits = self.config.gbi.limits.iter().rev().map(|&limit| Some(limit));
            for limit in std::iter::once(None).chain(limits) {
                let repairs = failures.within(&nudged, limit);
                tried.push((f1(failures, &repairs), Caution { penalty, limit }));
            }
        }
        let chosen = best_of(&tried, |&(f1, _)| Ok::<_, ExperimentError>(f1))?;
        Ok(chosen.map_or(Caution { penalty: None, limit: None }, |&(_, caution)| caution))
    }

    fn dev_failures<'i>(&'i self, instances: &'i [Instance]) -> Failures<'i> {
        let failures = Failures::find(self.tagger, instances, self.watch);
        failures.truncated(self.config.tuning.failures)
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

/// F1 on the failures after these repairs.
fn f1(failures: &Failures<'_>, repairs: &[Repair]) -> f64 {
    failures.score(repairs.iter().map(|repair| repair.output.as_slice())).f1()
}
