//! What the crate does as a whole. Tests that count allocations have binaries of their own.

mod best_first;
mod checkpoints;
mod constrained_tags;
mod decoding;
#[cfg(feature = "hdf5")]
mod elmo;
mod fine_tuning;
mod halves;
mod halves_recording;
mod huggingface;
mod in_step;
mod inference;
#[path = "../networks/mod.rs"]
mod networks;
mod nudge;
mod products;
mod pytorch;
mod seq2seq;
mod seq2seq_training;
mod sequence;
mod small_nudges;
mod structured;
mod tagger;
mod transformer;
