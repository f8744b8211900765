//! The crate as a whole.

mod engines;
mod folders;
mod lines;
mod waiters;
