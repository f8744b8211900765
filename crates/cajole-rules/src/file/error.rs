//! Errors in constraint files.

use std::sync::Arc;

use cajole_files::{Place, TextError};

use crate::checker::{CheckerError, Trouble};
use crate::ebnf::{EbnfError, Problem};
use crate::formula::FormulaError;
use crate::lexical::LexicalError;
use crate::pattern::PatternError;

/// Why a constraint file cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleFileError {
    /// It cannot be read.
    #[error(transparent)]
    Read(Arc<TextError>),
    /// It is not TOML, or has unknown keys.
    #[error("{name}: {source}")]
    Toml {
        /// The file.
        name: String,
        /// The TOML error, with its position.
        source: Arc<toml::de::Error>,
    },
    /// Rules sent with a line are not valid.
    #[error("{name}: {message}")]
    Json {
        /// Where they come from.
        name: String,
        /// What is wrong with it.
        message: String,
    },
    /// The program of a checker cannot run.
    #[error(transparent)]
    Program(#[from] Trouble),
    /// A rule is invalid.
    #[error("{name}:{line}: {source}")]
    Rule {
        /// The file.
        name: String,
        /// The line on which the rule begins.
        line: usize,
        /// Where the error is.
        place: Place,
        /// What is wrong with it.
        source: Arc<RuleError>,
    },
}

impl From<TextError> for RuleFileError {
    fn from(error: TextError) -> Self {
        RuleFileError::Read(Arc::new(error))
    }
}

impl RuleFileError {
    /// Where the error is in the file's `text`, if it has a place.
    pub fn position(&self, text: &str) -> Option<Place> {
        match self {
            RuleFileError::Rule { place, .. } => Some(*place),
            RuleFileError::Toml { source, .. } => {
                Some(Place::in_text(text, source.span().map_or(0, |span| span.start)))
            }
            RuleFileError::Read(_) | RuleFileError::Json { .. } | RuleFileError::Program(_) => None,
        }
    }

    /// What is wrong, without where.
    pub fn problem(&self) -> String {
        match self {
            RuleFileError::Rule { source, .. } => source.to_string(),
            RuleFileError::Toml { source, .. } => source.message().to_owned(),
            RuleFileError::Json { message, .. } => message.clone(),
            RuleFileError::Read(source) => source.to_string(),
            RuleFileError::Program(trouble) => trouble.to_string(),
        }
    }

    /// The unknown symbol that a rule names, if that is the error. Without a separator between
    /// symbols, it is the rest of the text from that point.
    pub fn unknown_symbol(&self) -> Option<String> {
        let RuleFileError::Rule { source, .. } = self else { return None };
        match &**source {
            RuleError::Formula(FormulaError::Unknown { source, .. })
            | RuleError::Lexical(LexicalError::Unknown { source, .. })
            | RuleError::Ebnf {
                source: EbnfError { problem: Problem::Symbol(source), .. }, ..
            } => Some(source.name.clone()),
            RuleError::UnknownRole { role, .. } => Some(format!("B-{role}")),
            _ => None,
        }
    }

    /// Whether another vocabulary may make the error go away; if not, no data can.
    pub fn depends_on_vocabulary(&self) -> bool {
        let RuleFileError::Rule { source, .. } = self else { return false };
        self.unknown_symbol().is_some()
            || matches!(
                **source,
                RuleError::NoTags { .. }
                    | RuleError::NoText { .. }
                    | RuleError::NoCommands { .. }
                    | RuleError::TooManyStates { .. }
                    | RuleError::Formula(_)
                    | RuleError::Lexical(_)
            )
    }
}

/// Why a table is not a valid rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// No key determines the kind of the rule.
    #[error("no key says what kind of rule this is; give one of {known}")]
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
    /// A key that belongs to another kind of rule.
    #[error("{key:?} needs {kind:?} in the same rule")]
    StrayKey {
        /// The key.
        key: &'static str,
        /// The kind it belongs to.
        kind: &'static str,
    },
    /// An empty list of rules.
    #[error("{key:?} has no rules in it")]
    NoRules {
        /// The key of the list.
        key: &'static str,
    },
    /// A weight that would hide a violation or make it infinite.
    #[error("weight {weight} is not positive and finite")]
    Weight {
        /// The weight.
        weight: f32,
    },
    /// A rule about tags, for a network with other symbols.
    #[error("{key:?} needs BIO tags, but the network writes {symbols}")]
    NoTags {
        /// The rule's key.
        key: &'static str,
        /// Some of its symbols.
        symbols: String,
    },
    /// A rule about text, for a network with other symbols.
    #[error("{key:?} needs a network that writes text in pieces, but it writes {symbols}")]
    NoText {
        /// The rule's key.
        key: &'static str,
        /// Some of its symbols.
        symbols: String,
    },
    /// A rule about commands, for a network with other symbols.
    #[error("\"shift-reduce\" needs s, r and !LABEL, but the network writes {symbols}")]
    NoCommands {
        /// Some of its symbols.
        symbols: String,
    },
    /// An unknown role.
    #[error("there is no role {role:?}; there are {known}")]
    UnknownRole {
        /// The role.
        role: String,
        /// The known roles.
        known: String,
    },
    /// A grammar given in both ways.
    #[error("\"grammar\" and \"grammar-file\" in one rule")]
    TwoGrammars,
    /// A file name in rules sent with a line, which may not read files.
    #[error("rules sent with a line cannot name the file {file:?}")]
    NoFolder {
        /// The file.
        file: String,
    },
    /// A program in rules sent with a line, which may not run programs.
    #[error("rules sent with a line cannot run {program:?}")]
    NoPrograms {
        /// The program.
        program: String,
    },
    /// A file that a rule names cannot be read.
    #[error(transparent)]
    File(#[from] TextError),
    /// A kind of rule that this build was made without. It has the name of its feature.
    #[error("this build has no {feature} rules: cargo build --release --features {feature}")]
    NotBuilt {
        /// The feature.
        feature: &'static str,
    },
    /// The settings of a rule are invalid.
    #[error("{key}: {reason}")]
    Invalid {
        /// The rule's key.
        key: &'static str,
        /// What is wrong with them.
        reason: String,
    },
    /// The automaton of a rule is too large.
    #[error("the expression needs more than {most} states")]
    TooManyStates {
        /// The limit.
        most: usize,
    },
    /// An invalid formula.
    #[error("arithmetic: {0}")]
    Formula(#[from] FormulaError),
    /// An invalid pattern.
    #[error("pattern: {0}")]
    Pattern(#[from] PatternError),
    /// An invalid grammar or expression.
    #[error("{key}: {source}")]
    Ebnf {
        /// Where it is: `grammar`, `symbols`, or a file.
        key: String,
        /// What is wrong.
        source: EbnfError,
    },
    /// An invalid phrase.
    #[error("must-have, must-not-have: {0}")]
    Lexical(#[from] LexicalError),
    /// An invalid checker.
    #[error("checker: {0}")]
    Checker(#[from] CheckerError),
}
