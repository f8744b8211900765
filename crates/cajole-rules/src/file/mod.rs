//! Constraint files: rules as a few lines of TOML.
//!
//! A file is a rule, and a rule is a table with one key that says of which kind it is:
//!
//! ```toml
//! [[all]]
//! name = "three a for each a"
//! arithmetic = 'count(out, "a") = 3 * count(in, "a")'
//!
//! [[all]]
//! name = "well formed"
//! pattern = "(aaa|zb)*"
//! weight = 0.5
//! ```
//!
//! | key                                | the output …                                            |
//! |------------------------------------|---------------------------------------------------------|
//! | `all`, `any`                       | satisfies all, or one, of a list of rules               |
//! | `arithmetic`                       | has counts and lengths for which a formula holds; the distance is squared with `squared = true` |
//! | `pattern`                          | matches a regular expression over its characters        |
//! | `symbols`                          | is of a regular expression over symbols, in EBNF        |
//! | `grammar`, `grammar-file`          | is of a context-free grammar in EBNF, from `start`      |
//! | `must-have`, `must-not-have`       | has all of some phrases, and none of others             |
//! | `shift-reduce = "full"`            | is the commands of one tree over the input; or by the `"paper"`'s formula |
//! | `bio = true`                       | is tags in which every span begins with `B-`            |
//! | `unique-roles = ["ARG0"]`          | has no two spans of one of these roles                  |
//! | `continuations = true`             | has a `C-X` only after an `X`                           |
//! | `references = true`                | has an `R-X` only where there is an `X`                 |
//! | `spans-in-tree = "phrasal"`        | labels nodes of the input's tree, but for `free-roles`; `"all"` if words are nodes |
//! | `checker`                          | is what a program approves of                           |
//!
//! Any rule may have a `name`, a `weight`, and `divide-by = "output"` or `"lengths"`, which makes
//! its `g` smaller for long outputs, or for long inputs and outputs, as the paper recommends.

mod compile;
mod error;
mod table;

use std::fs;
use std::path::Path;

use cajole_core::constraints::{All, Automaton, RoleSet};
use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_tasks::srl::Reading;

use crate::subject::Subject;
use crate::vocabulary::Vocabulary;

pub use error::{RuleError, RuleFileError};

/// The rules of a file, about the outputs of a network.
pub struct Rules<'v> {
    /// What is to hold, all at once.
    all: All<'v, Subject>,
    /// What they are called, in the same order.
    names: Vec<String>,
    /// If they only demand that spans be nodes of a tree: which count, and which roles are free.
    spans: Option<(Reading, RoleSet)>,
}

impl<'v> Rules<'v> {
    /// The rules in a file.
    ///
    /// # Errors
    /// If it cannot be read, or says what cannot be.
    pub fn read(path: &Path, vocabulary: &'v Vocabulary) -> Result<Rules<'v>, RuleFileError> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|source| RuleFileError::Io { path: path.to_owned(), source })?;
        Rules::parse(&path.display().to_string(), &text, path.parent(), vocabulary)
    }

    /// The rules in a text, which messages call `name`. Files that they name lie in `folder`; without
    /// one they may not name any.
    ///
    /// # Errors
    /// If it says what cannot be.
    pub fn parse(
        name: &str,
        text: &str,
        folder: Option<&Path>,
        vocabulary: &'v Vocabulary,
    ) -> Result<Rules<'v>, RuleFileError> {
        let table = toml::from_str(text).map_err(|source: toml::de::Error| {
            RuleFileError::Toml { name: name.to_owned(), source: Box::new(source) }
        })?;
        compile::Compiler { name, text, folder, vocabulary }.rules(table)
    }

    /// The rules of a JSON object, as a line may bring its own.
    ///
    /// # Errors
    /// If it says what cannot be.
    pub fn of_json(
        value: &serde_json::Value,
        vocabulary: &'v Vocabulary,
    ) -> Result<Rules<'v>, RuleFileError> {
        const NAME: &str = "the line's constraint";
        let text = match value.as_str() {
            Some(text) => text.to_owned(),
            None => toml::to_string(value).map_err(|source| RuleFileError::Json {
                name: NAME.to_owned(),
                message: source.to_string(),
            })?,
        };
        Rules::parse(NAME, &text, None, vocabulary)
    }

    /// Each rule with its name and weight.
    pub fn iter(
        &self,
    ) -> impl Iterator<Item = (&str, f32, &(dyn Constraint<Subject> + Send + 'v))> {
        let names = self.names.iter().map(String::as_str);
        names.zip(self.all.iter()).map(|(name, (weight, rule))| (name, weight, rule))
    }

    /// If all that is demanded is that spans be nodes of the input's tree: which nodes count, and
    /// which roles are free. There are decoders made for that.
    pub fn only_spans(&self) -> Option<(Reading, &RoleSet)> {
        self.spans.as_ref().map(|(reading, free)| (*reading, free))
    }
}

impl Constraint<Subject> for Rules<'_> {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        self.all.check(x, y)
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let faults = self.iter().flat_map(|(name, weight, rule)| {
            rule.explain(x, y).into_iter().map(move |fault| Fault {
                message: format!("{name}: {}", fault.message),
                ..fault.scaled(weight)
            })
        });
        faults.collect()
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        self.all.automaton(x)
    }
}
