//! Constraints that users write down.
//!
//! Who has a network and a rule should not have to write Rust. A rule is a few lines of TOML, or a
//! program that looks at an output; here it becomes a [`Constraint`](cajole::Constraint), over the
//! names that the network's symbols have.
//!
//! - [`ebnf`]: grammars and patterns as text.
//! - [`Vocabulary`]: what output symbols are called.
//! - [`Subject`]: what rules can see of an input.

pub mod ebnf;
mod subject;
mod vocabulary;

pub use subject::{Bound, Subject};
pub use vocabulary::{UnknownSymbol, Vocabulary};
