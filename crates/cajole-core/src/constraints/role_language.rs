//! Constraints between roles, as an automaton.
//!
//! A rule that looks at a span and the roles before it must remember only which of these occurred:
//! a state is the set of relevant roles seen, and the role of the open span.

use super::{Automaton, Role, State, Tag, TagSet};
use crate::model::Symbol;

/// What a span of a role requires of the roles before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asks {
    /// Roles that must have occurred, by bit.
    pub(super) needs: u64,
    /// Roles that must not have occurred.
    pub(super) forbids: u64,
    /// The role can never occur.
    pub(super) is_hopeless: bool,
}

/// The outputs in which every span has what it requires.
pub(super) struct RoleLanguage<'a> {
    tags: &'a TagSet,
    /// By role.
    asks: Vec<Asks>,
}

/// Roles that fit in a state.
const MOST: usize = 48;

impl<'a> RoleLanguage<'a> {
    /// With each role's requirements; `None` if there are too many roles.
    pub(super) fn new(tags: &'a TagSet, asks: impl Fn(Role) -> Asks) -> Option<Self> {
        let asks = tags.roles().map(asks).collect();
        (tags.n_roles() <= MOST).then_some(RoleLanguage { tags, asks })
    }

    /// The bit of a role.
    pub(super) fn bit(role: Role) -> u64 {
        1 << role.index().min(MOST)
    }

    /// The bits that any requirement refers to; others need not be remembered.
    fn watched(&self) -> u64 {
        self.asks.iter().fold(0, |all, asks| all | asks.needs | asks.forbids)
    }
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
        let Asks { needs, forbids, is_hopeless } = self.asks[role.index()];
        if is_hopeless || seen & needs != needs || seen & forbids != 0 {
            return None;
        }
        let seen = seen | (RoleLanguage::bit(role) & self.watched());
        Some(State::new(seen | place(role)))
    }

    fn accepts(&self, _: State) -> bool {
        true
    }

    fn distance_to_accept(&self, _: State) -> Option<usize> {
        Some(0)
    }
}
