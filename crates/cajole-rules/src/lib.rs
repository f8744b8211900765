//! Constraints that users write down.
//!
//! Someone with a network and a rule should not have to write Rust. A rule is a few lines of TOML,
//! or a program that judges outputs. This crate turns it into a
//! [`Constraint`](cajole_core::Constraint) over the names of the network's symbols.
//!
//! - [`Rules`]: a constraint [file](mod@file), which lists all kinds of rules. [`RuleText`] is one as it
//!   was written.
//! - [`Cache`]: compiled rules, for all who want the same ones.
//! - [`Vocabulary`]: the names of the output symbols.
//! - [`Subject`]: what rules can see of an input.
//!
//! The kinds of rules that are not about tags or trees:
//!
//! - [`Formula`]: comparisons of counts and lengths.
//! - [`Named`]: languages with readable messages: a pattern over the output's text, or an [`ebnf`]
//!   expression over its symbols.
//! - [`Lexical`]: phrases that must, or must not, occur.
//! - [`Checker`]: a program that judges outputs.
//! - [`Copies`], `JsonSchema`, `Sql`: texts that contain what the input contains, are valid
//!   JSON, or are valid SQL. The last two need the features `json-schema` and `sql`, because their
//!   parsers take as long to compile as all else; without them, files with such rules are refused.
//! - [`Consistent`], [`Valid`]: spans with the same label wherever their text occurs, and spans whose
//!   text is what their label says.
//!
//! Networks that write text write pieces of it. Their rules apply to the text: a [`Vocabulary`] of
//! pieces, from [`read_tokenizer`], knows which bytes each piece writes.

mod cache;
mod checker;
mod classes;
mod consistent;
mod copies;
pub mod ebnf;
pub mod file;
mod formula;
#[cfg(feature = "json-schema")]
mod json_schema;
mod lexical;
pub mod limits;
mod matcher;
mod named;
#[cfg(test)]
mod oracle;
mod pattern;
mod sql;
mod subject;
mod text;
mod tokenizer;
mod valid;
mod vocabulary;
mod words;

pub use cache::{Cache, Compiled};
pub use checker::{
    Cause, Checker, CheckerConfig, CheckerError, Judgement, Mode, Pass, Reply, ReplyError, Trouble,
    Verdict, kill_checkers, parse_reply,
};
pub use consistent::Consistent;
pub use copies::{Copies, CopiesConfig};
pub use file::{OneRule, RuleError, RuleFileError, RuleText, Rules};
pub use formula::{Formula, FormulaError};
#[cfg(feature = "json-schema")]
pub use json_schema::JsonSchema;
pub use lexical::{Lexical, LexicalError};
pub use named::{Named, NamedGrammar, NamedRegular};
pub use pattern::PatternError;
#[cfg(feature = "sql")]
pub use sql::Sql;
pub use sql::SqlConfig;
pub use subject::{Bound, Subject};
pub use text::Text;
pub use tokenizer::{TokenizerError, read_tokenizer, tokenizer_of};
pub use valid::{Checksum, Valid, ValidConfig};
pub use vocabulary::{UnknownSymbol, Vocabulary};
