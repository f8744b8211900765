//! Constraint files: rules in a few lines of TOML.
//!
//! A file is a rule, and a rule is a table with one key that determines its kind:
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
//! | `arithmetic`                       | has counts and lengths that satisfy a formula; `squared = true` squares the distance |
//! | `pattern`                          | matches a regular expression over its characters        |
//! | `symbols`                          | matches a regular expression over symbols, in EBNF      |
//! | `grammar`, `grammar-file`          | belongs to a context-free grammar in EBNF, from `start` |
//! | `must-have`, `must-not-have`       | contains all of some phrases, and none of others        |
//! | `shift-reduce = "full"`            | encodes one tree over the input; `"paper"` uses the paper's formula |
//! | `bio = true`                       | is BIO tags in which every span begins with `B-`        |
//! | `unique-roles = ["ARG0"]`          | has at most one span of each of these roles             |
//! | `continuations = true`             | has a `C-X` only after an `X`                           |
//! | `references = true`                | has an `R-X` only if there is an `X`                    |
//! | `spans-in-tree = "phrasal"`        | labels only constituents of the input's tree, except for `free-roles`; `"all"` counts single words too |
//! | `consistent = true`                | labels the same string in the same way; or a list of roles |
//! | `valid`                            | has only spans whose text matches a pattern, passes a checksum or a program |
//! | `copies`                           | has the numbers, names, placeholders or terms of the input |
//! | `json-schema`, `json-schema-file`  | is JSON that is valid by a schema                       |
//! | `sql`                              | is one SQL statement over given tables                  |
//! | `checker`                          | is accepted by a program                                |
//!
//! If a network writes text in pieces, rules apply to the text. With `words = true`, the rules
//! `symbols`, `grammar`, `must-have` and `must-not-have` apply to its words.
//!
//! Any rule may have a `name`, a `weight`, and `divide-by = "output"` or `"lengths"`, which divides
//! its `g` by the length of the output, or of input and output together, as the paper recommends.

mod compile;
mod error;
mod group;
mod position;
mod rule_text;
mod table;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cajole_core::constraints::{Automaton, Product, RoleSet, Spelling};
use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_files::Reads;
use cajole_treebank::roles::Reading;

use crate::checker::{CheckerConfig, try_program};
use crate::subject::Subject;
use crate::vocabulary::Vocabulary;

use compile::{BYTES_OF_TEXT, Compiler};
pub use error::{RuleError, RuleFileError};
pub use group::OneRule;
use group::{Group, spelled};
pub use rule_text::RuleText;

/// The rules of a file, over the outputs of a network.
pub struct Rules {
    /// Those over the network's symbols.
    own: Group,
    /// Those over the bytes of the text that it writes, if its symbols are pieces of text.
    text: Group,
    spelling: Option<Arc<Spelling>>,
    /// If the only rule is `spans-in-tree`: which nodes count, and which roles are exempt.
    spans: Option<(Reading, RoleSet)>,
    /// The files that the rules name.
    reads: Vec<PathBuf>,
    /// The programs that they start.
    programs: Vec<CheckerConfig>,
    bytes: usize,
}

impl Rules {
    /// The rules in a file.
    ///
    /// # Errors
    /// If the file cannot be read, or a rule is invalid.
    pub fn read(path: &Path, vocabulary: &Arc<Vocabulary>) -> Result<Rules, RuleFileError> {
        RuleText::read(path)?.compile(vocabulary)
    }

    /// The rules in a text; messages call it `name`. Files that they name are relative to `folder`;
    /// without a folder, rules may not name files.
    ///
    /// # Errors
    /// If a rule is invalid.
    pub fn parse(
        name: &str,
        text: &str,
        folder: Option<&Path>,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Rules, RuleFileError> {
        let folder = folder.map(Path::to_owned);
        RuleText { folder, ..RuleText::new(name, text) }.compile(vocabulary)
    }

    fn compile(text: &RuleText, vocabulary: &Arc<Vocabulary>) -> Result<Rules, RuleFileError> {
        let RuleText { name, text, folder, .. } = text;
        let table = toml::from_str(text).map_err(|source: toml::de::Error| {
            RuleFileError::Toml { name: name.clone(), source: Arc::new(source) }
        })?;
        let folder = folder.as_deref();
        let bytes = Cell::new(BYTES_OF_TEXT * text.len());
        let vocabulary_of_rules = vocabulary.of_rules();
        let compiler =
            Compiler { name, text, folder, vocabulary: vocabulary_of_rules, bytes: &bytes };
        let rules = compiler.rules(table)?;
        let rules = Rules { bytes: bytes.get(), ..rules };
        Ok(match vocabulary.spelling() {
            None => rules,
            Some(spelling) => {
                let (own, text) = (Group::default(), rules.own);
                Rules { own, text, spelling: Some(Arc::clone(spelling)), ..rules }
            }
        })
    }

    /// One rule that is written in code, over the network's own symbols.
    pub fn of(name: &str, rule: impl Constraint<Subject> + Send + 'static) -> Rules {
        let mut rules = Rules::none();
        rules.own.add(name.to_owned(), false, 1.0, rule);
        rules
    }

    fn none() -> Rules {
        let (own, text) = (Group::default(), Group::default());
        let (reads, programs) = (Vec::new(), Vec::new());
        Rules { own, text, spelling: None, spans: None, reads, programs, bytes: 0 }
    }

    /// These rules and those of `other`, all of which must hold.
    #[must_use]
    pub fn and(&self, other: &Rules) -> Rules {
        Rules {
            own: self.own.and(&other.own),
            text: self.text.and(&other.text),
            spelling: self.spelling.as_ref().or(other.spelling.as_ref()).map(Arc::clone),
            spans: None,
            reads: [&*self.reads, &*other.reads].concat(),
            programs: [&*self.programs, &*other.programs].concat(),
            bytes: self.bytes + other.bytes,
        }
    }

    fn spelling(&self) -> Option<&Spelling> {
        self.spelling.as_deref()
    }

    /// Each rule with its name and weight.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f32, OneRule<'_>)> {
        self.own.iter(None).chain(self.text.iter(self.spelling()))
    }

    /// The rules that no output satisfies, whatever the input, as messages name them. Also finds
    /// rules that exclude each other. Rules that depend on the input, and checkers, are not examined.
    pub fn unsatisfiable(&self) -> Vec<String> {
        let anything = Subject::new(Vec::new(), serde_json::Value::Null);
        let is_empty = |automaton: Option<Box<dyn Automaton + '_>>| {
            automaton.is_some_and(|automaton| automaton.is_empty())
        };
        let is_fixed = || self.own.fixed().chain(self.text.fixed());
        let fixed = self.iter().zip(is_fixed()).filter(|(_, is_fixed)| *is_fixed);
        let empty = fixed.filter(|((_, _, rule), _)| is_empty(rule.automaton(&anything)));
        let named: Vec<String> =
            empty.map(|((name, _, _), _)| format!("the rule {name:?}")).collect();
        let all_fixed = is_fixed().all(|is_fixed| is_fixed);
        match named.is_empty() && all_fixed && is_empty(self.automaton(&anything)) {
            true => vec!["all of the rules together".to_owned()],
            false => named,
        }
    }

    /// The files that the rules depend on besides their own file: grammars, and the programs and
    /// scripts of checkers. If their contents change, so do the rules. A program found via the
    /// search path is not included.
    pub fn reads(&self) -> &[PathBuf] {
        &self.reads
    }

    /// Notes these files as [read](Reads::during): checkers read their scripts, whoever opens them.
    pub(crate) fn note_reads(&self) {
        self.reads.iter().for_each(|path| Reads::note(path));
    }

    /// How much memory they take, in bytes, by an estimate that is rather too high. Every byte of
    /// their text, and of the files that they name, counts as 64, for names and terms. To this come
    /// the states and transitions of automata, the rules of grammars, 1 KiB for each verdict that a
    /// checker may keep, and for other patterns as much as they are allowed.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Tries the programs of checkers, so that one that cannot run is an error before any work
    /// starts. Each is started, asked nothing, and killed; one that is started for each output is
    /// only looked for.
    ///
    /// # Errors
    /// If a program cannot be started, or ends at once.
    pub fn try_programs(&self) -> Result<(), RuleFileError> {
        self.programs.iter().try_for_each(|program| Ok(try_program(program)?))
    }

    /// If the only rule is `spans-in-tree`: which nodes count, and which roles are exempt. There
    /// are special decoders for this case.
    pub fn only_spans(&self) -> Option<(Reading, &RoleSet)> {
        self.spans.as_ref().map(|(reading, free)| (*reading, free))
    }
}

impl Constraint<Subject> for Rules {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        let own = self.own.all.check(x, y);
        match self.text.is_empty() {
            true => own,
            false => own.and(self.text.whole(self.spelling()).check(x, y), y.len() + 1),
        }
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

    /// Rules over text are first combined over bytes, and only then seen through symbols.
    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        if self.text.is_empty() {
            return self.own.all.automaton(x);
        }
        let text = spelled(self.text.all.automaton(x)?, self.spelling());
        match self.own.is_empty() {
            true => Some(text),
            false => Some(Box::new(Product::new(self.own.all.automaton(x)?, text))),
        }
    }
}
