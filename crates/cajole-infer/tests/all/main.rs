//! What the crate does as a whole.

mod automata;
mod deadlines;
mod engines;
mod failures;
mod folders;
mod lines;
mod waiters;
