//! The algorithm and the searches over backends that are not a tape.

mod algorithm;
#[path = "../backend/mod.rs"]
mod backend;
mod cancellation;
mod corpus;
mod deadlines;
mod failures;
mod generate;
mod gradients;
mod repair;
mod searches;
mod sets;
mod settings;
