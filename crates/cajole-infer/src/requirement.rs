//! What rules require of the output for one input.

use std::sync::OnceLock;

use cajole_core::constraints::Automaton;
use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_rules::{Bound, Rules, Subject};

/// Rules on the output for one input.
///
/// Finding out that there is no automaton may take as long as building one. The result is kept, so
/// that the sources of a descent do not repeat what the choice of the engine has tried.
pub(crate) struct Requirement<'a> {
    bound: Bound<'a>,
    has_no_automaton: OnceLock<()>,
}

impl<'a> Requirement<'a> {
    pub(crate) fn new(rules: &'a Rules, subject: &'a Subject) -> Self {
        Requirement { bound: Bound { rule: rules, subject }, has_no_automaton: OnceLock::new() }
    }
}

impl<X: ?Sized> Constraint<X> for Requirement<'_> {
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        self.bound.check(x, y)
    }

    fn explain(&self, x: &X, y: &[Symbol]) -> Vec<Fault> {
        self.bound.explain(x, y)
    }

    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        if self.has_no_automaton.get().is_some() {
            return None;
        }
        let automaton = self.bound.automaton(x);
        if automaton.is_none() {
            self.has_no_automaton.get_or_init(|| ());
        }
        automaton
    }
}
