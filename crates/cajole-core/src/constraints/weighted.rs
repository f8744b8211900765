//! Several constraints with their weights.

use std::marker::PhantomData;

use super::Automaton;
use crate::constraint::Constraint;

/// Constraints with their weights, which `How` combines: [`All`](super::All) or
/// [`Any`](super::Any).
pub struct Weighted<'a, X: ?Sized, How> {
    pub(super) constraints: Vec<(f32, Box<dyn Constraint<X> + Send + 'a>)>,
    how: PhantomData<How>,
}

impl<'a, X: ?Sized, How> Weighted<'a, X, How> {
    /// No constraints yet.
    pub fn new() -> Self {
        Weighted { constraints: Vec::new(), how: PhantomData }
    }

    /// Adds a constraint with this weight.
    ///
    /// # Panics
    ///
    /// If `weight` is not positive and finite: others would hide a violation or make it permanent.
    pub fn with(mut self, weight: f32, constraint: impl Constraint<X> + Send + 'a) -> Self {
        assert!(weight > 0.0 && weight.is_finite(), "weight {weight} is not positive and finite");
        self.constraints.push((weight, Box::new(constraint)));
        self
    }

    /// Adds the constraints of `other`, with their weights.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.constraints.extend(other.constraints);
        self
    }

    /// The constraints with their weights, in insertion order.
    pub fn iter(&self) -> impl Iterator<Item = (f32, &(dyn Constraint<X> + Send + 'a))> {
        self.constraints.iter().map(|(weight, constraint)| (*weight, &**constraint))
    }

    /// The automata of all constraints, or `None` if one has none.
    pub(super) fn automata(&self, x: &X) -> Option<Vec<Box<dyn Automaton + '_>>> {
        self.constraints.iter().map(|(_, constraint)| constraint.automaton(x)).collect()
    }
}

impl<X: ?Sized, How> Default for Weighted<'_, X, How> {
    fn default() -> Self {
        Weighted::new()
    }
}
