//! Membership in a regular language, with the positions that err.
//!
//! "Not in the language" is one bit, and blames a long output as a whole for one stray symbol. The
//! edit distance says how far off the output is, and an alignment with a nearest member says where.
//! Correct positions then receive no gradient.
//!
//! ```text
//! g(y, L) = min over w ∈ L of (fewest insertions, deletions, substitutions from y to w)
//! ```
//!
//! Over all members at once this is a shortest path. Its nodes are pairs (position `i`, state `q`):
//! `y[..i]` has been consumed, and the edited prefix leads to `q`. From (i, q) one may
//!
//! ```text
//! keep       y_i        to (i + 1, δ(q, y_i))   at no cost
//! delete     y_i        to (i + 1, q)           at cost 1
//! substitute y_i by s   to (i + 1, δ(q, s))     at cost 1
//! insert     s          to (i,     δ(q, s))     at cost 1
//! ```
//!
//! and the goal is an accepting state at position `n`. Costs are 0 or 1, so a breadth-first search
//! by cost settles each node once, in O(n · (states + transitions)), and explores no further than
//! the answer. Every edit blames the position it starts from.

use std::mem;

use super::edit::violation;
use super::{Automaton, Dfa, Edit, EditDistance, State};
use crate::constraint::{Constraint, Violation};
use crate::model::Symbol;

/// The output must be in a fixed regular language: `g` is the edit distance to the nearest member.
///
/// Each edit is one [`Part`](crate::Part) of cost 1. A deleted or substituted symbol is blamed
/// itself. An insertion blames the position it precedes, which at the end is the end symbol's. Ties
/// between nearest members are broken deterministically; a single edit is placed as late as
/// possible.
///
/// The empty language has no members; every output then violates as a whole, by `n + 1`.
#[derive(Clone, Debug)]
pub struct Regular {
    dfa: Dfa,
    /// For each state, its distinct successors: an inserted symbol can be chosen freely, so only
    /// where it leads matters.
    successors: Vec<Vec<State>>,
}

impl Regular {
    /// Requires membership in the language of `dfa`.
    pub fn new(dfa: &Dfa) -> Regular {
        let dfa = dfa.trim();
        let successors = dfa.states().map(|state| {
            let mut distinct: Vec<State> = dfa.symbols(state).map(|(_, to)| to).collect();
            distinct.sort_unstable();
            distinct.dedup();
            distinct
        });
        Regular { successors: successors.collect(), dfa }
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let successors = self.successors.iter().map(|successors| size_of_val(&**successors));
        self.dfa.bytes() + size_of_val(&*self.successors) + successors.sum::<usize>()
    }
}

impl EditDistance for Regular {
    fn edits(&self, y: &[Symbol]) -> Option<Vec<Edit>> {
        let mut path = Path::new(y.len(), self.dfa.n_states());
        let start = Node { i: 0, q: self.dfa.start() };
        let mut layer = vec![Move { from: start, to: start, edit: false }];
        let mut next_layer = Vec::new();
        while !layer.is_empty() {
            while let Some(step) = layer.pop() {
                if !path.settle(step) {
                    continue;
                }
                let here @ Node { i, q } = step.to;
                if i == y.len() && self.dfa.accepts(q) {
                    return Some(path.edits_to(here));
                }
                let free = |i, q| Move { from: here, to: Node { i, q }, edit: false };
                let edit = |i, q| Move { from: here, to: Node { i, q }, edit: true };
                let successors = &self.successors[q.index()];
                next_layer.extend(successors.iter().map(|&to| edit(i, to))); // insert
                if i < y.len() {
                    next_layer.push(edit(i + 1, q)); // delete
                    next_layer.extend(successors.iter().map(|&to| edit(i + 1, to))); // substitute
                    layer.extend(self.dfa.next(q, y[i]).map(|to| free(i + 1, to))); // keep
                }
            }
            mem::swap(&mut layer, &mut next_layer);
        }
        None
    }
}

impl<X: ?Sized> Constraint<X> for Regular {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        if self.dfa.contains(y) {
            return Violation::NONE;
        }
        violation(self.edits(y), y.len())
    }

    fn automaton(&self, _: &X) -> Option<Box<dyn Automaton + '_>> {
        Some(Box::new(&self.dfa))
    }
}

/// `y[..i]` has been consumed, and the edited prefix leads to state `q`.
#[derive(Clone, Copy, PartialEq)]
struct Node {
    i: usize,
    q: State,
}

/// One arc of the search.
#[derive(Clone, Copy)]
struct Move {
    from: Node,
    to: Node,
    edit: bool,
}

/// The move that first reached each node, which is on a shortest path to it.
struct Path {
    n_states: usize,
    came_by: Vec<Option<Move>>, // (n + 1, n_states)
}

impl Path {
    fn new(n: usize, n_states: usize) -> Path {
        Path { n_states, came_by: vec![None; (n + 1) * n_states] }
    }

    /// Records this move if it is the first to its node. Returns whether it is.
    fn settle(&mut self, step: Move) -> bool {
        let at = self.index(step.to);
        let first = self.came_by[at].is_none();
        self.came_by[at].get_or_insert(step);
        first
    }

    /// The edits on the path to `node`, left to right.
    fn edits_to(&self, mut node: Node) -> Vec<Edit> {
        let mut edits = Vec::new();
        while let Some(step) = self.came_by[self.index(node)]
            && step.from != step.to
        {
            let i = step.from.i;
            let edit = if step.to.i == i { Edit::Missing(i) } else { Edit::Misfit(i) };
            edits.extend(step.edit.then_some(edit));
            node = step.from;
        }
        edits.reverse();
        edits
    }

    fn index(&self, node: Node) -> usize {
        node.i * self.n_states + node.q.index()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraints::Language;
    use crate::constraints::oracle::{edited, language, levenshtein, matches, strings};

    const NO_INPUT: &[Symbol] = &[];

    /// The distance to the nearest member, by comparing `y` with every member that could be
    /// nearest.
    fn nearest(language: &Language, n_symbols: usize, y: &[Symbol]) -> Option<usize> {
        let shortest = strings(n_symbols, 5).find(|w| matches(language, w))?;
        // It is no farther than the shortest member, hence no longer than this.
        let max_len = y.len() + levenshtein(y, &shortest);
        let members = strings(n_symbols, max_len).filter(|w| matches(language, w));
        members.map(|w| levenshtein(y, &w)).min()
    }

    fn check(language: &Language, n_symbols: usize, max_len: usize) {
        let regular = Regular::new(&language.automaton(n_symbols));
        for y in strings(n_symbols, max_len) {
            let expected = nearest(language, n_symbols, &y).unwrap_or(y.len() + 1) as f32;
            let violation = regular.check(NO_INPUT, &y);
            assert_eq!(violation.total(), expected, "{y:?} to {language:?}");
            if let Violation::Parts(parts) = violation {
                assert!(parts.iter().all(|part| part.cost == 1.0 && part.at.len() == 1));
                let blamed: Vec<usize> = parts.iter().map(|part| part.at.start).collect();
                let mends = |at: &[usize]| {
                    edited(&y, at, n_symbols as Symbol).iter().any(|w| matches(language, w))
                };
                assert!(mends(&blamed), "{y:?} to {language:?} at {blamed:?}");
                if let [only] = blamed[..] {
                    assert!((only + 1..=y.len()).all(|later| !mends(&[later])), "{y:?} at {only}");
                }
            }
        }
    }

    fn blamed(regular: &Regular, y: &[Symbol]) -> Vec<usize> {
        match regular.check(NO_INPUT, y) {
            Violation::Parts(parts) => parts.iter().map(|part| part.at.start).collect(),
            whole => panic!("{y:?} should err in parts, not as {whole:?}"),
        }
    }

    #[test]
    fn distances_are_to_the_nearest_member() {
        let [a, b, z] = [0, 1, 2];
        check(&Language::EmptyWord, 2, 5);
        check(&Language::Any, 2, 5);
        check(&Language::word(&[a, b, b]), 2, 5);
        check(&Language::any_of([Language::word(&[a, a, a]), Language::word(&[b])]), 2, 5);
        check(&Language::word(&[a, b]).star(), 2, 5);
        check(&Language::Any.then(Language::word(&[a, a]).star()), 2, 5);
        check(
            &Language::any_of([Language::word(&[a, a, a]), Language::word(&[z, b])]).star(),
            3,
            4,
        );
    }

    #[test]
    fn nothing_is_in_the_empty_language() {
        let regular = Regular::new(&Language::any_of([0; 0]).automaton(2));
        for y in strings(2, 4) {
            assert_eq!(regular.check(NO_INPUT, &y), Violation::Whole(y.len() as f32 + 1.0));
        }
    }

    #[test]
    fn each_edit_is_blamed_at_its_position() {
        let [a, b, z] = [0, 1, 2];
        let abba = Regular::new(&Language::word(&[a, b, b, a]).automaton(3));
        assert_eq!(blamed(&abba, &[a, z, b, a]), [1], "substituted");
        assert_eq!(blamed(&abba, &[a, b, z, b, a]), [2], "deleted");
        assert_eq!(blamed(&abba, &[b, b, a]), [0], "inserted before the first");
        assert_eq!(blamed(&abba, &[a, b, b]), [3], "inserted at the end");
        assert_eq!(blamed(&abba, &[]), [0, 0, 0, 0], "all inserted at the end");
        assert_eq!(blamed(&abba, &[z, z, b, b, z]), [0, 1, 4], "several");
    }

    #[test]
    fn members_are_feasible() {
        let regular = Regular::new(&Language::word(&[0, 1]).star().automaton(2));
        assert_eq!(regular.check(NO_INPUT, &[0, 1, 0, 1]), Violation::NONE);
        assert_eq!(regular.check(NO_INPUT, &[]), Violation::NONE);
    }

    #[test]
    fn symbols_outside_the_alphabet_are_edited_away() {
        let regular = Regular::new(&Language::word(&[0, 1]).automaton(2));
        assert_eq!(blamed(&regular, &[0, 9]), [1]);
    }

    proptest! {
        #[test]
        fn zero_exactly_for_members(language in language(2)) {
            let regular = Regular::new(&language.automaton(2));
            for y in strings(2, 6) {
                let violation = regular.check(NO_INPUT, &y);
                prop_assert_eq!(violation.is_satisfied(), matches(&language, &y), "{:?}", y);
            }
        }

        #[test]
        fn distances_of_random_languages(language in language(2)) {
            prop_assume!(language.automaton(2).n_states() <= 5);
            check(&language, 2, 3);
        }
    }
}
