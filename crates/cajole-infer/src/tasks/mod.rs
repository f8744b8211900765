//! The tasks whose checkpoints can be run: one file each. `sequences.rs` has what networks that
//! write symbol by symbol have in common, `tags.rs` what those that tag every position have.
//! `huggingface.rs` is for Hugging Face folders.

pub(crate) mod huggingface;
mod labels;
mod pairs;
mod parsing;
pub mod sequences;
mod srl;
pub mod tags;
mod transduction;
mod writer;

pub use labels::Labels;
pub use pairs::Pairs;
pub use parsing::Parsing;
pub use srl::Roles;
pub use transduction::Transduction;
pub use writer::Writer;
