//! stub
mod autoregressive;
pub mod checkpoint;
pub mod decoders;
pub mod kernels;
pub mod layers;
pub mod layout;
pub mod models;
pub mod random;
pub mod tape;
mod train;
pub use autoregressive::{AutoRegressive, Encoded, Scratch, Trained, Vars};
pub use train::{Decay, Example, Progress, TrainConfig, TrainState, Trainer};
