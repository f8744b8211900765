//! Users' own pairs of inputs and outputs: a sequence-to-sequence network for whatever can be written
//! as symbols in and symbols out.
//!
//! A network becomes worth cajoling when someone depends on it, and what they depend on is seldom a
//! task of a paper. Pairs come as JSON Lines, [`train`] makes a [`PairsModel`] of them, and what its
//! outputs have to satisfy is said elsewhere. [`generated`] has pairs for those who have none.

pub mod config;
pub mod corpus;
pub mod generated;
pub mod metric;
pub mod model;
pub mod spelling;
pub mod symbols;
pub mod training;

pub use config::PairsConfig;
pub use corpus::{Pair, PairsError, Splits, read};
pub use metric::Score;
pub use model::{Card, Net, PairsModel};
pub use spelling::{Spelling, SpellingError};
pub use symbols::Symbols;
pub use training::train;
