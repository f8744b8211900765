//! The crate as a whole. One binary, because each links every network.

#[cfg(feature = "import")]
mod import;
mod masked_trees;
mod pairs;
