//! Objectives: from violations to a cost for each recorded position.
//!
//! Whatever the objective, the model computes the gradient of `Σ cost · log p(y_t)`. The paper's
//! objective gives every position of the decoded output the cost `g`. A factorised violation gives
//! each position its own cost, several candidates share it by probability, and contrast gives a
//! satisfying candidate negative costs.

use crate::backend_error::BackendError;
use crate::config::{Objective, Positions, Proposals};
use crate::decoder::Found;
use crate::descent::{Descent, spread};
use crate::gbi::Gbi;
use crate::model::{Candidate, Force, Mark, Model};
use crate::set::{Set, Short, pass};
use crate::wanted::Wanted;
use crate::workspace::Workspace;

impl<M: Model> Gbi<'_, M> {
    /// Finds the satisfying candidates to raise, once per input, for frozen proposals.
    pub(crate) fn targets(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        let Objective::Contrast { proposals: Proposals::Frozen, .. } = self.config.objective else {
            return Ok(());
        };
        let chosen = set.seeking(|descent| !descent.is_aimed);
        if chosen.is_empty() {
            return Ok(());
        }
        if self.sources.is_empty() {
            let (own, flight) = set.parts();
            for &i in &chosen {
                aim_at(&mut own.descents[i], accepted(&own.found[i], flight[i].wanted));
            }
        }
        for source in 0..self.sources.len() {
            set.consult(source, &chosen)?;
            let (own, flight) = set.parts();
            for (&i, proposed) in chosen.iter().zip(&own.proposed) {
                aim_at(&mut own.descents[i], accepted(proposed, flight[i].wanted));
            }
        }
        chosen.iter().for_each(|&i| set.own.descents[i].is_aimed = true);
        Ok(())
    }

    /// Computes the cost of every recorded position, for every input.
    ///
    /// Counts the backward pass that follows, and the forward passes taken here.
    pub(crate) fn blame(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        for own in &mut set.own.moves {
            own.blame.clear();
        }
        let (positions, lower, otherwise) = match self.config.objective {
            Objective::Lower { candidates } => {
                (0..set.len()).for_each(|i| self.lower(set, i, candidates));
                return Ok(());
            }
            Objective::Contrast { proposals, positions, lower, otherwise } => {
                if proposals == Proposals::Fresh {
                    self.propose(set)?;
                }
                (positions, lower, otherwise)
            }
        };
        self.raise(set)?;
        for i in 0..set.len() {
            let Workspace { moves, descents, .. } = &mut *set.own;
            match descents[i].raised.marks.is_empty() {
                _ if moves[i].is_over => {}
                true => self.lower(set, i, otherwise),
                false => contrast(&mut descents[i], positions, lower, &mut moves[i].blame),
            }
        }
        Ok(())
    }

    /// `Σ g(y)·p(y)·log p(y)` over the violating ones among the best candidates.
    fn lower(&self, set: &mut Set<'_, '_, M>, i: usize, candidates: usize) {
        let (own, flight) = set.parts();
        let Workspace { moves, found, descents, .. } = own;
        let (own, descent) = (&mut moves[i], &mut descents[i]);
        let (Some(decoded), Some(violation)) = (found[i].best(), &descent.violation) else {
            return;
        };
        if own.is_over {
            return;
        }
        let blame = &mut own.blame;
        if candidates <= 1 {
            spread(violation, 1.0, decoded, &mut descent.costs, blame);
            descent.passes += 1;
            return;
        }
        let best = decoded.log_prob;
        let looked_at = || found[i].candidates().iter().take(candidates);
        let total: f32 = looked_at().map(|y| (y.log_prob - best).exp()).sum();
        for y in looked_at() {
            let violation = flight[i].wanted.measure(y);
            if !violation.is_satisfied() {
                let share = (y.log_prob - best).exp() / total;
                spread(&violation, share, y, &mut descent.costs, blame);
                descent.passes += 1;
            }
        }
    }

    /// Looks for `y⁺` under the current weights: the first source that finds one wins. Inputs that
    /// came with targets are skipped.
    fn propose(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        let open = set.own.descents.iter_mut().filter(|descent| !descent.is_aimed);
        open.for_each(|descent| descent.targets.clear());
        if self.sources.is_empty() {
            let (own, flight) = set.parts();
            let all = own.descents.iter_mut().zip(&own.found).zip(flight);
            for ((descent, found), sought) in all.filter(|((descent, _), _)| !descent.is_aimed) {
                aim_at(descent, accepted(found, sought.wanted));
            }
        }
        for source in 0..self.sources.len() {
            let is_bare = |descent: &Descent| !descent.is_aimed && descent.targets.best().is_none();
            let chosen = set.seeking(is_bare);
            if chosen.is_empty() {
                break;
            }
            set.consult(source, &chosen)?;
            let (own, flight) = set.parts();
            for (&i, proposed) in chosen.iter().zip(&own.proposed) {
                aim_at(&mut own.descents[i], accepted(proposed, flight[i].wanted));
            }
        }
        Ok(())
    }

    /// Records every input's target beside its decode: `y⁺` in `raised`, `ŷ` in `lowered`. Without
    /// a target `raised` stays empty.
    fn raise(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        let (own, flight) = set.parts();
        let Workspace { scratch, moves, found, descents, .. } = own;
        let (mut which, mut forced): (Short<usize>, Short<Force<'_, M>>) = Default::default();
        for (i, descent) in descents.iter_mut().enumerate() {
            descent.raised.clear();
            let Some(decoded) = found[i].best().filter(|_| !moves[i].is_over) else { continue };
            descent.lowered.clone_from(decoded);
            if let Some((output, forced_to)) = descent.aim() {
                let pass = pass(&moves[i], &flight[i], Some(moves[i].place));
                forced.push(Force { pass, output, forced: forced_to, passes: 0 });
                which.push(i);
            }
        }
        if forced.is_empty() {
            return Ok(());
        }
        self.model.force(scratch, &mut forced)?;
        let passes: Short<usize> = forced.iter().map(|forced| forced.passes).collect();
        drop(forced);
        for (i, passes) in which.into_iter().zip(passes) {
            descents[i].passes += passes;
        }
        Ok(())
    }
}

/// The first satisfying candidate.
fn accepted<'f>(found: &'f Found, wanted: &Wanted<'_>) -> Option<&'f Candidate> {
    found.candidates().iter().find(|y| wanted.accepts(y))
}

/// Adds the output of `y` to the targets, unless it is already there.
fn aim_at(descent: &mut Descent, y: Option<&Candidate>) {
    let is_new =
        |y: &&Candidate| !descent.targets.candidates().iter().any(|t| t.output == y.output);
    if let Some(y) = y.filter(is_new) {
        descent.targets.add().output.clone_from(&y.output);
    }
}

/// `g·(lower·log p(ŷ) − log p(y⁺))`.
fn contrast(descent: &mut Descent, positions: Positions, lower: f32, blame: &mut Vec<(Mark, f32)>) {
    let g = descent.g();
    let Descent { lowered, raised, .. } = &*descent;
    let differs = |y: &Candidate, other: &Candidate, t: usize| match positions {
        Positions::All => true,
        // Position `len` is the end symbol; past it there is nothing.
        Positions::Differing => y.output.get(t) != other.output.get(t) || other.marks.len() <= t,
    };
    let mut costs = |y: &Candidate, other: &Candidate, cost: f32| {
        let marks = y.marks.iter().enumerate();
        blame.extend(marks.filter(|&(t, _)| differs(y, other, t)).map(|(_, &m)| (m, cost)));
    };
    costs(raised, lowered, -g);
    if lower != 0.0 {
        costs(lowered, raised, lower * g);
    }
    descent.passes += 1;
}
