//! A rule as it is written down.

use cajole_tasks::parsing::Formula as TreeFormula;
use cajole_tasks::srl::Reading;
use serde::Deserialize;
use toml::Spanned;

use crate::checker::CheckerConfig;

/// A table of a constraint file: one key says of which kind the rule is, others go with it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Table {
    // What any rule may have.
    pub(super) name: Option<String>,
    pub(super) weight: Option<f32>,
    pub(super) divide_by: Option<DivideBy>,

    // Of rules.
    pub(super) all: Option<Vec<Spanned<Table>>>,
    pub(super) any: Option<Vec<Spanned<Table>>>,

    // Of any symbols.
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

    // Of commands.
    pub(super) shift_reduce: Option<TreeFormula>,

    // Of tags.
    pub(super) bio: Option<True>,
    pub(super) unique_roles: Option<Vec<String>>,
    pub(super) continuations: Option<True>,
    pub(super) references: Option<True>,
    pub(super) spans_in_tree: Option<Reading>,
    pub(super) free_roles: Option<Vec<String>>,
}

/// By what `g` is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DivideBy {
    /// The length of the output.
    Output,
    /// Those of input and output together.
    Lengths,
}

/// A rule that is there or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct True;

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<True, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(True),
            false => Err(serde::de::Error::custom("expected true: leave out what is not demanded")),
        }
    }
}

/// The kinds of rules, by their keys.
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
    /// The key by which it is known.
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
    /// The kinds that its keys speak of; of a proper rule there is one.
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

    /// The key by which it says that it is of this kind; of some there are two.
    pub(super) fn key(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Grammar if self.grammar.is_none() => "grammar-file",
            Kind::Lexical if self.must_have.is_none() => "must-not-have",
            kind => kind.key(),
        }
    }

    /// A key that goes with another kind than this, if there is one.
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
