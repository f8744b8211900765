//! Grammars and patterns as text, in the notation of most language manuals (EBNF).
//!
//! ```text
//! sum  = term { ("+" | "-") term } ;      (* the first rule is the start *)
//! term = digit+ | "(" sum ")" ;
//! digit = "0" | "1"                       # a rule also ends where the next begins
//! ```
//!
//! | written                    | means                                              |
//! |----------------------------|----------------------------------------------------|
//! | `=` `:=` `::=`             | the rule on the left is what stands on the right   |
//! | `"text"` `'text'`          | the symbols that read so, one after the other      |
//! | `.`                        | any one symbol                                     |
//! | `a b` or `a, b`            | one after the other                                |
//! | <code>a &#124; b</code>    | either                                             |
//! | `[a]` `a?`                 | perhaps                                            |
//! | `{a}` `a*`                 | any number of times                                |
//! | `a+`                       | once or more                                       |
//! | `(a)`                      | a group                                            |
//!
//! A [`grammar`] has rules; a [`language`] is one expression without any. Whatever is wrong is said
//! with its line and column, those of symbols that the network cannot write included.

mod compile;
mod parse;
mod scan;
#[cfg(test)]
mod tests;

use cajole_core::constraints::{Grammar, GrammarError, Language};

use crate::vocabulary::{UnknownSymbol, Vocabulary};

/// The grammar that `text` says, from its rule `start` on, or from the first.
///
/// # Errors
/// If it is no EBNF, or names rules or symbols that there are not.
pub fn grammar(
    text: &str,
    start: Option<&str>,
    vocabulary: &Vocabulary,
) -> Result<Grammar, EbnfError> {
    compile::grammar(&parse::rules(text)?, start, vocabulary)
}

/// The language that `text`, one expression without rules, says.
///
/// # Errors
/// If it is no expression, or names rules, or symbols that there are not.
pub fn language(text: &str, vocabulary: &Vocabulary) -> Result<Language, EbnfError> {
    compile::language(&parse::expression(text)?, vocabulary)
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct EbnfError {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character within it.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl Place {
    /// The first character.
    pub(crate) const START: Place = Place { line: 1, column: 1 };

    pub(crate) fn error(self, problem: Problem) -> EbnfError {
        EbnfError { place: self, problem }
    }
}

/// What can be wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Something else has to stand here.
    #[error("{found} where {expected} was expected")]
    Expected {
        /// What should.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// A quote or comment without an end.
    #[error("{0:?} is never closed")]
    Unclosed(String),
    /// Groups within groups within groups.
    #[error("more than {MAX_DEPTH} brackets within each other")]
    TooDeep,
    /// A rule that is nowhere defined.
    #[error("there is no rule {0:?}")]
    UndefinedRule(String),
    /// A rule that has been defined before.
    #[error("rule {0:?} has been defined before")]
    DefinedTwice(String),
    /// The name of a rule where there are no rules.
    #[error("{0:?} is no symbol in quotes, and a pattern has no rules")]
    RuleInPattern(String),
    /// A terminal that the network cannot write.
    #[error(transparent)]
    Symbol(#[from] UnknownSymbol),
    /// A grammar that cannot be used.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    /// A pattern with more elements, or an automaton with more states, than can be worked with.
    #[error("the pattern needs more than {0} {1}")]
    TooLarge(usize, &'static str),
}

/// The most brackets within each other.
pub const MAX_DEPTH: usize = 200;
