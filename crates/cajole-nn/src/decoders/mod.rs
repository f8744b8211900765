//! Inference procedures, one per file.
//!
//! [`Greedy`] and [`Beam`] are networks' own and know nothing of constraints. The others are
//! rivals of gradient-based inference, and sources of satisfying candidates for it: they ask the
//! constraint for its automaton ([`MaskedBeam`]) or check what they find against it
//! ([`DoublingBeam`], [`Sampling`]); [`BestFirst`] does both, and finds the best there is.
//!
//! Every one of these stops at the network's [cap](crate::AutoRegressive::cap) and marks outputs
//! that were cut off there.
//!
//! Taggers give all their scores at once, a matrix of [`TagScores`], and what remains is to find
//! the best sequence of tags: [`Viterbi`] and [`KBest`] by the rule of BIO tags alone; [`Exact`]
//! and [`AStar`] know which spans and roles the constraints allow; [`MaskedTags`] follows any
//! constraint's automaton, [`DoublingTags`] and [`SamplingTags`] check what they find. Each writes
//! into a table that its caller keeps; [`Tagged`] makes decoders of them.

mod astar;
mod beam;
mod best_first;
mod clock;
mod doubling;
mod doubling_tags;
mod exact;
mod frontier;
mod greedy;
mod k_best;
mod masked;
mod masked_tags;
mod sampling;
mod sampling_tags;
mod tag_scores;
mod tagged;
mod viterbi;

pub use astar::{AStar, Agenda, Heuristic, Penalties, Search};
pub use beam::Beam;
pub(crate) use beam::Buffers;
pub use best_first::BestFirst;
pub use doubling::DoublingBeam;
pub use doubling_tags::DoublingTags;
pub use exact::{Chart, Exact};
pub use greedy::Greedy;
pub use k_best::{KBest, SuffixLists};
pub use masked::MaskedBeam;
pub use masked_tags::{MaskedTags, Trellis};
pub use sampling::Sampling;
pub use sampling_tags::SamplingTags;
pub use tag_scores::TagScores;
pub use tagged::{TagBuffers, TagSearch, Tagged};
pub use viterbi::{Space, Suffixes, Viterbi};

/// The index of the largest value; of equals, the first. NaN never wins; if all are NaN, `else_`.
fn argmax(values: &[f32], else_: usize) -> usize {
    let mut best = (else_, f32::NEG_INFINITY);
    for (i, &v) in values.iter().enumerate() {
        if best.1 < v {
            best = (i, v);
        }
    }
    best.0
}
