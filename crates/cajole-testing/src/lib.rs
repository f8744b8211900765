//! What tests of several crates share: files from outside the repository, and jobs that are killed.
//! Only dev-dependencies name this crate; it is not published.

pub mod killer;
pub mod outside;
