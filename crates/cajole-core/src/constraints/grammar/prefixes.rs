//! The prefixes of a grammar's members, as an automaton (Earley 1970).
//!
//! After a prefix, the parser state is a set of items `(A, t, o)`: an `A` began at `o`, and the
//! tail `t` of one of its bodies is still to come. A set follows from the previous one by
//!
//! ```text
//! scan      (A, s t, o) before symbol s           becomes (A, t, o)
//! predict   (A, B t, o)                           adds (B, body, here) for each body of B
//! complete  (B, ∅, o), and (A, B t, o′) at o      adds (A, t, o′)
//! ```
//!
//! where an item over a nullable variable is completed as soon as it is predicted (Aycock and
//! Horspool 2002). Useless productions are gone, so every non-empty set can be completed. Origins
//! are sets themselves, not positions. So the scanned items determine everything, and prefixes with
//! the same scanned items share their set.
//!
//! The fewest symbols to a member: the remainder of an item, and then of everything waiting for it,
//!
//! ```text
//! d(set) = min over (A, t, o) of |t| + up(A, o)
//! up(A, o) = min over (B, A t, o′) at o of |t| + up(B, o′)      up(S, start) = 0
//! ```

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::{Element, Grammar, START, TailId};
use crate::constraints::{Automaton, State};
use crate::model::Symbol;

/// An automaton whose states are prefixes of members, created on demand.
pub(super) struct Prefixes<'g> {
    grammar: &'g Grammar,
    sets: RefCell<Sets>,
}

impl<'g> Prefixes<'g> {
    pub(super) fn new(grammar: &'g Grammar) -> Prefixes<'g> {
        let mut sets = Sets::default();
        sets.list.push(Set::first(grammar));
        Prefixes { grammar, sets: RefCell::new(sets) }
    }
}

impl Automaton for Prefixes<'_> {
    fn n_symbols(&self) -> usize {
        self.grammar.n_symbols()
    }

    fn start(&self) -> State {
        State::new(0)
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        self.sets.borrow_mut().next(self.grammar, state.index(), symbol).map(state_of)
    }

    fn accepts(&self, state: State) -> bool {
        self.distance_to_accept(state) == Some(0)
    }

    fn distance_to_accept(&self, state: State) -> Option<usize> {
        self.sets.borrow().list[state.index()].distance
    }

    fn is_finite(&self) -> bool {
        false
    }
}

fn state_of(set: SetId) -> State {
    State::new(set as u64)
}

/// Index of a set, in order of discovery.
type SetId = usize;

/// A `head` began at `origin`, and `rest` is still to come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Item {
    head: usize,
    rest: TailId,
    origin: SetId,
}

/// All sets found so far.
#[derive(Default)]
struct Sets {
    list: Vec<Set>,
    by_kernel: HashMap<Vec<Item>, SetId>,
    next: HashMap<(SetId, Symbol), Option<SetId>>,
}

/// The items after a prefix, each stored as it will be after its next element.
#[derive(Default)]
struct Set {
    /// Items before a terminal.
    scans: Vec<(Element, Item)>,
    /// Items before a variable, sorted by variable.
    waiting: Vec<(usize, Item)>,
    /// `up` of each awaited variable, sorted by variable.
    up: Vec<(usize, usize)>,
    distance: Option<usize>,
}

impl Sets {
    fn next(&mut self, grammar: &Grammar, from: SetId, symbol: Symbol) -> Option<SetId> {
        if let Some(&known) = self.next.get(&(from, symbol)) {
            return known;
        }
        let scans = self.list[from].scans.iter().filter(|(what, _)| grammar.reads(*what, symbol));
        let mut kernel: Vec<Item> = scans.map(|&(_, item)| item).collect();
        kernel.sort_unstable();
        kernel.dedup();
        let to = (!kernel.is_empty()).then(|| self.set(grammar, kernel));
        self.next.insert((from, symbol), to);
        to
    }

    /// The set with this kernel.
    fn set(&mut self, grammar: &Grammar, kernel: Vec<Item>) -> SetId {
        if let Some(&known) = self.by_kernel.get(&kernel) {
            return known;
        }
        let here = self.list.len();
        let mut set = Set::default();
        let mut begun = set.close(grammar, kernel.clone(), here, &self.list);
        begun.retain(|item| item.origin != here);
        let far = |item: &Item| {
            grammar.shortest(item.rest).saturating_add(self.list[item.origin].up(item.head))
        };
        set.distance = begun.iter().map(far).min();
        let outer = set.waiting.iter().filter(|(_, item)| item.origin != here);
        let outer: Vec<_> = outer.map(|(variable, item)| (*variable, far(item))).collect();
        set.climb(grammar, outer);
        self.list.push(set);
        self.by_kernel.insert(kernel, here);
        here
    }
}

impl Set {
    /// The items before the first symbol.
    fn first(grammar: &Grammar) -> Set {
        let mut set = Set::default();
        let start = |&rest: &TailId| Item { head: START, rest, origin: 0 };
        let items = grammar.alternatives[START].iter().map(start).collect();
        set.close(grammar, items, 0, &[]);
        set.climb(grammar, vec![(START, 0)]);
        set.distance = (!grammar.is_empty()).then_some(grammar.shortest[START]);
        set
    }

    /// Adds everything that follows from `items`, and returns all items.
    fn close(
        &mut self,
        grammar: &Grammar,
        items: Vec<Item>,
        here: SetId,
        earlier: &[Set],
    ) -> Vec<Item> {
        let mut seen: HashSet<Item> = items.iter().copied().collect();
        let mut items = items;
        let mut predicted = HashSet::new();
        let mut at = 0;
        while let Some(&item) = items.get(at) {
            at += 1;
            let mut add = |item: Item| {
                if seen.insert(item) {
                    items.push(item);
                }
            };
            let Some(tail) = grammar.tail(item.rest) else {
                if item.origin != here {
                    earlier[item.origin].waiting_for(item.head).for_each(&mut add);
                }
                continue;
            };
            let after = Item { rest: tail.rest, ..item };
            let Element::Variable(variable) = tail.first else {
                self.scans.push((tail.first, after));
                continue;
            };
            self.waiting.push((variable, after));
            if grammar.shortest[variable] == 0 {
                add(after);
            }
            if predicted.insert(variable) {
                let bodies = grammar.alternatives[variable].iter();
                bodies.for_each(|&rest| add(Item { head: variable, rest, origin: here }));
            }
        }
        self.waiting.sort_unstable();
        items
    }

    /// Computes `up` of all awaited variables, starting from those awaited by items that began in
    /// earlier sets.
    ///
    /// A variable awaited by an item that began here is reached from that item's head.
    fn climb(&mut self, grammar: &Grammar, outer: Vec<(usize, usize)>) {
        let mut reached = HashSet::new();
        let mut open: BinaryHeap<_> =
            outer.into_iter().map(|(variable, far)| Reverse((far, variable))).collect();
        while let Some(Reverse((far, variable))) = open.pop() {
            if !reached.insert(variable) {
                continue;
            }
            self.up.push((variable, far));
            for &body in &grammar.alternatives[variable] {
                let mut rest = body;
                while let Some(tail) = grammar.tail(rest)
                    && let Element::Variable(first) = tail.first
                {
                    rest = tail.rest;
                    open.push(Reverse((grammar.shortest(rest).saturating_add(far), first)));
                    if grammar.shortest[first] != 0 {
                        break;
                    }
                }
            }
        }
        self.up.sort_unstable();
    }

    /// What the items awaiting `variable` become when it completes.
    fn waiting_for(&self, variable: usize) -> impl Iterator<Item = Item> {
        let first = self.waiting.partition_point(|&(v, _)| v < variable);
        let those = self.waiting[first..].iter().take_while(move |&&(v, _)| v == variable);
        those.map(|&(_, item)| item)
    }

    /// The fewest symbols to a member once `variable`, begun here, is complete.
    fn up(&self, variable: usize) -> usize {
        let at = self.up.binary_search_by_key(&variable, |&(v, _)| v);
        at.map_or(usize::MAX, |at| self.up[at].1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::constraints::grammar::oracle::{Written, grammar, members, written};
    use crate::constraints::oracle::strings;

    /// Compares the automaton after every string of up to `max_len` symbols with members of up to
    /// `max_members`.
    ///
    /// A longer completion cannot be compared; then the distance must exceed the bound.
    fn check(written: &Written, max_len: usize, max_members: usize) {
        let Written { n_symbols, productions } = written.clone();
        let grammar = Grammar::new(n_symbols, 0, productions).unwrap();
        let prefixes = Prefixes::new(&grammar);
        let members = members(written, max_members);
        for y in strings(n_symbols, max_len) {
            let state = y.iter().try_fold(prefixes.start(), |state, &s| prefixes.next(state, s));
            let distance = state.and_then(|state| prefixes.distance_to_accept(state));
            let completions = members.iter().filter(|w| w.starts_with(&y));
            let nearest = completions.map(|w| w.len() - y.len()).min();
            let within = distance.filter(|far| y.len() + far <= max_members);
            assert_eq!(within, nearest, "after {y:?} in {written:?}");
            assert!(y.is_empty() || state.is_none() || distance.is_some(), "{y:?}: {written:?}");
            let accepts = state.is_some_and(|state| prefixes.accepts(state));
            assert_eq!(accepts, members.contains(&y), "{y:?} in {written:?}");
        }
    }

    #[test]
    fn prefixes_of_members_and_no_others() {
        for rules in [
            &["A=aAbA|"] as &[_],
            &["A=AaB|B", "B=b|aAb"],
            &["A=AA|a|"],
            &["A=B|a", "B=A|bb"],
            &["A=BB", "B=C", "C=|ab"],
            &["A=BCA|a", "B=", "C=|B"],
            &["A=aAa|bAb|.|"],
            &["A=aA"],
        ] {
            check(&written(2, rules), 5, 10);
        }
    }

    #[test]
    fn equivalent_prefixes_share_a_state() {
        let grammar = Grammar::new(3, 0, written(3, &["A=AcB|B", "B=a|b"]).productions).unwrap();
        let prefixes = Prefixes::new(&grammar);
        let state = |y: &[Symbol]| y.iter().try_fold(State::new(0), |q, &s| prefixes.next(q, s));
        let reached: BTreeSet<_> = strings(3, 7).filter_map(|y| state(&y)).collect();
        // At the start, after an item, after the c that follows it, after a later item.
        assert_eq!(reached.len(), 4);
    }

    proptest! {
        #[test]
        fn random_grammars(written in grammar(2)) {
            check(&written, 5, 8);
        }
    }
}
