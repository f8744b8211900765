//! The tasks whose checkpoints can be run: one file each. Two more have what those that write symbol
//! by symbol, and those that tag every position, have in common. `huggingface.rs` is for Hugging Face
//! folders.

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
