//! Parses grammars and patterns in EBNF, the notation of most language manuals.
//!
//! ```text
//! sum  = term { ("+" | "-") term } ;      (* the first rule is the start *)
//! term = digit+ | "(" sum ")" ;
//! digit = "0" | "1"                       # a rule also ends where the next begins
//! ```
//!
//! | written                    | means                                              |
//! |----------------------------|----------------------------------------------------|
//! | `=` `:=` `::=`             | defines the rule on the left                       |
//! | `"text"` `'text'`          | the symbols that spell this text, in sequence      |
//! | `/regex/`                  | text that matches, in grammars of networks that write text |
//! | `.`                        | any one symbol; over text, any one character |
//! | `a b` or `a, b`            | a followed by b                                    |
//! | <code>a &#124; b</code>    | either                                             |
//! | `[a]` `a?`                 | optional                                           |
//! | `{a}` `a*`                 | zero or more                                       |
//! | `a+`                       | one or more                                        |
//! | `(a)`                      | a group                                            |
//!
//! A [`grammar`] has rules; a [`language`] is a single expression without rules. Every error,
//! including one about an unknown symbol, has a line and column.

mod compile;
mod parse;
mod scan;
#[cfg(test)]
mod tests;

use cajole_core::constraints::{Grammar, GrammarError, Language};
use cajole_files::Place;

use crate::pattern::PatternError;
use crate::vocabulary::{UnknownSymbol, Vocabulary};

/// Parses a grammar that starts with the rule `start`, or else with the first.
///
/// # Errors
/// If the text is not EBNF, or names an unknown rule or symbol.
pub fn grammar(
    text: &str,
    start: Option<&str>,
    vocabulary: &Vocabulary,
) -> Result<Grammar, EbnfError> {
    compile::grammar(&parse::rules(text)?, start, vocabulary)
}

/// Parses a single expression without rules.
///
/// # Errors
/// If the text is not an expression, or names a rule or an unknown symbol.
pub fn language(text: &str, vocabulary: &Vocabulary) -> Result<Language, EbnfError> {
    compile::language(&parse::expression(text)?, vocabulary)
}

/// The texts in quotes of a grammar or an expression.
///
/// # Errors
/// If the text is neither.
pub(crate) fn quoted(text: &str, is_grammar: bool) -> Result<Vec<&str>, EbnfError> {
    let mut all = Vec::new();
    match is_grammar {
        true => parse::rules(text)?.iter().for_each(|rule| rule.body.quoted(&mut all)),
        false => parse::expression(text)?.quoted(&mut all),
    }
    Ok(all)
}

/// An error in a text, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct EbnfError {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// An unexpected token.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// An unclosed quote or comment.
    #[error("{0:?} is never closed")]
    Unclosed(String),
    /// Brackets are nested too deeply.
    #[error("brackets are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// An undefined rule.
    #[error("there is no rule {0:?}")]
    UndefinedRule(String),
    /// A rule that is defined twice.
    #[error("the rule {0:?} is defined twice")]
    DefinedTwice(String),
    /// A rule name in a pattern, which has no rules.
    #[error("{0:?} is not in quotes, and a pattern has no rules")]
    RuleInPattern(String),
    /// A regular expression where there is no text, or no grammar.
    #[error("/{0}/ must be in a grammar of a network that writes text; elsewhere, use \"pattern\"")]
    NoText(String),
    /// An invalid regular expression.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A terminal that is not in the vocabulary.
    #[error(transparent)]
    Symbol(#[from] UnknownSymbol),
    /// An unusable grammar.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    /// A pattern with too many elements, or an automaton with too many states.
    #[error("the pattern needs more than {0} {1}")]
    TooLarge(usize, &'static str),
}

impl Problem {
    /// Attaches a place.
    pub(crate) fn at(self, place: Place) -> EbnfError {
        EbnfError { place, problem: self }
    }
}

/// The maximum nesting depth of brackets.
pub const MAX_DEPTH: usize = 200;
