//! The tasks whose checkpoints can be run: one file each. `sequences.rs` has what networks that
//! write symbol by symbol have in common, `tags.rs` what those that tag every position have.
//! `texts.rs` and `labelled_words.rs` have what networks of transformers have in common, whether they
//! are computed here or in PyTorch. `huggingface.rs` is for Hugging Face folders.

pub(crate) mod huggingface;
pub mod labelled_words;
mod labels;
mod pairs;
mod parsing;
pub mod sequences;
mod srl;
pub mod tags;
pub mod texts;
mod transduction;
mod writer;

pub use labels::Labels;
pub use pairs::Pairs;
pub use parsing::Parsing;
pub use srl::Roles;
pub use transduction::Transduction;
pub use writer::{Writer, beam, rank_by};
