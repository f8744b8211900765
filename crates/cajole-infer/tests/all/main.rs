//! The crate as a whole.

mod automata;
mod compare;
mod deadlines;
mod engines;
mod failures;
mod folders;
mod lines;
mod waiters;
