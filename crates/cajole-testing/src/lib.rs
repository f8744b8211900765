//! What tests of several crates share: files from outside the repository, jobs that are killed, and
//! small networks in Hugging Face folders.
//! Only dev-dependencies name this crate; it is not published.

pub mod folders;
pub mod killer;
pub mod outside;
