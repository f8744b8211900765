//! How A* searches: its penalties, its bound and its agenda.
//!
//! He et al. (2017) charge for repeated core roles, for continuations and references of nothing,
//! and for arguments that are not constituents. The paper's A* collapses under noisy constraints;
//! [`Collapse`] lists searches that show why ours does not: its penalty is tuned and finite, its
//! bound is tight, and its agenda is large enough to finish.

use cajole_core::decoders::tags::{Heuristic, Penalties};
use cajole_nn::settings::{non_empty, positive};
use cajole_report::{Cell, Figure, Row, Table};
use serde::{Deserialize, Serialize};

/// The settings of one A* search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Searching {
    /// The cost of faults.
    pub penalties: Penalties,
    /// The bound on the rest of an output.
    pub heuristic: Heuristic,
    /// The number of prefixes after which it gives up.
    pub agenda_limit: usize,
}

impl Searching {
    /// Charges only for arguments that are not constituents, with the tight bound.
    pub fn by_syntax(penalty: f32, agenda_limit: usize) -> Self {
        let penalties = Penalties { syntax: penalty, ..Penalties::NONE };
        Searching { penalties, heuristic: Heuristic::Viterbi, agenda_limit }
    }
}

/// Tuned penalties; `None` forbids.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Charges {
    pub(super) unique: Option<f32>,
    pub(super) continuation: Option<f32>,
    pub(super) reference: Option<f32>,
    pub(super) syntax: Option<f32>,
}

impl Charges {
    /// The faults of roles, in the order in which their charges are tuned.
    pub(super) const ROLES: [&'static str; 3] = ["unique", "continuation", "reference"];

    /// Charges only for arguments that are not constituents.
    pub(super) fn by_syntax(penalty: f32) -> Self {
        let (unique, continuation, reference) = (Some(0.0), Some(0.0), Some(0.0));
        Charges { unique, continuation, reference, syntax: finite(penalty) }
    }

    pub(super) fn penalties(&self) -> Penalties {
        let [unique, continuation, reference, syntax] =
            [self.unique, self.continuation, self.reference, self.syntax]
                .map(|charge| charge.unwrap_or(f32::INFINITY));
        Penalties { unique, continuation, reference, syntax }
    }

    /// A* with these charges and the tight bound.
    pub(super) fn searching(&self, agenda_limit: usize) -> Searching {
        Searching { penalties: self.penalties(), heuristic: Heuristic::Viterbi, agenda_limit }
    }

    /// These charges with another one for the faults of roles that [`Charges::ROLES`] names.
    pub(super) fn with_role(mut self, fault: &str, penalty: f32) -> Self {
        let charge = match fault {
            "unique" => &mut self.unique,
            "continuation" => &mut self.continuation,
            _ => &mut self.reference,
        };
        *charge = finite(penalty);
        self
    }

    /// `∞ U1 C0 R0`.
    pub(super) fn text(&self) -> String {
        let text = |charge: Option<f32>| charge.map_or("∞".to_owned(), |c| c.to_string());
        let Charges { unique, continuation, reference, syntax } = *self;
        let [u, c, r, syntax] = [unique, continuation, reference, syntax].map(text);
        format!("{syntax} U{u} C{c} R{r}")
    }
}

/// A penalty as it is stored: `None` forbids, because JSON has no infinity.
pub(super) fn finite(penalty: f32) -> Option<f32> {
    Some(penalty).filter(|penalty| penalty.is_finite())
}

/// A study of when A* collapses, on dev failures under every kind of constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Collapse {
    /// The networks whose failures are used.
    #[serde(deserialize_with = "non_empty")]
    pub networks: Vec<String>,
    /// The searches to compare.
    #[serde(deserialize_with = "non_empty")]
    pub searches: Vec<NamedSearch>,
}

/// One search of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NamedSearch {
    /// Its name in tables.
    pub name: String,
    /// The penalty for arguments that are not constituents; the tuned penalties by default.
    #[serde(default)]
    pub penalty: Option<f32>,
    /// The bound on the rest of an output.
    pub heuristic: Heuristic,
    /// The number of prefixes after which it gives up.
    #[serde(deserialize_with = "positive")]
    pub agenda_limit: usize,
}

impl NamedSearch {
    pub(super) fn searching(&self, tuned: &Charges) -> Searching {
        let NamedSearch { penalty, heuristic, agenda_limit, .. } = *self;
        let charges = penalty.map_or(*tuned, Charges::by_syntax);
        Searching { penalties: charges.penalties(), heuristic, agenda_limit }
    }
}

/// The table of the study: rows are named after the search, and their data after the constraint.
pub(super) fn collapse_table(rows: &[Row]) -> Table {
    let caption = "When A* collapses, on dev failures: the less it is allowed to search, and the \
                   harder it insists on constraints that may be wrong, the worse (the paper: F1 of \
                   all 84.4, with noise-free constraints 84.5, with noisy ones 77.5)";
    let header = [
        "net",
        "constraints",
        "search",
        "failures",
        "gave up",
        "converted",
        "F1",
        "exact",
        "all F1",
    ];
    let mut table = Table::new(caption, header);
    for (i, row) in rows.iter().enumerate() {
        if 0 < i && rows[i - 1].constraint != row.constraint {
            table = table.rule();
        }
        table = table.row([
            Cell::plain(row.net.as_str()),
            Cell::plain(row.constraint.as_str()),
            Cell::plain(row.method.as_str()),
            Cell::plain(row.failures.to_string()),
            Cell::number(row.figure(Figure::GaveUp), 1),
            Cell::number(row.figure(Figure::Conversion), 1),
            Cell::number(row.figure(Figure::F1After), 1),
            Cell::number(row.figure(Figure::ExactAfter), 1),
            Cell::number(row.figure(Figure::WholeF1After), 2),
        ]);
    }
    table
}
