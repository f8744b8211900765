//! The CPU engine of cajole: a tape, layers, networks, decoders, training.
//!
//! Gradient-based inference runs a small network forward and backward, on one input, over and over
//! again, with weights that change every time. General frameworks spend most of such an iteration
//! on overhead and on forming an outer product per time step. This engine is made for it.
//!
//! # Key types
//! - [`tape::Tape`] and [`tape::Graph`]: a recording of coarse operations, and the pass that makes
//!   it. Decoding records; the backward pass reuses the decode's activations.
//! - [`AutoRegressive`]: the trait to implement for a sequence-to-sequence network of one's own;
//!   [`Tagger`]: the one for a tagger. [`Trained`] joins either with weights and makes it a
//!   [`cajole_core::Model`].
//! - [`decoders`]: greedy, beam, masked beam, doubling beam, best-first, sampling; for tags Viterbi,
//!   k best, exact within brackets, A*, masked, doubling lists, sampling.
//! - [`Trainer`]: minibatch training on all cores, the same at any number of threads.
//! - [`checkpoint`]: safetensors in and out.
//! - [`import`]: the weights that others publish, from PyTorch, AllenNLP and HDF5 files.

mod autoregressive;
mod backward;
pub mod checkpoint;
pub mod decoders;
mod deferred;
mod halves;
pub mod import;
pub mod kernels;
pub mod layers;
pub mod layout;
pub mod models;
mod network;
mod products;
pub mod random;
pub mod settings;
mod tagging;
pub mod tape;
mod train;

pub use autoregressive::{AutoRegressive, Encoded, Scratch, Vars};
pub use network::{Network, Trained};
pub use tagging::{TagScratch, Tagger, Tagging};
pub use train::{Curriculum, Decay, Example, Progress, TrainConfig, TrainState, Trainer};
