//! What all networks that give every position a tag share: their searches. Use it for a
//! [`Task`](crate::task::Task) of your own.

use cajole_core::TagScorer;
use cajole_core::constraints::TagSet;
use cajole_core::decoders::InTurn;
use cajole_core::decoders::tags::{DoublingTags, MaskedTags, SamplingTags, Tagged};

use crate::engine::{Limits, Rival};
use crate::task::Search;

pub use super::sequences::engines;

/// The searches of networks that give every position a tag: all go over one matrix of
/// log-probabilities.
pub fn rival<'a, M: TagScorer + 'a>(
    tags: &'a TagSet,
    rival: Rival,
    limits: &Limits,
) -> Search<'a, M> {
    let lists =
        Tagged { tags, search: DoublingTags { from: limits.beam_from, to: limits.beam_to } };
    let masked = Tagged { tags, search: MaskedTags::default() };
    match rival {
        Rival::Masked => Box::new(masked),
        Rival::Beam => Box::new(lists),
        // The exact optimum if the rules are an automaton; else the best on a long list.
        Rival::Exact | Rival::Astar => {
            let searches: Vec<Search<'a, M>> = vec![Box::new(masked), Box::new(lists)];
            Box::new(InTurn { searches })
        }
        Rival::Sample => {
            let search = SamplingTags { samples: limits.samples, temperature: 1.0, seed: 1 };
            Box::new(Tagged { tags, search })
        }
    }
}
