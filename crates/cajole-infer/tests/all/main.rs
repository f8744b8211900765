//! What the crate does as a whole.

mod engines;
mod folders;
mod lines;
mod waiters;
