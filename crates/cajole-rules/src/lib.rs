//! Constraints that users write down.
//!
//! Who has a network and a rule should not have to write Rust. A rule is a few lines of TOML, or a
//! program that looks at an output; here it becomes a [`Constraint`](cajole_core::Constraint), over the
//! names that the network's symbols have.
//!
//! - [`Rules`]: a constraint [file](mod@file); there, all kinds of rules are listed.
//! - [`Vocabulary`]: what output symbols are called.
//! - [`Subject`]: what rules can see of an input.
//!
//! And the kinds of rules that are not about tags or trees:
//!
//! - [`Formula`]: comparisons of counts and lengths.
//! - [`Named`]: languages, whose faults are told by name: a pattern over the output's text, or what
//!   [`ebnf`] says of its symbols.
//! - [`Lexical`]: phrases that must be there, and such as must not.
//! - [`Checker`]: a program that judges.

mod checker;
mod classes;
pub mod ebnf;
pub mod file;
mod formula;
mod lexical;
mod matcher;
mod named;
#[cfg(test)]
mod oracle;
mod pattern;
mod subject;
mod vocabulary;

pub use checker::{
    Cause, Checker, CheckerConfig, CheckerError, Judgement, Mode, Pass, Reply, ReplyError, Trouble,
    Verdict, parse_reply,
};
pub use file::{RuleError, RuleFileError, Rules};
pub use formula::{Formula, FormulaError};
pub use lexical::{Lexical, LexicalError};
pub use named::{Named, NamedGrammar, NamedRegular};
pub use pattern::PatternError;
pub use subject::{Bound, Subject};
pub use vocabulary::{UnknownSymbol, Vocabulary};
