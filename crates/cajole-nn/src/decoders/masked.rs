//! Masked beam search: only symbols that can still lead to a member of the constraint's language.
//!
//! The classical way to enforce a constraint that is an automaton, and GBI's hardest rival where
//! it applies. With width 1 it is masked greedy decoding. It always satisfies the constraint, and
//! it repairs at the point where the mask first bites, which is often later than the mistake.

use cajole_core::constraint::Constraint;
use cajole_core::decoder::{Decoder, Found};

use super::beam::search;
use crate::autoregressive::{AutoRegressive, Scratch};
use crate::network::Trained;

/// Beam search within the language of a constraint; finds nothing if it is no automaton.
pub struct MaskedBeam<'a, C: ?Sized> {
    /// How many prefixes are kept; 1 is masked greedy decoding.
    pub width: usize,
    /// The constraint, which must have an automaton.
    pub constraint: &'a C,
}

impl<N: AutoRegressive, C: Constraint<N::Input> + ?Sized> Decoder<Trained<N>>
    for MaskedBeam<'_, C>
{
    fn decode(
        &self,
        model: &Trained<N>,
        w: &[f32],
        x: &N::Input,
        scratch: &mut Scratch,
        found: &mut Found,
    ) {
        found.clear();
        if let Some(mask) = self.constraint.automaton(x) {
            search(model, w, x, self.width, Some(&*mask), scratch, found);
        }
    }
}
