//! What is lowered and what is raised: from violations to a cost for each recorded position.
//!
//! Whatever the objective, the gradient asked of a model is that of `Σ cost · log p(y_t)`. The
//! paper's objective gives every position of the decoded output the cost `g`; a factorised
//! violation gives each position its own; several candidates share it by their probability; and
//! contrast gives a satisfying candidate negative costs.

use crate::config::{Objective, Positions, Proposals};
use crate::constraint::Constraint;
use crate::decoder::Decoder;
use crate::gbi::Gbi;
use crate::model::{Candidate, Mark, Model, Symbol};
use crate::workspace::Workspace;

impl<M, D, C> Gbi<'_, M, D, C>
where
    M: Model + ?Sized,
    D: Decoder<M> + ?Sized,
    C: Constraint<M::Input> + ?Sized,
{
    /// The satisfying candidates to raise for as long as this input is worked on.
    pub(crate) fn targets(&self, x: &M::Input, s: &mut Workspace<M>) -> Vec<Vec<Symbol>> {
        let Objective::Contrast { proposals: Proposals::Frozen, .. } = self.config.objective else {
            return Vec::new();
        };
        let mut targets: Vec<Vec<Symbol>> = Vec::new();
        if self.sources.is_empty() {
            let satisfying = s.found.candidates().iter().find(|y| self.satisfies(x, y));
            targets.extend(satisfying.map(|y| y.output.clone()));
        }
        for source in &self.sources {
            let w = self.model.weights();
            s.is_stale = !self.consult(*source, w, x, s, !s.is_stale);
            if let Some(y) = s.proposed.candidates().iter().find(|y| self.satisfies(x, y))
                && !targets.contains(&y.output)
            {
                targets.push(y.output.clone());
            }
        }
        targets
    }

    /// Asks `source` for candidates under `w`, where `f(x; w)` is on record or not; returns whether
    /// it is afterwards.
    fn consult(
        &self,
        source: &dyn Decoder<M>,
        w: &[f32],
        x: &M::Input,
        s: &mut Workspace<M>,
        is_recorded: bool,
    ) -> bool {
        let (scratch, proposed) = (&mut s.scratch, &mut s.proposed);
        let is_kept = match is_recorded {
            true => source.decode_again(self.model, w, x, scratch, proposed),
            false => {
                source.decode(self.model, w, x, scratch, proposed);
                false
            }
        };
        s.passes += s.proposed.passes;
        is_kept
    }

    /// Fills the workspace's blame: the cost of every recorded position that has one.
    ///
    /// Counts the backward pass that follows, and every forward pass it takes itself.
    pub(crate) fn blame(&self, x: &M::Input, s: &mut Workspace<M>, target: Option<&[Symbol]>) {
        s.blame.clear();
        match self.config.objective {
            Objective::Lower { candidates } => self.lower(x, s, candidates),
            Objective::Contrast { proposals, positions, lower, otherwise } => {
                let is_found = match (target, proposals) {
                    (Some(target), _) => self.aim(x, s, target),
                    (None, Proposals::Fresh) => self.propose(x, s),
                    (None, Proposals::Frozen) => false,
                };
                match is_found {
                    true => contrast(s, positions, lower),
                    false => self.lower(x, s, otherwise),
                }
            }
        }
    }

    /// `Σ g(y)·p(y)·log p(y)` over the violating ones of the best candidates.
    fn lower(&self, x: &M::Input, s: &mut Workspace<M>, candidates: usize) {
        let Some(decoded) = s.found.best() else { return };
        if candidates <= 1 {
            s.costs.clear();
            s.costs.resize(decoded.marks.len(), 0.0);
            s.violation.spread(1.0, &mut s.costs);
            s.blame.extend(decoded.marks.iter().copied().zip(s.costs.iter().copied()));
            s.passes += 1;
            return;
        }
        let best = decoded.log_prob;
        let looked_at = || s.found.candidates().iter().take(candidates);
        let total: f32 = looked_at().map(|y| (y.log_prob - best).exp()).sum();
        for y in looked_at() {
            let violation = self.check(x, y);
            if violation.is_satisfied() {
                continue;
            }
            let share = (y.log_prob - best).exp() / total;
            s.costs.clear();
            s.costs.resize(y.marks.len(), 0.0);
            violation.spread(share, &mut s.costs);
            s.blame.extend(y.marks.iter().copied().zip(s.costs.iter().copied()));
            s.passes += 1;
        }
    }

    /// Records the target beside the decode: `y⁺` in `s.raised`, `ŷ` in `s.lowered`.
    fn aim(&self, x: &M::Input, s: &mut Workspace<M>, target: &[Symbol]) -> bool {
        let Some(decoded) = s.found.best() else { return false };
        s.lowered.clone_from(decoded);
        self.model.force(&s.nudged, x, target, &mut s.scratch, &mut s.raised);
        s.passes += 1;
        true
    }

    /// Looks for `y⁺` under the current weights; if there is one, leaves it in `s.raised` and `ŷ` in
    /// `s.lowered`, both in one recording.
    fn propose(&self, x: &M::Input, s: &mut Workspace<M>) -> bool {
        let Some(decoded) = s.found.best() else { return false };
        s.lowered.clone_from(decoded);
        if self.sources.is_empty() {
            let satisfying = s.found.candidates().iter().find(|y| self.satisfies(x, y));
            satisfying.inspect(|y| s.raised.clone_from(y));
            return satisfying.is_some();
        }
        let mut is_recorded = true;
        for source in &self.sources {
            let nudged = std::mem::take(&mut s.nudged);
            is_recorded = self.consult(*source, &nudged, x, s, is_recorded);
            s.nudged = nudged;
            if let Some(y) = s.proposed.candidates().iter().find(|y| self.satisfies(x, y)) {
                s.raised.clone_from(y);
                if !is_recorded {
                    let y = std::mem::take(&mut s.lowered.output);
                    self.model.force(&s.nudged, x, &y, &mut s.scratch, &mut s.lowered);
                    s.passes += 1;
                }
                return true;
            }
        }
        if !is_recorded {
            // The sources' recordings have replaced the decode's: record ŷ once more.
            self.decoder.decode(self.model, &s.nudged, x, &mut s.scratch, &mut s.found);
            s.passes += s.found.passes;
        }
        false
    }

    fn satisfies(&self, x: &M::Input, y: &Candidate) -> bool {
        self.check(x, y).is_satisfied()
    }
}

/// `g·(lower·log p(ŷ) − log p(y⁺))`, with `ŷ` in `s.lowered` and `y⁺` in `s.raised`.
fn contrast<M: Model + ?Sized>(s: &mut Workspace<M>, positions: Positions, lower: f32) {
    let g = s.violation.total();
    let differs = |y: &Candidate, other: &Candidate, t: usize| match positions {
        Positions::All => true,
        // The end symbol stands at position `len`, where the output has nothing.
        Positions::Differing => y.output.get(t) != other.output.get(t),
    };
    let costs = |y: &Candidate, other: &Candidate, cost: f32, blame: &mut Vec<(Mark, f32)>| {
        let marks = y.marks.iter().enumerate();
        blame.extend(marks.filter(|&(t, _)| differs(y, other, t)).map(|(_, &m)| (m, cost)));
    };
    costs(&s.raised, &s.lowered, -g, &mut s.blame);
    if lower != 0.0 {
        costs(&s.lowered, &s.raised, lower * g, &mut s.blame);
    }
    s.passes += 1;
}
