//! The tasks whose checkpoints can be run: one file each, and one for what those that write symbol
//! by symbol have in common.

mod pairs;
mod parsing;
pub mod sequences;
mod srl;
mod transduction;

pub use pairs::Pairs;
pub use parsing::Parsing;
pub use srl::Roles;
pub use transduction::Transduction;
