//! The operations of the tape, one per file, forward beside backward.
//!
//! Each file adds one method to [`Graph`](crate::tape::Graph), which computes and records, and one
//! `backward`, which accumulates the gradients of its inputs and records its uses of parameters.
//! `B` rows throughout; the gradient of `x` is `dx`.

pub mod activation;
pub(crate) mod affine;
pub mod attention;
pub(crate) mod concat;
pub mod custom;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod lstm;
pub mod lstm_layer;
pub mod multi_head;
pub mod norm;
pub mod positions;
pub(crate) mod rows;
pub(crate) mod scale;
pub(crate) mod scores;
pub(crate) mod softmax;
pub(crate) mod sum;

#[cfg(test)]
mod tests;
