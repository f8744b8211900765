//! Compiles tables of a constraint file to constraints.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cajole_core::constraints::{
    All, Any, Automaton, PREDICATE_ROLES, RoleSet, SpansInTree, TagSet, Weighted,
};
use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_files::limits::MOST_SETTINGS_BYTES;
use cajole_files::{Place, text_of};
use cajole_treebank::roles::Reading;
use cajole_treebank::shift_reduce::Commands;
#[cfg(feature = "json-schema")]
use serde_json::Value;
use toml::Spanned;

use super::Rules;
use super::error::{RuleError, RuleFileError};
use super::position;
use super::table::{DivideBy, KINDS, Kind, Reads, Table};
use crate::checker::CheckerConfig;
use crate::ebnf;
#[cfg(feature = "json-schema")]
use crate::json_schema::JsonSchema;
use crate::lexical::Lexical;
use crate::named::{NamedGrammar, NamedRegular};
use crate::subject::Subject;
use crate::vocabulary::Vocabulary;
use crate::words::{OverWords, Words};

/// A rule before `divide-by` applies.
pub(super) type Undivided = Box<dyn Constraint<Subject> + Send>;

/// The context in which rules are compiled.
#[derive(Clone, Copy)]
pub(super) struct Compiler<'c> {
    pub(super) name: &'c str,
    pub(super) text: &'c str,
    pub(super) folder: Option<&'c Path>,
    pub(super) vocabulary: &'c Arc<Vocabulary>,
    /// The bytes that the rules compiled so far take.
    pub(super) bytes: &'c Cell<usize>,
}

/// The memory that a byte of rules becomes, at most, besides the tables that are counted on their
/// own: names, terms, lists.
pub(super) const BYTES_OF_TEXT: usize = 64;

/// The memory that a verdict of a checker takes, roughly, with the request that it is for.
const BYTES_OF_VERDICT: usize = 1024;

impl Compiler<'_> {
    /// Counts the memory of a rule, or of a part of it.
    pub(super) fn count(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
    }

    /// The rules of a whole file: the list in its `all`, or the file itself as a single rule.
    pub(super) fn rules(&self, table: Table) -> Result<Rules, RuleFileError> {
        let is_list = table.is("all") && table.divide_by.is_none();
        self.check_keys(&table, 0)?;
        let tables = match table.all {
            Some(tables) if is_list && table.weight.is_none() => tables,
            _ => vec![Spanned::new(0..0, table)],
        };
        if tables.is_empty() {
            return Err(self.at(0, RuleError::NoRules { key: "all" }));
        }
        let spans = match tables.as_slice() {
            [only] => {
                let spans = self.only_spans(only.get_ref());
                spans.map_err(|source| self.at(only.span().start, source))?
            }
            _ => None,
        };
        let (reads, programs) = (self.reads(&tables), programs(&tables));
        let mut rules = Rules { spans, reads, programs, ..Rules::none() };
        for table in tables {
            let at = table.span().start;
            let table = table.into_inner();
            let (name, weight) = (table.name.clone(), self.weight(&table, at)?);
            let is_fixed = table.is_fixed();
            let (key, rule) = self.rule(table, at)?;
            rules.own.add(name.unwrap_or_else(|| key.to_owned()), is_fixed, weight, rule);
        }
        Ok(rules)
    }

    /// The files that rules name, without duplicates.
    fn reads(&self, tables: &[Spanned<Table>]) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for table in tables.iter().map(Spanned::get_ref) {
            for kind in table.kinds() {
                let Reads { named, checker } = (kind.reads)(table);
                let command = checker.iter().flat_map(|checker| &checker.command);
                files.extend(self.folder.into_iter().flat_map(|f| named.iter().map(|n| f.join(n))));
                // Only the program knows which of its arguments are files; any argument that names
                // an existing file counts.
                files.extend(command.map(PathBuf::from).filter(|path| path.is_file()));
            }
            let inner = table.all.iter().chain(&table.any);
            files.extend(inner.flat_map(|tables| self.reads(tables)));
        }
        files.sort();
        files.dedup();
        files
    }

    /// Compiles one rule, without its name and weight, and returns the key that determines its
    /// kind.
    fn rule(&self, table: Table, at: usize) -> Result<(&'static str, Rule), RuleFileError> {
        let kind = self.check_keys(&table, at)?;
        let (key, by) = (table.key(kind), table.divide_by);
        let rule: Undivided = match kind.compile {
            Some(compile) => compile(self, table).map_err(|source| self.at(at, source))?,
            None if kind.key() == "any" => {
                let any: Any<Subject> = self.weighted("any", table.any, at)?;
                Box::new(any)
            }
            None => {
                let all: All<Subject> = self.weighted("all", table.all, at)?;
                Box::new(all)
            }
        };
        Ok((key, Rule { name: None, rule, by, vocabulary: Arc::clone(self.vocabulary) }))
    }

    /// The kind of a table; every key must belong to it.
    fn check_keys(&self, table: &Table, at: usize) -> Result<&'static Kind, RuleFileError> {
        let kind = match table.kinds().as_slice() {
            [kind] => *kind,
            [] => return Err(self.at(at, no_kind())),
            [one, other, ..] => {
                let (one, other) = (table.key(one), table.key(other));
                return Err(self.at(at, RuleError::SeveralKinds { one, other }));
            }
        };
        match table.stray_key(kind) {
            Some((key, of)) => Err(self.at(at, RuleError::StrayKey { key, kind: of.key() })),
            None => Ok(kind),
        }
    }

    fn weighted<How>(
        &self,
        key: &'static str,
        tables: Option<Vec<Spanned<Table>>>,
        at: usize,
    ) -> Result<Weighted<'static, Subject, How>, RuleFileError> {
        let tables = tables.unwrap_or_default();
        if tables.is_empty() {
            return Err(self.at(at, RuleError::NoRules { key }));
        }
        let mut rules = Weighted::new();
        for table in tables {
            let at = table.span().start;
            let (name, weight) = (table.get_ref().name.clone(), self.weight(table.get_ref(), at)?);
            let (_, rule) = self.rule(table.into_inner(), at)?;
            rules = rules.with(weight, Rule { name, ..rule });
        }
        Ok(rules)
    }

    /// The commands that the network writes.
    pub(super) fn commands(&self) -> Result<&Commands, RuleError> {
        let commands = self.vocabulary.commands();
        commands.ok_or_else(|| RuleError::NoCommands { symbols: self.some() })
    }

    /// The words that a rule over words names.
    fn words<'t>(&self, named: impl IntoIterator<Item = &'t str>) -> Result<Words, RuleError> {
        match self.vocabulary.is_text() {
            true => Ok(Words::of(named)),
            false => Err(RuleError::NoText { key: "words", symbols: self.some() }),
        }
    }

    /// The path and the text of a file that a rule names. Rules sent with a line may not name files.
    pub(super) fn file(&self, file: &str) -> Result<(String, String), RuleError> {
        let folder = self.folder.ok_or_else(|| RuleError::NoFolder { file: file.to_owned() })?;
        let path = folder.join(file);
        let text = text_of(&path, MOST_SETTINGS_BYTES)?;
        self.count(BYTES_OF_TEXT * text.len());
        Ok((path.display().to_string(), text))
    }

    /// The text of a file, if a rule names one.
    pub(super) fn file_of(&self, file: Option<&String>) -> Result<Option<String>, RuleError> {
        file.map(|file| Ok(self.file(file)?.1)).transpose()
    }

    /// The program of a checker. Rules sent with a line may not start programs.
    pub(super) fn program(&self, config: CheckerConfig) -> Result<CheckerConfig, RuleError> {
        if self.folder.is_none() {
            let program = config.command.first().cloned().unwrap_or_default();
            return Err(RuleError::NoPrograms { program });
        }
        self.count(BYTES_OF_VERDICT.saturating_mul(config.cache));
        Ok(config)
    }

    /// The JSON Schema of a rule, or of the file that it names.
    #[cfg(feature = "json-schema")]
    pub(super) fn schema(&self, table: Table) -> Result<Value, RuleError> {
        let invalid = |key, reason| RuleError::Invalid { key, reason };
        let parsed = |key, name: &str, text: &str| {
            serde_json::from_str(text).map_err(|error| invalid(key, format!("{name}{error}")))
        };
        let schema = match (table.json_schema, table.json_schema_file) {
            (Some(_), Some(_)) => {
                let reason = "there is a \"json-schema\" as well".to_owned();
                return Err(invalid("json-schema-file", reason));
            }
            // TOML has no null, so a schema may also be JSON in quotes.
            (Some(Value::String(text)), None) => parsed("json-schema", "", &text)?,
            (Some(schema), None) => schema,
            (None, file) => {
                let (path, text) = self.file(&file.unwrap_or_default())?;
                parsed("json-schema-file", &format!("{path}: "), &text)?
            }
        };
        match JsonSchema::reference(&schema) {
            Some(key) if self.folder.is_none() => {
                let reason = format!("a schema sent with a line cannot have {key:?}");
                Err(invalid("json-schema", reason))
            }
            _ => Ok(schema),
        }
    }

    pub(super) fn spans(&self, table: &Table) -> Result<NodeSpans, RuleError> {
        let tags = self.tags("spans-in-tree")?;
        let free = match &table.free_roles {
            Some(names) => roles(tags, names)?,
            None => RoleSet::named(tags, PREDICATE_ROLES),
        };
        let reading = table.spans_in_tree.unwrap_or_default();
        Ok(NodeSpans { reading, spans: SpansInTree { tags: tags.clone(), free } })
    }

    fn only_spans(&self, table: &Table) -> Result<Option<(Reading, RoleSet)>, RuleError> {
        if !table.is("spans-in-tree") {
            return Ok(None);
        }
        let NodeSpans { reading, spans } = self.spans(table)?;
        Ok(Some((reading, spans.free)))
    }

    pub(super) fn tags(&self, key: &'static str) -> Result<&TagSet, RuleError> {
        self.vocabulary.tags().ok_or_else(|| RuleError::NoTags { key, symbols: self.some() })
    }

    fn weight(&self, table: &Table, at: usize) -> Result<f32, RuleFileError> {
        match table.weight.unwrap_or(1.0) {
            weight if 0.0 < weight && weight.is_finite() => Ok(weight),
            weight => Err(self.at(at, RuleError::Weight { weight })),
        }
    }

    /// A few of the network's symbols, for messages.
    fn some(&self) -> String {
        let names = self.vocabulary.names();
        let some = names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(" ");
        if 5 < names.len() { some + " …" } else { some }
    }

    fn at(&self, at: usize, source: RuleError) -> RuleFileError {
        let line = Place::in_text(self.text, at).line;
        let place = Place::in_text(self.text, position::locate(self.text, at, &source));
        RuleFileError::Rule { name: self.name.to_owned(), line, place, source: Arc::new(source) }
    }
}

/// Compiles `grammar` and `grammar-file`.
pub(super) fn grammar(c: &Compiler<'_>, table: Table) -> Result<Undivided, RuleError> {
    let (key, text) = match (table.grammar, table.grammar_file) {
        (Some(_), Some(_)) => return Err(RuleError::TwoGrammars),
        (Some(text), None) => ("grammar".to_owned(), text),
        (None, file) => c.file(&file.unwrap_or_default())?,
    };
    let invalid = |source| RuleError::Ebnf { key: key.clone(), source };
    let start = table.start.as_deref();
    if table.words.is_none() {
        let rule = NamedGrammar::read(&text, start, c.vocabulary).map_err(invalid)?;
        c.count(rule.bytes());
        return Ok(Box::new(rule));
    }
    let words = c.words(ebnf::quoted(&text, true).map_err(invalid)?)?;
    let rule = NamedGrammar::read(&text, start, words.vocabulary()).map_err(invalid)?;
    c.count(words.bytes() + rule.bytes());
    Ok(Box::new(OverWords::new(words, rule)))
}

/// Compiles `symbols`.
pub(super) fn symbols(c: &Compiler<'_>, table: Table) -> Result<Undivided, RuleError> {
    let text = table.symbols.unwrap_or_default();
    let invalid = |source| RuleError::Ebnf { key: "symbols".to_owned(), source };
    if table.words.is_none() {
        let rule = NamedRegular::read(&text, c.vocabulary).map_err(invalid)?;
        c.count(rule.bytes());
        return Ok(Box::new(rule));
    }
    let words = c.words(ebnf::quoted(&text, false).map_err(invalid)?)?;
    let rule = NamedRegular::read(&text, words.vocabulary()).map_err(invalid)?;
    c.count(words.bytes() + rule.bytes());
    Ok(Box::new(OverWords::new(words, rule)))
}

/// Compiles `must-have` and `must-not-have`.
pub(super) fn phrases(c: &Compiler<'_>, table: Table) -> Result<Undivided, RuleError> {
    let must = table.must_have.unwrap_or_default();
    let must_not = table.must_not_have.unwrap_or_default();
    if table.words.is_none() {
        let rule = Lexical::new(&must, &must_not, c.vocabulary)?;
        c.count(rule.bytes());
        return Ok(Box::new(rule));
    }
    let words = c.words(must.iter().chain(&must_not).map(String::as_str))?;
    let rule = Lexical::new(&must, &must_not, words.vocabulary())?;
    c.count(words.bytes() + rule.bytes());
    Ok(Box::new(OverWords::new(words, rule)))
}

/// The programs that rules start, without duplicates.
fn programs(tables: &[Spanned<Table>]) -> Vec<CheckerConfig> {
    let mut programs: Vec<CheckerConfig> = Vec::new();
    for table in tables.iter().map(Spanned::get_ref) {
        programs
            .extend(table.kinds().iter().filter_map(|kind| (kind.reads)(table).checker).cloned());
        programs
            .extend(table.all.iter().chain(&table.any).flat_map(|tables| self::programs(tables)));
    }
    programs.dedup();
    programs
}

fn no_kind() -> RuleError {
    let keys = KINDS.iter().flat_map(|kind| kind.keys).map(|(key, _)| *key);
    RuleError::NoKind { known: keys.collect::<Vec<_>>().join(", ") }
}

/// Looks up roles by name; each must exist.
pub(super) fn roles(tags: &TagSet, names: &[String]) -> Result<RoleSet, RuleError> {
    let role = |name: &String| {
        tags.role(name).ok_or_else(|| RuleError::UnknownRole {
            role: name.clone(),
            known: tags.roles().map(|role| tags.role_name(role)).collect::<Vec<_>>().join(", "),
        })
    };
    names.iter().map(role).collect()
}

/// Spans must be constituents of the subject's tree.
pub(super) struct NodeSpans {
    reading: Reading,
    spans: SpansInTree,
}

impl Constraint<Subject> for NodeSpans {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        x.nodes(self.reading).map_or(Violation::NONE, |nodes| self.spans.check(nodes, y))
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        x.nodes(self.reading).map_or_else(Vec::new, |nodes| self.spans.explain(nodes, y))
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        self.spans.automaton(&x.nodes(self.reading).cloned())
    }
}

/// A constraint whose cost may be divided by lengths. Inside a list, its name prefixes messages.
struct Rule {
    name: Option<String>,
    rule: Box<dyn Constraint<Subject> + Send>,
    by: Option<DivideBy>,
    vocabulary: Arc<Vocabulary>,
}

impl Rule {
    fn factor(&self, x: &Subject, y: &[Symbol]) -> f32 {
        let length = match self.by {
            None => 1,
            Some(DivideBy::Output) => self.vocabulary.length(y),
            Some(DivideBy::Lengths) if self.vocabulary.is_text() => {
                x.text().chars().count() + self.vocabulary.length(y)
            }
            Some(DivideBy::Lengths) => x.symbols.len() + y.len(),
        };
        1.0 / length.max(1) as f32
    }
}

impl Constraint<Subject> for Rule {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        self.rule.check(x, y).scaled(self.factor(x, y))
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let factor = self.factor(x, y);
        let named = |message: String| match &self.name {
            Some(name) => format!("{name}: {message}"),
            None => message,
        };
        let fault = |fault: Fault| Fault { message: named(fault.message), ..fault };
        let faults = self.rule.explain(x, y).into_iter();
        faults.map(|f| fault(f.scaled(factor))).collect()
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        self.rule.automaton(x)
    }
}
