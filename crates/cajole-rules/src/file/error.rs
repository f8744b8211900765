//! What can be wrong with a constraint file.

use std::io;
use std::path::PathBuf;

use crate::checker::CheckerError;
use crate::ebnf::{EbnfError, Problem};
use crate::formula::FormulaError;
use crate::lexical::LexicalError;
use crate::pattern::PatternError;

/// Why a constraint file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleFileError {
    /// It cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// It is no TOML, or has keys that mean nothing.
    #[error("{name}: {source}")]
    Toml {
        /// The file.
        name: String,
        /// What is wrong, and where.
        source: Box<toml::de::Error>,
    },
    /// What a line brings cannot be rules.
    #[error("{name}: {message}")]
    Json {
        /// Where it is.
        name: String,
        /// What is wrong with it.
        message: String,
    },
    /// A rule says what cannot be.
    #[error("{name}:{line}: {source}")]
    Rule {
        /// The file.
        name: String,
        /// The line where the rule begins.
        line: usize,
        /// What is wrong with it.
        source: RuleError,
    },
}

impl RuleFileError {
    /// The symbol that a rule names and the network does not write, if that is what is wrong; or
    /// the text from there on, where nothing stands between symbols.
    pub fn unknown_symbol(&self) -> Option<String> {
        let RuleFileError::Rule { source, .. } = self else { return None };
        match source {
            RuleError::Formula(FormulaError::Unknown { source, .. })
            | RuleError::Lexical(LexicalError::Unknown { source, .. })
            | RuleError::Ebnf {
                source: EbnfError { problem: Problem::Symbol(source), .. }, ..
            } => Some(source.name.clone()),
            RuleError::UnknownRole { role, .. } => Some(format!("B-{role}")),
            _ => None,
        }
    }
}

/// Why a table is no rule.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// Nothing says what is demanded.
    #[error("no key says what is demanded; one of {known} does")]
    NoKind {
        /// The keys that would.
        known: String,
    },
    /// Several keys do.
    #[error(
        "{one:?} and {other:?} in one rule: write two rules, and \"all\" or \"any\" around them"
    )]
    SeveralKinds {
        /// The first key.
        one: &'static str,
        /// The second.
        other: &'static str,
    },
    /// A key that goes with another kind of rule.
    #[error("{key:?} goes with {kind:?}, which is not there")]
    StrayKey {
        /// The key.
        key: &'static str,
        /// The kind it goes with.
        kind: &'static str,
    },
    /// A list of rules without any.
    #[error("{key:?} has no rules in it")]
    NoRules {
        /// Which list.
        key: &'static str,
    },
    /// A weight that would hide a violation, or never let go of one.
    #[error("weight {weight} is not positive and finite")]
    Weight {
        /// The weight.
        weight: f32,
    },
    /// A rule about tags, for a network that writes others.
    #[error("{key:?} is about BIO tags, and the network writes {symbols}")]
    NoTags {
        /// The rule's key.
        key: &'static str,
        /// Some of its symbols.
        symbols: String,
    },
    /// A rule about commands, for a network that writes others.
    #[error("\"shift-reduce\" is about s, r and !LABEL, and the network writes {symbols}")]
    NoCommands {
        /// Some of its symbols.
        symbols: String,
    },
    /// A role without tags.
    #[error("there is no role {role:?}; there are {known}")]
    UnknownRole {
        /// The role.
        role: String,
        /// Those that there are.
        known: String,
    },
    /// Both ways of giving a grammar.
    #[error("\"grammar\" and \"grammar-file\" in one rule")]
    TwoGrammars,
    /// A file where none may be named.
    #[error("rules that come with a line cannot name the file {file:?}")]
    NoFolder {
        /// The file.
        file: String,
    },
    /// A program where none may be named.
    #[error("rules that come with a line cannot run {program:?}")]
    NoPrograms {
        /// The program.
        program: String,
    },
    /// The grammar's file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    GrammarFile {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The language of a rule has too many states to be followed.
    #[error("the expression needs more than {most} states")]
    TooManyStates {
        /// How many there may be.
        most: usize,
    },
    /// The formula is none.
    #[error("arithmetic: {0}")]
    Formula(#[from] FormulaError),
    /// The pattern is none.
    #[error("pattern: {0}")]
    Pattern(#[from] PatternError),
    /// The grammar or expression is none.
    #[error("{key}: {source}")]
    Ebnf {
        /// Where it stands: `grammar`, `symbols`, or a file.
        key: String,
        /// What is wrong.
        source: EbnfError,
    },
    /// The phrases are none.
    #[error("must-have, must-not-have: {0}")]
    Lexical(#[from] LexicalError),
    /// The checker cannot be one.
    #[error("checker: {0}")]
    Checker(#[from] CheckerError),
}
