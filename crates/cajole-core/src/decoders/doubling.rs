//! Beam search with doubling width until some candidate satisfies the constraint.
//!
//! The simplest honest baseline for gradient-based inference: it needs no gradient and no
//! automaton, only the constraint as a test.

use super::Ranking;
use super::beam::{self, Beam};
use crate::backend_error::BackendError;
use crate::decoder::{ConstrainedDecoder, Found, Session, Sought};
use crate::model::Pass;
use crate::set::Short;
use crate::stepper::{Recording, Stepper};

/// Doubles the beam width until a candidate satisfies the constraint.
#[derive(Clone, Copy, Debug)]
pub struct DoublingBeam {
    /// The initial width.
    pub from: usize,
    /// The maximum width.
    pub to: usize,
    /// How finished hypotheses are ranked.
    pub ranking: Ranking,
}

impl DoublingBeam {
    /// Beams of these widths that rank by log-probability.
    pub fn of(from: usize, to: usize) -> Self {
        DoublingBeam { from, to, ranking: Ranking::default() }
    }

    /// Ranks finished hypotheses in another way.
    #[must_use]
    pub fn ranked(self, ranking: Ranking) -> Self {
        DoublingBeam { ranking, ..self }
    }
}

impl<M: Stepper> ConstrainedDecoder<M> for DoublingBeam {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        found.iter_mut().for_each(Found::clear);
        let mut open: Vec<usize> = (0..set.len()).collect();
        let mut width = self.from.max(1);
        while width <= self.to {
            open.retain(|&i| !set[i].wanted.is_late());
            if open.is_empty() {
                break;
            }
            let passes: Short<Pass<'_, M>> = open.iter().map(|&i| set[i].pass).collect();
            let mut beams = vec![Found::default(); open.len()];
            let is_late = |i: usize| set[open[i]].wanted.is_late();
            let beam = Beam { width, ranking: self.ranking };
            beam::search(at, &passes, beam, &|_| None, &is_late, Recording::None, &mut beams)?;
            let mut beams = beams.iter();
            open.retain(|&i| {
                let beam = beams.next().expect("one beam per input");
                found[i].passes += beam.passes;
                let satisfying = beam.candidates().iter().find(|y| set[i].wanted.accepts(y));
                satisfying.inspect(|y| found[i].add().clone_from(y)).is_none()
            });
            let Some(wider) = width.checked_mul(2) else { break };
            width = wider;
        }
        Ok(())
    }
}
