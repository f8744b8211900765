//! Masked beam search: only symbols that can still lead to a member of the constraint's language.
//!
//! This is the classical way to enforce a constraint that has an automaton, and GBI's hardest
//! baseline where it applies. With width 1 it is masked greedy decoding. It always satisfies the
//! constraint. But it repairs where the mask first bites, which is often later than the mistake.

use std::rc::Rc;

use super::Ranking;
use super::beam::{self, Beam};
use crate::backend_error::BackendError;
use crate::constraints::Automaton;
use crate::decoder::{ConstrainedDecoder, Found, Session, Sought};
use crate::model::Pass;
use crate::set::Short;
use crate::stepper::{Recording, Stepper};

/// Beam search within the language of a constraint; finds nothing if it has no automaton.
#[derive(Clone, Copy, Debug)]
pub struct MaskedBeam {
    /// Beam width; 1 is masked greedy decoding.
    pub width: usize,
    /// How finished hypotheses are ranked.
    pub ranking: Ranking,
}

impl MaskedBeam {
    /// A beam of this width that ranks by log-probability.
    pub fn of(width: usize) -> Self {
        MaskedBeam { width, ranking: Ranking::default() }
    }

    /// Ranks finished hypotheses in another way.
    #[must_use]
    pub fn ranked(self, ranking: Ranking) -> Self {
        MaskedBeam { ranking, ..self }
    }
}

impl<M: Stepper> ConstrainedDecoder<M> for MaskedBeam {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        found.iter_mut().for_each(Found::clear);
        // Some constraints may have no automaton: search only for those that do.
        let masked: Short<usize> =
            (0..set.len()).filter(|&i| set[i].wanted.has_automaton()).collect();
        let automata: Short<Option<Rc<dyn Automaton>>> =
            masked.iter().map(|&i| set[i].wanted.automaton()).collect();
        if masked.is_empty() {
            return Ok(());
        }
        let passes: Short<Pass<'_, M>> = masked.iter().map(|&i| set[i].pass).collect();
        let mask = |i: usize| automata[i].as_deref();
        let is_late = |i: usize| set[masked[i]].wanted.is_late();
        let mut own: Vec<Found> = masked.iter().map(|&i| std::mem::take(&mut found[i])).collect();
        let beam = Beam { width: self.width, ranking: self.ranking };
        beam::search(at, &passes, beam, &mask, &is_late, Recording::None, &mut own)?;
        masked.iter().zip(own).for_each(|(&i, own)| found[i] = own);
        Ok(())
    }
}
