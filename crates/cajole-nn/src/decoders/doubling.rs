//! Beam search that accepts any satisfying candidate, with ever wider beams until there is one.
//!
//! The simplest honest rival of gradient-based inference: it needs no gradient and no automaton,
//! only the constraint as a test.

use std::time::Duration;

use cajole_core::constraint::Constraint;
use cajole_core::decoder::{Decoder, Found};

use super::Beam;
use super::clock::Clock;
use crate::autoregressive::{AutoRegressive, Scratch};
use crate::network::Trained;

/// Doubles the width of a beam until one of its candidates satisfies the constraint.
pub struct DoublingBeam<'a, C: ?Sized> {
    /// The first width.
    pub from: usize,
    /// The last width tried.
    pub to: usize,
    /// What a candidate has to satisfy.
    pub constraint: &'a C,
    /// How long the search may take; looked at before each width.
    pub deadline: Option<Duration>,
}

impl<N: AutoRegressive, C: Constraint<N::Input> + ?Sized> Decoder<Trained<N>>
    for DoublingBeam<'_, C>
{
    fn decode(
        &self,
        model: &Trained<N>,
        w: &[f32],
        x: &N::Input,
        scratch: &mut Scratch,
        found: &mut Found,
    ) {
        let (mut width, mut passes) = (self.from.max(1), 0);
        let clock = Clock::start(self.deadline);
        let mut beam = Found::default();
        found.clear();
        while width <= self.to && !clock.is_late() {
            Beam { width }.decode(model, w, x, scratch, &mut beam);
            passes += beam.passes;
            let satisfying = beam
                .candidates()
                .iter()
                .find(|y| !y.capped && self.constraint.check(x, &y.output).is_satisfied());
            if let Some(y) = satisfying {
                found.add().clone_from(y);
                break;
            }
            width *= 2;
        }
        found.passes = passes;
    }
}
