//! Outputs whose spans are among given brackets, as an automaton.
//!
//! Whether a span may end here depends on where it began. So a state is the position and, inside a
//! span, its role and start:
//!
//! ```text
//! (t, –)          outside       may read O, or B-X if some bracket begins at t
//! (t, X from s)   in a span     may read I-X if some bracket (s, e) has t < e;
//!                               anything else only if (s, t) is a bracket
//! ```
//!
//! Past the last bracket all positions are equivalent, so the states are finitely many.

use super::{Automaton, Brackets, Role, SpansInTree, State, Tag};
use crate::model::Symbol;

/// The outputs whose spans are all among the brackets, except those of free roles; all outputs if
/// there are no brackets.
pub(super) struct SpanLanguage<'a> {
    spans: &'a SpansInTree,
    brackets: Option<Brackets>,
    /// From here on all positions are equivalent.
    far: usize,
}

/// Bits per position in a state; a role takes 16, so an output may have 2²⁴ tags.
const BITS: u32 = 24;

#[derive(Clone, Copy)]
struct Place {
    at: usize,
    /// The start and role of the open span.
    open: Option<(usize, Role)>,
}

impl<'a> SpanLanguage<'a> {
    pub(super) fn new(spans: &'a SpansInTree, brackets: Option<Brackets>) -> Self {
        let pairs = brackets.as_ref().map_or(&[][..], Brackets::as_pairs);
        let far = pairs.iter().map(|&(_, end)| end).max().unwrap_or(0) + 1;
        SpanLanguage { spans, brackets, far }
    }

    fn pack(&self, Place { at, open }: Place) -> State {
        let at = at.min(self.far);
        // The start of a free span does not matter.
        let open = open.map(|(start, role)| (if self.is_free(role) { 0 } else { start }, role));
        let (start, role) = open.map_or((0, 0), |(start, role)| (start as u64, role.index() + 1));
        State::new((role as u64) << (2 * BITS) | start << BITS | at as u64)
    }

    fn unpack(&self, state: State) -> Place {
        let mask = (1 << BITS) - 1;
        let (role, start) = (state.bits() >> (2 * BITS), (state.bits() >> BITS) & mask);
        let role = self.spans.tags.roles().nth((role as usize).wrapping_sub(1));
        Place { at: (state.bits() & mask) as usize, open: role.map(|role| (start as usize, role)) }
    }

    fn is_free(&self, role: Role) -> bool {
        self.brackets.is_none() || self.spans.free.contains(role)
    }

    /// The fewest further tags after which the open span may end, if it can.
    fn left(&self, at: usize, start: usize, role: Role) -> Option<usize> {
        let Some(brackets) = self.brackets.as_ref().filter(|_| !self.is_free(role)) else {
            return Some(0);
        };
        let longest = if self.spans.tags.inside(role).is_some() { usize::MAX } else { at };
        let ends = brackets.starting_at(start).iter().map(|&(_, end)| end);
        ends.filter(|end| (at..=longest).contains(end)).min().map(|end| end - at)
    }

    fn may_end(&self, Place { at, open }: Place) -> bool {
        open.is_none_or(|(start, role)| self.left(at, start, role) == Some(0))
    }
}

impl Automaton for SpanLanguage<'_> {
    fn n_symbols(&self) -> usize {
        self.spans.tags.n_tags()
    }

    fn start(&self) -> State {
        self.pack(Place { at: 0, open: None })
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        let place @ Place { at, open } = self.unpack(state);
        let next = match (self.spans.tags.tag(symbol)?, open) {
            (Tag::I(role), Some((start, of))) if role == of => Some((start, role)),
            _ if !self.may_end(place) => return None,
            (Tag::O, _) => None,
            // A stray `I-` begins a span.
            (Tag::B(role) | Tag::I(role), _) => Some((at, role)),
        };
        let at = at + 1;
        let is_viable = next.is_none_or(|(start, role)| self.left(at, start, role).is_some());
        is_viable.then(|| self.pack(Place { at, open: next }))
    }

    fn accepts(&self, state: State) -> bool {
        self.may_end(self.unpack(state))
    }

    fn distance_to_accept(&self, state: State) -> Option<usize> {
        let Place { at, open } = self.unpack(state);
        open.map_or(Some(0), |(start, role)| self.left(at, start, role))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Constraint;
    use crate::constraints::oracle::strings;
    use crate::constraints::{RoleSet, TagSet};

    proptest! {
        // Each case enumerates all outputs of up to five tags.
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn it_accepts_exactly_the_feasible_outputs(
            pairs in prop::collection::vec((0..4usize, 1..6usize), 0..6),
        ) {
            let tags = TagSet::new(["O", "B-A", "I-A", "B-V", "I-V", "B-X"]).unwrap();
            let free = RoleSet::named(&tags, &["V"]);
            let spans = SpansInTree { tags, free };
            let tree: Brackets = pairs.into_iter().filter(|(start, end)| start < end).collect();
            let language = spans.automaton(&tree).expect("it is one");
            let all: Vec<Vec<Symbol>> = strings(6, 5).collect();
            let members: Vec<&Vec<Symbol>> =
                all.iter().filter(|y| spans.check(&tree, y).is_satisfied()).collect();
            for y in all.iter().filter(|y| y.len() <= 3) {
                let reached = y.iter().try_fold(language.start(), |q, &s| language.next(q, s));
                let completions = members.iter().filter(|m| m.starts_with(y));
                let shortest = completions.map(|m| m.len() - y.len()).min();
                // Spans of up to three tags can be completed within five.
                let far = reached.and_then(|q| language.distance_to_accept(q));
                prop_assert!(shortest == far || far.is_some_and(|far| 2 < far), "{:?}", y);
                prop_assert_eq!(language.contains(y), members.contains(&y), "{:?}", y);
            }
            prop_assert!(language.intersect(&*language).n_states() < 500);
            let free = spans.automaton(&None::<Brackets>).expect("it is one");
            prop_assert!(all.iter().all(|y| free.contains(y)));
        }
    }
}
