//! Inference procedures, one per file.
//!
//! [`Greedy`] and [`Beam`] are networks' own and know nothing of constraints. The others are
//! rivals of gradient-based inference, and sources of satisfying candidates for it: they ask the
//! constraint for its automaton ([`MaskedBeam`]) or check what they find against it
//! ([`DoublingBeam`], [`Sampling`]).
//!
//! Every decoder stops at the network's [cap](crate::AutoRegressive::cap) and marks outputs that
//! were cut off there.

mod beam;
mod doubling;
mod greedy;
mod masked;
mod sampling;

pub use beam::Beam;
pub(crate) use beam::Buffers;
pub use doubling::DoublingBeam;
pub use greedy::Greedy;
pub use masked::MaskedBeam;
pub use sampling::Sampling;

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
