//! Membership in a context-free language, with the positions that err.

use super::cells::Cells;
use super::chart::Chart;
use super::prefixes::Prefixes;
use super::{Grammar, START};
use crate::constraint::{Constraint, Violation};
use crate::constraints::edit::violation;
use crate::constraints::{Automaton, Edit, EditDistance};
use crate::model::Symbol;

/// The output must be a member of a grammar: `g` is the edit distance to the nearest member.
///
/// Each edit is one [`Part`](crate::Part) of cost 1, blamed as in
/// [`Regular`](crate::constraints::Regular). Ties between nearest members are broken
/// deterministically. The empty language has no members; every output then violates as a whole, by
/// `n + 1`.
///
/// Time is cubic in the length for infeasible outputs; members are recognised earlier. If the chart
/// of an output would exceed the memory limit, every symbol is blamed.
///
/// The automaton creates a state per prefix, on demand: see [`Automaton::is_finite`].
#[derive(Clone, Debug)]
pub struct ContextFree {
    grammar: Grammar,
    cells: Cells,
}

/// Maximum number of entries of a chart: 256 MB.
const MAX_CHART: usize = 1 << 27;

/// Maximum length such that u16 can count the edits, with room for the shortest member.
const MAX_LENGTH: usize = 1 << 15;

impl ContextFree {
    /// Requires membership in `grammar`.
    pub fn new(grammar: Grammar) -> ContextFree {
        ContextFree { cells: Cells::new(&grammar), grammar }
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.grammar.bytes() + self.cells.bytes()
    }

    /// The grammar.
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    fn is_too_long(&self, y: &[Symbol]) -> bool {
        MAX_LENGTH < y.len() || MAX_CHART < Chart::size(&self.cells, y.len())
    }
}

impl EditDistance for ContextFree {
    /// An output too long for a chart is replaced entirely.
    fn edits(&self, y: &[Symbol]) -> Option<Vec<Edit>> {
        if self.grammar.is_empty() {
            return None;
        }
        if Prefixes::new(&self.grammar).contains(y) {
            return Some(Vec::new());
        }
        if self.is_too_long(y) {
            let n_missing = self.grammar.shortest[START].saturating_sub(y.len());
            let missing = std::iter::repeat_n(Edit::Missing(y.len()), n_missing);
            return Some((0..y.len()).map(Edit::Misfit).chain(missing).collect());
        }
        Some(Chart::new(&self.grammar, &self.cells, y).edits())
    }
}

impl<X: ?Sized> Constraint<X> for ContextFree {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        match self.edits(y) {
            Some(edits) if edits.is_empty() => Violation::NONE,
            edits => violation(edits, y.len()),
        }
    }

    fn automaton(&self, _: &X) -> Option<Box<dyn Automaton + '_>> {
        Some(Box::new(Prefixes::new(&self.grammar)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraints::grammar::oracle::{Written, grammar, members, written};
    use crate::constraints::oracle::{edited, levenshtein, strings};

    fn constraint(written: &Written) -> ContextFree {
        let Written { n_symbols, productions } = written.clone();
        ContextFree::new(Grammar::new(n_symbols, 0, productions).unwrap())
    }

    /// Compares the distance of every string of up to `max_len` symbols with the minimum over
    /// enumerated members, and checks that edits at the blamed positions can repair it.
    fn check(written: &Written, max_len: usize) {
        let context_free = constraint(written);
        // The nearest member is no farther than the shortest one, which bounds its length.
        let Some(shortest) = members(written, 5).into_iter().min_by_key(Vec::len) else { return };
        let members = members(written, max_len + shortest.len().max(max_len));
        for y in strings(written.n_symbols, max_len) {
            let nearest = members.iter().map(|w| levenshtein(&y, w)).min().unwrap();
            let violation = context_free.check(&(), &y);
            assert_eq!(violation.total(), nearest as f32, "{y:?} to {written:?}");
            let edits = context_free.edits(&y).unwrap();
            let at: Vec<usize> = edits.iter().map(|edit| edit.position()).collect();
            assert!(at.is_sorted() && at.iter().all(|&at| at <= y.len()), "{y:?} at {at:?}");
            let mended = edited(&y, &at, written.n_symbols as Symbol);
            assert!(mended.iter().any(|w| members.contains(w)), "{y:?} to {written:?} at {at:?}");
        }
    }

    #[test]
    fn distances_are_to_the_nearest_member() {
        for rules in [
            &["A=aAbA|"] as &[_],              // balanced
            &["A=AaB|B", "B=b|aAb"],           // left-recursive
            &["A=AA|a|"],                      // ambiguous and empty
            &["A=B|a", "B=A|bb"],              // cyclic
            &["A=BB", "B=C", "C=|ab"],         // empty through others
            &["A=aAa|bAb|.|"],                 // palindromes
            &["A=aBaBb", "B=.B|"],             // regular
            &["A=bbbbb"],                      // long
            &["A=BCD", "B=a|", "C=b|", "D=."], // a choice at every place
        ] {
            check(&written(2, rules), 4);
        }
        check(&written(3, &["A=AcB|B", "B=aAb|a"]), 3);
    }

    #[test]
    fn nothing_is_in_the_empty_language() {
        let none = constraint(&written(2, &["A=aA"]));
        for y in strings(2, 3) {
            assert_eq!(none.check(&(), &y), Violation::Whole(y.len() as f32 + 1.0));
        }
    }

    #[test]
    fn each_edit_is_blamed_at_its_position() {
        use Edit::{Misfit, Missing};
        let abba = constraint(&written(3, &["A=abba"]));
        assert_eq!(abba.edits(&[0, 2, 1, 0]), Some(vec![Misfit(1)]), "substituted");
        assert_eq!(abba.edits(&[0, 1, 2, 1, 0]), Some(vec![Misfit(2)]), "deleted");
        assert_eq!(abba.edits(&[1, 1, 0]), Some(vec![Missing(0)]), "inserted before the first");
        assert_eq!(abba.edits(&[0, 1, 1]), Some(vec![Missing(3)]), "inserted at the end");
        assert_eq!(abba.edits(&[]), Some(vec![Missing(0); 4]), "all inserted");
        assert_eq!(abba.edits(&[0, 1, 1, 0, 2]), Some(vec![Misfit(4)]), "too much at the end");
        assert_eq!(abba.edits(&[0, 9, 1, 0]), Some(vec![Misfit(1)]), "no symbol at all");
    }

    #[test]
    fn outputs_too_long_for_a_chart_still_get_an_answer() {
        let balanced = constraint(&written(2, &["A=aAbA|"]));
        let mut y = [vec![0; 20_000], vec![1; 20_000]].concat();
        assert!(balanced.check(&(), &y[..]).is_satisfied());
        y.push(1);
        assert_eq!(balanced.check(&(), &y[..]).total(), y.len() as f32, "no chart for so many");
    }

    proptest! {
        #[test]
        fn distances_of_random_grammars(written in grammar(2)) {
            check(&written, 4);
        }

        #[test]
        fn zero_exactly_for_members(written in grammar(2)) {
            let context_free = constraint(&written);
            let members = members(&written, 7);
            for y in strings(2, 7) {
                let violation = context_free.check(&(), &y);
                prop_assert_eq!(violation.is_satisfied(), members.contains(&y), "{:?}", y);
            }
        }
    }
}
