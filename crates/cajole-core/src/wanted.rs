//! The constraint on the output of one input, as searches query it.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::clock::Clock;
use crate::constraint::{Constraint, Violation};
use crate::constraints::Automaton;
use crate::model::Candidate;
use crate::model::Symbol;
use crate::watcher::Watcher;

/// A constraint on the output of one input. Its automaton is built lazily, once.
pub struct Wanted<'a, X: ?Sized> {
    input: &'a X,
    constraint: &'a dyn Constraint<X>,
    automaton: OnceCell<Option<Box<dyn Automaton + 'a>>>,
    clock: Clock,
    /// When searches end at the latest.
    pub until: Option<Instant>,
    /// The caller that waits for what they find.
    pub watcher: Option<&'a dyn Watcher>,
    /// Ends searches for all inputs of a run.
    pub cancel: Option<Cancel>,
}

impl<'a, X: ?Sized> Wanted<'a, X> {
    /// Requires an output for `input` to satisfy `constraint`.
    pub fn new(input: &'a X, constraint: &'a dyn Constraint<X>) -> Self {
        let automaton = OnceCell::new();
        let clock = Clock::default();
        Wanted { input, constraint, automaton, clock, until: None, watcher: None, cancel: None }
    }

    /// How long the next search may take, from when it first asks whether it
    /// [`is_late`](Wanted::is_late): inputs that it has not begun with use no time.
    pub fn allow(&mut self, within: Option<Duration>) {
        self.clock = Clock::new(within);
    }

    /// How long the search has taken, if its time is limited.
    pub fn took(&self) -> Duration {
        self.clock.took()
    }

    /// `x`.
    pub fn input(&self) -> &'a X {
        self.input
    }

    /// `g(y, Lˣ)`.
    pub fn check(&self, y: &[Symbol]) -> Violation {
        self.constraint.check(self.input, y)
    }

    /// `g` of a candidate. A capped output never ended, so it violates whatever it contains.
    pub fn measure(&self, y: &Candidate) -> Violation {
        let violation = self.check(&y.output);
        match y.capped && violation.is_satisfied() {
            true => Violation::Whole(1.0 / y.output.len().max(1) as f32),
            false => violation,
        }
    }

    /// Whether a candidate is complete and satisfies the constraint.
    pub fn accepts(&self, y: &Candidate) -> bool {
        !y.capped && self.check(&y.output).is_satisfied()
    }

    /// The feasible set as an automaton, if the constraint has one.
    pub fn automaton(&self) -> Option<&dyn Automaton> {
        let automaton = self.automaton.get_or_init(|| self.constraint.automaton(self.input));
        automaton.as_deref().map(|automaton| automaton as &dyn Automaton)
    }

    /// Whether time is up, the run was cancelled, or nobody waits any more.
    pub fn is_late(&self) -> bool {
        let is_cancelled = self.cancel.as_ref().is_some_and(Cancel::is_set);
        let is_over = self.until.is_some_and(|until| until <= Instant::now());
        is_cancelled || self.has_left() || is_over || self.clock.is_up()
    }

    /// Whether nobody waits any more.
    pub fn has_left(&self) -> bool {
        self.watcher.is_some_and(Watcher::has_left)
    }
}
