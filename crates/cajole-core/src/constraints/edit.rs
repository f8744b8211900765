//! What has to change in an output to make it a member of a language.
//!
//! A language of strings measures `g` by the fewest edits to a nearest member. Where an edit is, is
//! what the gradient needs; whether a symbol is wrong there or one is missing is what people need.

use crate::constraint::{Part, Violation};
use crate::model::Symbol;

/// One insertion, deletion or substitution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A symbol has to come in before this position; at the very end that is the end symbol's.
    Missing(usize),
    /// The symbol at this position has to go, or to make room for another.
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

/// A language that knows the way from any string to a nearest member.
pub trait EditDistance {
    /// The fewest edits that make a member of `y`, from left to right; `None` if there are no members.
    fn edits(&self, y: &[Symbol]) -> Option<Vec<Edit>>;
}

/// Each edit as one part of cost 1; without members, the whole output violates by `n + 1`.
pub(super) fn violation(edits: Option<Vec<Edit>>, n: usize) -> Violation {
    let Some(edits) = edits else { return Violation::Whole(n as f32 + 1.0) };
    let blame = |position: usize| Part { at: position..position + 1, cost: 1.0 };
    Violation::Parts(edits.into_iter().map(Edit::position).map(blame).collect())
}
