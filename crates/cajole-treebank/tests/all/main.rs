//! The crate as a whole.

mod evalb;
mod roles;
mod shift_reduce;
mod treebanks;
