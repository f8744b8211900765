//! The edits that turn an output into a member of a language.
//!
//! A language of strings measures `g` by the fewest edits to a nearest member. The gradient needs
//! the position of each edit; people also want to know whether a symbol is wrong there or missing.

use crate::constraint::{Part, Violation};
use crate::model::Symbol;

/// One insertion, deletion or substitution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A symbol must be inserted before this position; at the end, the end symbol is blamed.
    Missing(usize),
    /// The symbol at this position must be deleted or substituted.
    Misfit(usize),
}

impl Edit {
    /// The position to blame.
    pub fn position(self) -> usize {
        match self {
            Edit::Missing(position) | Edit::Misfit(position) => position,
        }
    }
}

/// A language that can align any string with a nearest member.
pub trait EditDistance {
    /// A shortest sequence of edits from `y` to a member, left to right; `None` if there are no
    /// members.
    fn edits(&self, y: &[Symbol]) -> Option<Vec<Edit>>;
}

/// Each edit as one part of cost 1. If there are no members, the whole output violates by `n + 1`.
pub(super) fn violation(edits: Option<Vec<Edit>>, n: usize) -> Violation {
    let Some(edits) = edits else { return Violation::Whole(n as f32 + 1.0) };
    let blame = |position: usize| Part { at: position..position + 1, cost: 1.0 };
    Violation::Parts(edits.into_iter().map(Edit::position).map(blame).collect())
}
