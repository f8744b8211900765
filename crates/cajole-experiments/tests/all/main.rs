//! The crate as a whole. One binary, because each links every network.

mod parsing;
mod rows;
mod srl;
