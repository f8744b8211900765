//! Constraints that users write down.
//!
//! Who has a network and a rule should not have to write Rust. A rule is a few lines of TOML, or a
//! program that looks at an output; here it becomes a [`Constraint`](cajole::Constraint), over the
//! names that the network's symbols have.
//!
//! - [`Vocabulary`]: what output symbols are called.
//! - [`Subject`]: what rules can see of an input.
//! - [`Checker`]: a program that judges.
//! - [`Formula`]: comparisons of counts and lengths.
//! - [`Lexical`]: phrases that must be there, and such as must not.
//! - [`Pattern`]: a regular expression over the output's text.

mod checker;
mod classes;
mod ebnf;
mod file;
mod formula;
mod lexical;
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
pub use pattern::{Pattern, PatternError};
pub use subject::{Bound, Subject};
pub use vocabulary::{UnknownSymbol, Vocabulary};
