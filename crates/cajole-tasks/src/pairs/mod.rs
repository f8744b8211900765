//! Users' own input-output pairs: a sequence-to-sequence network for any task with symbols in and
//! symbols out.
//!
//! Networks that people depend on seldom solve a paper's task. Pairs come as JSON Lines, [`train`]
//! turns them into a [`PairsModel`], and constraints on its outputs are given separately.
//! [`generated`] has sample pairs.

pub mod config;
pub mod corpus;
pub mod generated;
pub mod metric;
pub mod model;
pub mod spelling;
pub mod symbols;
pub mod training;

pub use config::{Kind, PairsConfig};
pub use corpus::{Pair, PairsError, Splits, read};
pub use metric::Score;
pub use model::{Card, Net, PairsModel};
pub use spelling::{Spelling, SpellingError};
pub use symbols::Symbols;
pub use training::train;
