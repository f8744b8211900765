//! Constraints between roles, as an automaton.
//!
//! A rule that looks at a span and the roles before it must remember only which of these occurred:
//! a state is the set of relevant roles seen, and the role of the open span.

use super::roles::Need;
use super::{Automaton, Role, State, Tag, TagSet};
use crate::model::Symbol;

/// The outputs in which every role has what it requires of those before it.
pub(super) struct RoleLanguage<'a> {
    tags: &'a TagSet,
    /// By role.
    needs: &'a [Need],
    /// The bits of roles that others require or forbid; the rest need not be remembered.
    watched: u64,
}

/// Roles that fit in a state.
const MOST: usize = 48;

impl<'a> RoleLanguage<'a> {
    /// With each role's requirements; `None` if there are too many roles.
    pub(super) fn new(tags: &'a TagSet, needs: &'a [Need]) -> Option<Self> {
        if tags.n_roles() > MOST {
            return None;
        }
        let mut watched = 0;
        for need in needs {
            if let Need::With(role) | Need::Without(role) = *need {
                watched |= bit(role);
            }
        }
        Some(RoleLanguage { tags, needs, watched })
    }
}

/// The bit of a role.
fn bit(role: Role) -> u64 {
    1 << role.index()
}

impl Automaton for RoleLanguage<'_> {
    fn n_symbols(&self) -> usize {
        self.tags.n_tags()
    }

    fn start(&self) -> State {
        State::new(0)
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        let (seen, open) = (state.bits() & ((1 << MOST) - 1), state.bits() >> MOST);
        let place = |role: Role| (role.index() as u64 + 1) << MOST;
        let role = match self.tags.tag(symbol)? {
            Tag::O => return Some(State::new(seen)),
            Tag::I(role) if open == role.index() as u64 + 1 => return Some(state),
            // A stray `I-` begins a span.
            Tag::B(role) | Tag::I(role) => role,
        };
        let is_allowed = self.needs[role.index()].is_met(|role| seen & bit(role) != 0);
        let seen = seen | (bit(role) & self.watched);
        is_allowed.then(|| State::new(seen | place(role)))
    }

    fn accepts(&self, _: State) -> bool {
        true
    }

    fn distance_to_accept(&self, _: State) -> Option<usize> {
        Some(0)
    }
}
