//! A rule as written in a file.

use cajole_treebank::roles::Reading;
use cajole_treebank::shift_reduce::Formula as TreeFormula;
use serde::Deserialize;
use toml::Spanned;

use crate::checker::CheckerConfig;

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
    pub(super) checker: Option<CheckerConfig>,

    // Rules over shift-reduce commands.
    pub(super) shift_reduce: Option<TreeFormula>,

    // Rules over tags.
    pub(super) bio: Option<True>,
    pub(super) unique_roles: Option<Vec<String>>,
    pub(super) continuations: Option<True>,
    pub(super) references: Option<True>,
    pub(super) spans_in_tree: Option<Reading>,
    pub(super) free_roles: Option<Vec<String>>,
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

/// The kinds of rules, one per key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    All,
    Any,
    Arithmetic,
    Pattern,
    Symbols,
    Grammar,
    Lexical,
    Checker,
    ShiftReduce,
    Bio,
    UniqueRoles,
    Continuations,
    References,
    SpansInTree,
}

impl Kind {
    /// Its key.
    pub(super) fn key(self) -> &'static str {
        match self {
            Kind::All => "all",
            Kind::Any => "any",
            Kind::Arithmetic => "arithmetic",
            Kind::Pattern => "pattern",
            Kind::Symbols => "symbols",
            Kind::Grammar => "grammar",
            Kind::Lexical => "must-have",
            Kind::Checker => "checker",
            Kind::ShiftReduce => "shift-reduce",
            Kind::Bio => "bio",
            Kind::UniqueRoles => "unique-roles",
            Kind::Continuations => "continuations",
            Kind::References => "references",
            Kind::SpansInTree => "spans-in-tree",
        }
    }
}

impl Table {
    /// Whether it is the same rule for all inputs.
    pub(super) fn is_fixed(&self) -> bool {
        self.kinds().iter().all(|kind| match kind {
            Kind::Pattern | Kind::Symbols | Kind::Grammar | Kind::Lexical => true,
            Kind::Arithmetic => {
                let text = self.arithmetic.iter().flat_map(|text| text.split_whitespace());
                !text.collect::<String>().contains("(in")
            }
            Kind::All | Kind::Any => {
                let mut inner = self.all.iter().chain(&self.any).flatten();
                inner.all(|table| table.get_ref().is_fixed())
            }
            _ => false,
        })
    }

    /// The kinds that its keys imply; exactly one in a valid rule.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let said = [
            (Kind::All, self.all.is_some()),
            (Kind::Any, self.any.is_some()),
            (Kind::Arithmetic, self.arithmetic.is_some()),
            (Kind::Pattern, self.pattern.is_some()),
            (Kind::Symbols, self.symbols.is_some()),
            (Kind::Grammar, self.grammar.is_some() || self.grammar_file.is_some()),
            (Kind::Lexical, self.must_have.is_some() || self.must_not_have.is_some()),
            (Kind::Checker, self.checker.is_some()),
            (Kind::ShiftReduce, self.shift_reduce.is_some()),
            (Kind::Bio, self.bio.is_some()),
            (Kind::UniqueRoles, self.unique_roles.is_some()),
            (Kind::Continuations, self.continuations.is_some()),
            (Kind::References, self.references.is_some()),
            (Kind::SpansInTree, self.spans_in_tree.is_some()),
        ];
        said.into_iter().filter(|(_, is_said)| *is_said).map(|(kind, _)| kind).collect()
    }

    /// The key that implies this kind; some kinds have two.
    pub(super) fn key(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Grammar if self.grammar.is_none() => "grammar-file",
            Kind::Lexical if self.must_have.is_none() => "must-not-have",
            kind => kind.key(),
        }
    }

    /// A key that belongs to another kind, if there is one.
    pub(super) fn stray_key(&self, kind: Kind) -> Option<(&'static str, Kind)> {
        let options = [
            ("squared", Kind::Arithmetic, self.squared.is_some()),
            ("start", Kind::Grammar, self.start.is_some()),
            ("free-roles", Kind::SpansInTree, self.free_roles.is_some()),
        ];
        let stray = options.into_iter().find(|(_, of, is_said)| *is_said && *of != kind);
        stray.map(|(key, of, _)| (key, of))
    }
}
