//! The rules on transductions: the paper's count, or everything that the transducer implies.

use serde::{Deserialize, Serialize};

use super::USUAL_RULES;

/// Which rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The paper's: three times as many `a` in the output as in the input.
    Count,
    /// Count, target grammar and length combined: everything that is known about an output without
    /// transducing the input.
    Full,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Count, Kind::Full];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Count => "count",
            Kind::Full => "full",
        }
    }

    /// A short description.
    pub fn describe(self) -> &'static str {
        match self {
            Kind::Count => "count constraint",
            Kind::Full => "full constraint (count, grammar, length)",
        }
    }

    /// The rules, as a constraint file.
    pub fn rules(self) -> &'static str {
        match self {
            Kind::Count => USUAL_RULES,
            Kind::Full => include_str!("full-rules.toml"),
        }
    }
}
