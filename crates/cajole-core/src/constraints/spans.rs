//! Arguments must be constituents.
//!
//! The paper's constraint for semantic role labeling: annotators assigned roles to nodes of the
//! parse tree, so a span that is not a node is wrong somewhere. Each such span is a separate part,
//! whose cost is shared by its positions:
//!
//! ```text
//! g_i = 1 / len(span_i)  if span_i is not a node      g(y, Lˣ) = Σ_i g_i
//! ```

use super::span_language::SpanLanguage;
use super::{Automaton, Bracketed, Brackets, Role, RoleSet, Span, TagSet};
use crate::constraint::{Constraint, Fault, Part, Violation};
use crate::model::Symbol;

/// Every span, except those of free roles, must be one of the input's [`Brackets`].
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_core::constraints::{Brackets, RoleSet, SpansInTree, TagSet};
///
/// let tags = TagSet::new(["O", "B-ARG1", "I-ARG1", "B-V"])?;
/// let in_tree = SpansInTree { tags: tags.clone(), free: RoleSet::named(&tags, &["V"]) };
/// let tree = Brackets::from_iter([(0, 3), (1, 3)]);
/// assert!(in_tree.check(&tree, &[3, 1, 2]).is_satisfied());
/// assert_eq!(in_tree.check(&tree, &[1, 2, 0]).total(), 1.0 / 2.0);
/// # Ok::<(), cajole_core::constraints::TagSetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SpansInTree {
    /// The tags.
    pub tags: TagSet,
    /// The roles whose spans may be anywhere, such as the predicate.
    pub free: RoleSet,
}

impl SpansInTree {
    /// Whether a span of `role` may reach from `start` to `end`.
    pub fn allows(&self, brackets: &Brackets, role: Role, start: usize, end: usize) -> bool {
        self.free.contains(role) || brackets.contains(start, end)
    }

    /// The spans of `y` that are not among the input's brackets.
    pub fn faults<'s, X: Bracketed + ?Sized>(
        &'s self,
        x: &'s X,
        y: &'s [Symbol],
    ) -> impl Iterator<Item = Span> + 's {
        let is_fault =
            |brackets: &Brackets, s: Span| !self.allows(brackets, s.role, s.start, s.end);
        x.brackets().into_iter().flat_map(move |brackets| {
            self.tags.iter_spans(y).filter(move |&span| is_fault(brackets, span))
        })
    }

    /// A message that describes `fault`.
    pub fn message(&self, fault: Span) -> String {
        let role = self.tags.role_name(fault.role);
        match fault.end - fault.start {
            1 => format!("{role} at position {} is no node of the tree", fault.start),
            _ => format!("{role} at positions {:?} is no node of the tree", fault.at()),
        }
    }
}

impl<X: Bracketed + ?Sized> Constraint<X> for SpansInTree {
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        Violation::Parts(self.faults(x, y).map(blame).collect())
    }

    fn explain(&self, x: &X, y: &[Symbol]) -> Vec<Fault> {
        self.faults(x, y).map(|fault| told(fault, self.message(fault))).collect()
    }

    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        Some(Box::new(SpanLanguage::new(self, x.brackets().cloned())))
    }
}

/// The part of the output to blame for `fault`: a cost of one, shared by its positions.
pub(super) fn blame(fault: Span) -> Part {
    Part { at: fault.at(), cost: 1.0 / fault.at().len() as f32 }
}

/// The same with a message.
pub(super) fn told(fault: Span, message: String) -> Fault {
    let Part { at, cost } = blame(fault);
    Fault { at, cost, message }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraints::oracle::{self, strings};

    fn tags() -> TagSet {
        TagSet::new(["O", "B-A", "I-A", "B-V", "I-V"]).unwrap()
    }

    fn in_tree(tags: &TagSet) -> SpansInTree {
        SpansInTree { tags: tags.clone(), free: RoleSet::named(tags, &["V"]) }
    }

    #[test]
    fn each_fault_has_its_own_cost_and_message() {
        let (tags, tree) = (tags(), Brackets::from_iter([(0, 7), (4, 6)]));
        let in_tree = in_tree(&tags);
        let y = [1, 3, 4, 1, 1, 2, 1, 2];
        let parts = vec![
            Part { at: 0..1, cost: 1.0 },
            Part { at: 3..4, cost: 1.0 },
            Part { at: 6..8, cost: 0.5 },
        ];
        assert_eq!(in_tree.check(&tree, &y), Violation::Parts(parts));
        let messages: Vec<String> =
            in_tree.faults(&tree, &y).map(|fault| in_tree.message(fault)).collect();
        assert_eq!(
            messages,
            [
                "A at position 0 is no node of the tree",
                "A at position 3 is no node of the tree",
                "A at positions 6..8 is no node of the tree",
            ]
        );
    }

    #[test]
    fn without_a_tree_everything_is_allowed() {
        let tags = tags();
        for y in strings(5, 4) {
            assert!(in_tree(&tags).check(&None::<Brackets>, &y).is_satisfied(), "{y:?}");
        }
    }

    proptest! {
        #[test]
        fn zero_exactly_when_every_argument_is_a_node(
            pairs in prop::collection::vec((0..5usize, 0..6usize), 0..12),
        ) {
            let (tags, tree) = (tags(), pairs.iter().copied().collect::<Brackets>());
            for y in strings(5, 5) {
                let faults: Vec<Span> = oracle::spans(&tags, &y)
                    .into_iter()
                    .filter(|s| tags.role_name(s.role) != "V" && !pairs.contains(&(s.start, s.end)))
                    .collect();
                let g: f32 = faults.iter().map(|s| 1.0 / (s.end - s.start) as f32).sum();
                let violation = in_tree(&tags).check(&tree, &y);
                prop_assert!((violation.total() - g).abs() < 1e-6, "{:?}", y);
                prop_assert_eq!(violation.is_satisfied(), faults.is_empty(), "{:?}", y);
            }
        }
    }
}
