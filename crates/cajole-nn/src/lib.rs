//! The CPU engine of cajole: a tape, layers, networks, training.
//!
//! Gradient-based inference runs a small network forward and backward on one input, again and
//! again, with weights that change every time. General frameworks spend most of such an iteration
//! on overhead and on an outer product per time step. This engine is built for it.
//!
//! # Key types
//! - [`tape::Tape`] and [`tape::Graph`]: a recording of coarse operations, and the pass that makes
//!   it. Decoding records; the backward pass reuses the decoder's activations.
//! - [`AutoRegressive`]: the trait to implement for your own sequence-to-sequence network;
//!   [`Tagger`]: the one for a tagger. [`Trained`] adds weights to either and makes it a
//!   [`cajole_core::Model`].
//! - [`cajole_core::decoders`]: greedy, beam, masked beam, doubling beam, best-first, sampling; for
//!   tags Viterbi, k-best, exact within brackets, A*, masked, doubling lists, sampling.
//! - [`Trainer`]: minibatch training on all cores, deterministic for any number of threads.
//! - [`checkpoint`]: safetensors in and out.
//! - [`models::transformer`]: encoders that tag, encoder-decoders that write.
//! - [`import`]: published weights, from Hugging Face folders.

mod autoregressive;
mod backward;
pub mod checkpoint;
mod deferred;
pub mod gradient;
mod halves;
pub mod import;
mod lanes;
pub mod layers;
pub mod layout;
pub mod models;
mod network;
mod nudge;
pub mod numbers;
mod optimizer;
mod products;
mod reach;
pub mod settings;
mod stepwise;
#[cfg(test)]
mod subnormal_tests;
mod tagging;
pub mod tape;
mod train;
mod transposed;
mod uses;
mod vectors;

pub use autoregressive::{AutoRegressive, Encoded, Vars};
pub use cajole_core::random;
pub use cajole_kernels as kernels;
pub use cajole_kernels::Aligned;
pub use gradient::Gradient;
pub use lanes::Scratch;
pub use network::{Forcing, Network, Trainable, Trained};
pub use nudge::Nudge;
pub use optimizer::Momenta;
pub use stepwise::Stepwise;
pub use tagging::{Tagger, Tagging};
pub use train::{Curriculum, Decay, Example, Progress, Rate, TrainConfig, TrainState, Trainer};
