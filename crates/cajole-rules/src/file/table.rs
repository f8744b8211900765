//! A rule as written in a file, and the kinds of rules. A new kind is registered here: its keys as
//! fields of [`Table`], and how it is compiled as an entry of [`KINDS`].

use cajole_core::constraints::{Bio, RoleRule};
use cajole_treebank::roles::Reading;
use cajole_treebank::shift_reduce::{Blame, Formula as TreeFormula, ShiftReduce};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::compile::{self, Compiler, Undivided, roles};
use super::error::RuleError;
use crate::checker::{Checker, CheckerConfig};
use crate::consistent::{Consistent, ConsistentConfig};
use crate::copies::{Copies, CopiesConfig};
use crate::formula::Formula;
#[cfg(feature = "json-schema")]
use crate::json_schema::JsonSchema;
use crate::named::NamedRegular;
#[cfg(feature = "sql")]
use crate::sql::Sql;
use crate::sql::SqlConfig;
use crate::valid::{Valid, ValidConfig};

/// A table of a constraint file: one key determines the kind of rule, others are its options.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Table {
    // Options of any rule.
    pub(super) name: Option<String>,
    pub(super) weight: Option<f32>,
    pub(super) divide_by: Option<DivideBy>,

    // Lists of rules.
    pub(super) all: Option<Vec<Spanned<Table>>>,
    pub(super) any: Option<Vec<Spanned<Table>>>,

    // Rules over any symbols.
    pub(super) arithmetic: Option<String>,
    pub(super) squared: Option<bool>,
    pub(super) pattern: Option<String>,
    pub(super) symbols: Option<String>,
    pub(super) grammar: Option<String>,
    pub(super) grammar_file: Option<String>,
    pub(super) start: Option<String>,
    pub(super) must_have: Option<Vec<String>>,
    pub(super) must_not_have: Option<Vec<String>>,
    pub(super) words: Option<True>,
    pub(super) checker: Option<CheckerConfig>,

    // Rules over text.
    pub(super) copies: Option<CopiesConfig>,
    pub(super) json_schema: Option<Value>,
    pub(super) json_schema_file: Option<String>,
    pub(super) sql: Option<SqlConfig>,

    // Rules over shift-reduce commands.
    pub(super) shift_reduce: Option<TreeFormula>,

    // Rules over tags.
    pub(super) bio: Option<True>,
    pub(super) unique_roles: Option<Vec<String>>,
    pub(super) continuations: Option<True>,
    pub(super) references: Option<True>,
    pub(super) spans_in_tree: Option<Reading>,
    pub(super) free_roles: Option<Vec<String>>,
    pub(super) consistent: Option<ConsistentConfig>,
    pub(super) valid: Option<ValidConfig>,
}

/// What `g` is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DivideBy {
    /// The length of the output.
    Output,
    /// The lengths of input and output together.
    Lengths,
}

/// A flag that is either `true` or absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct True;

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<True, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(True),
            false => Err(serde::de::Error::custom("expected true; omit the key otherwise")),
        }
    }
}

/// A kind of rule.
pub(super) struct Kind {
    /// The keys that imply it, the usual one first.
    pub(super) keys: &'static [Key],
    /// The options that only it has.
    options: &'static [Key],
    /// Whether it is the same rule for all inputs.
    is_fixed: fn(&Table) -> bool,
    /// The files that it reads.
    pub(super) reads: fn(&Table) -> Reads<'_>,
    /// Compiles it; lists of rules are compiled with their weights instead.
    pub(super) compile: Option<Compile>,
}

/// The files that a rule reads.
#[derive(Default)]
pub(super) struct Reads<'t> {
    /// Beside the constraint file.
    pub(super) named: Vec<&'t str>,
    /// A program that it starts.
    pub(super) checker: Option<&'t CheckerConfig>,
}

/// A key of a table, and whether it is given.
type Key = (&'static str, fn(&Table) -> bool);

type Compile = fn(&Compiler<'_>, Table) -> Result<Undivided, RuleError>;

/// A key and the field that holds its value.
macro_rules! key {
    ($name:literal, $field:ident) => {
        ($name, |table| table.$field.is_some())
    };
}

/// All kinds.
pub(super) const KINDS: &[Kind] = &[
    Kind { keys: &[key!("all", all)], is_fixed: inner_is_fixed, ..Kind::PLAIN },
    Kind { keys: &[key!("any", any)], is_fixed: inner_is_fixed, ..Kind::PLAIN },
    Kind {
        keys: &[key!("arithmetic", arithmetic)],
        options: &[key!("squared", squared)],
        is_fixed: |table| {
            let text = table.arithmetic.iter().flat_map(|text| text.split_whitespace());
            !text.collect::<String>().contains("(in")
        },
        compile: Some(|c, table| {
            let (text, squared) = (table.arithmetic.unwrap_or_default(), table.squared);
            Ok(Box::new(Formula::parse(&text, c.vocabulary, squared.unwrap_or(false))?))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("pattern", pattern)],
        is_fixed: always,
        compile: Some(|c, table| {
            let text = table.pattern.unwrap_or_default();
            let rule = NamedRegular::matching(&text, c.vocabulary)?;
            c.count(rule.bytes());
            Ok(Box::new(rule))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("symbols", symbols)],
        options: &[key!("words", words)],
        is_fixed: always,
        compile: Some(compile::symbols),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("grammar", grammar), key!("grammar-file", grammar_file)],
        options: &[key!("start", start), key!("words", words)],
        is_fixed: always,
        reads: |table| reads_file(table.grammar_file.as_ref()),
        compile: Some(compile::grammar),
    },
    Kind {
        keys: &[key!("must-have", must_have), key!("must-not-have", must_not_have)],
        options: &[key!("words", words)],
        is_fixed: always,
        compile: Some(compile::phrases),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("checker", checker)],
        reads: |table| reads_command(table.checker.as_ref()),
        compile: Some(|c, table| {
            let config = c.program(table.checker.unwrap_or_default())?;
            Ok(Box::new(Checker::new(config, c.vocabulary)?))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("copies", copies)],
        reads: |table| reads_file(table.copies.as_ref().and_then(|c| c.glossary_file.as_ref())),
        compile: Some(|c, table| {
            let config = table.copies.unwrap_or_default();
            let glossary = c.file_of(config.glossary_file.as_ref())?;
            let rule = Copies::new(config, glossary.as_deref(), c.vocabulary);
            let rule = rule.map_err(|reason| RuleError::Invalid { key: "copies", reason })?;
            c.count(rule.bytes());
            Ok(Box::new(rule))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("json-schema", json_schema), key!("json-schema-file", json_schema_file)],
        is_fixed: always,
        reads: |table| reads_file(table.json_schema_file.as_ref()),
        #[cfg(not(feature = "json-schema"))]
        compile: Some(|_, _| Err(RuleError::NotBuilt { feature: "json-schema" })),
        #[cfg(feature = "json-schema")]
        compile: Some(|c, table| {
            let rule = JsonSchema::new(&c.schema(table)?, c.vocabulary);
            let rule = rule.map_err(|reason| RuleError::Invalid { key: "json-schema", reason })?;
            c.count(rule.bytes());
            Ok(Box::new(rule))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("sql", sql)],
        is_fixed: always,
        reads: |table| reads_file(table.sql.as_ref().and_then(|sql| sql.schema_file.as_ref())),
        #[cfg(not(feature = "sql"))]
        compile: Some(|_, _| Err(RuleError::NotBuilt { feature: "sql" })),
        #[cfg(feature = "sql")]
        compile: Some(|c, table| {
            let config = table.sql.unwrap_or_default();
            let schema = c.file_of(config.schema_file.as_ref())?;
            let rule = Sql::new(config, schema.as_deref(), c.vocabulary);
            Ok(Box::new(rule.map_err(|reason| RuleError::Invalid { key: "sql", reason })?))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("shift-reduce", shift_reduce)],
        compile: Some(|c, table| {
            let formula = table.shift_reduce.unwrap_or(TreeFormula::Full);
            let commands = ShiftReduce::new(c.commands()?);
            Ok(Box::new(ShiftReduce { formula, blame: Blame::Whole, ..commands }))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("bio", bio)],
        compile: Some(|c, _| Ok(Box::new(Bio { tags: c.tags("bio")?.clone() }))),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("unique-roles", unique_roles)],
        compile: Some(|c, table| {
            let tags = c.tags("unique-roles")?;
            let core = roles(tags, &table.unique_roles.unwrap_or_default())?;
            Ok(Box::new(RoleRule::unique_among(tags, &core)))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("continuations", continuations)],
        compile: Some(|c, _| Ok(Box::new(RoleRule::continuations(c.tags("continuations")?)))),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("references", references)],
        compile: Some(|c, _| Ok(Box::new(RoleRule::references(c.tags("references")?)))),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("spans-in-tree", spans_in_tree)],
        options: &[key!("free-roles", free_roles)],
        compile: Some(|c, table| Ok(Box::new(c.spans(&table)?))),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("consistent", consistent)],
        compile: Some(|c, table| {
            let tags = c.tags("consistent")?;
            let roles = match table.consistent {
                Some(ConsistentConfig::Roles(names)) => roles(tags, &names)?,
                Some(ConsistentConfig::All(false)) => {
                    let reason = "expected true or a list of roles".to_owned();
                    return Err(RuleError::Invalid { key: "consistent", reason });
                }
                Some(ConsistentConfig::All(true)) | None => tags.roles().collect(),
            };
            Ok(Box::new(Consistent { tags: tags.clone(), roles }))
        }),
        ..Kind::PLAIN
    },
    Kind {
        keys: &[key!("valid", valid)],
        reads: |table| reads_command(table.valid.as_ref().and_then(|v| v.checker.as_ref())),
        compile: Some(|c, table| {
            let tags = c.tags("valid")?;
            let mut config = table.valid.unwrap_or_default();
            config.checker = config.checker.map(|checker| c.program(checker)).transpose()?;
            let roles = roles(tags, &config.roles)?;
            let rule = Valid::new(config, tags, &roles);
            let rule = rule.map_err(|reason| RuleError::Invalid { key: "valid", reason })?;
            c.count(rule.bytes());
            Ok(Box::new(rule))
        }),
        ..Kind::PLAIN
    },
];

fn nothing(_: &Table) -> Reads<'_> {
    Reads::default()
}

fn reads_file(file: Option<&String>) -> Reads<'_> {
    Reads { named: file.map(String::as_str).into_iter().collect(), ..Reads::default() }
}

fn reads_command(checker: Option<&CheckerConfig>) -> Reads<'_> {
    Reads { checker, ..Reads::default() }
}

fn always(_: &Table) -> bool {
    true
}

fn never(_: &Table) -> bool {
    false
}

fn inner_is_fixed(table: &Table) -> bool {
    let mut inner = table.all.iter().chain(&table.any).flatten();
    inner.all(|table| table.get_ref().is_fixed())
}

impl Kind {
    /// Without options and files, and perhaps another rule for each input.
    const PLAIN: Kind =
        Kind { keys: &[], options: &[], is_fixed: never, reads: nothing, compile: None };

    /// Its usual key.
    pub(super) fn key(&self) -> &'static str {
        self.keys[0].0
    }
}

impl Table {
    /// Whether it is the same rule for all inputs.
    pub(super) fn is_fixed(&self) -> bool {
        self.kinds().iter().all(|kind| (kind.is_fixed)(self))
    }

    /// The kinds that its keys imply; exactly one in a valid rule.
    pub(super) fn kinds(&self) -> Vec<&'static Kind> {
        let is_given = |kind: &&Kind| kind.keys.iter().any(|(_, is_given)| is_given(self));
        KINDS.iter().filter(is_given).collect()
    }

    /// Whether it is a rule of the kind with this key.
    pub(super) fn is(&self, key: &str) -> bool {
        matches!(self.kinds().as_slice(), [kind] if kind.key() == key)
    }

    /// The key that implies this kind; some kinds have two.
    pub(super) fn key(&self, kind: &Kind) -> &'static str {
        let given = kind.keys.iter().find(|(_, is_given)| is_given(self));
        given.map_or(kind.key(), |(key, _)| key)
    }

    /// An option of another kind, if there is one, and that kind.
    pub(super) fn stray_key(&self, kind: &Kind) -> Option<(&'static str, &'static Kind)> {
        let is_own = |key: &str| kind.options.iter().any(|(own, _)| *own == key);
        let others = KINDS.iter().filter(|other| other.key() != kind.key());
        let mut options = others.flat_map(|of| of.options.iter().map(move |option| (option, of)));
        let stray = options.find(|((key, is_given), _)| is_given(self) && !is_own(key));
        stray.map(|((key, _), of)| (*key, of))
    }
}
