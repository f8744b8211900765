//! The crate as a whole. One binary, because each links every network.

mod masked_trees;
mod pairs;
