//! The constraint on the output of one input, as searches query it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::clock::Clock;
use crate::constraint::{Constraint, Fault, Violation};
use crate::constraints::Automaton;
use crate::model::{Candidate, Symbol};
use crate::watcher::Watcher;

/// A constraint on the output of one input, and how much may be spent on satisfying it.
///
/// All searches for an input are lent the same one, so its automaton is built when the first of
/// them asks for it, and once.
pub struct Wanted<'a> {
    rule: Box<dyn Rule<'a> + 'a>,
    automaton: RefCell<Known<'a>>,
    clock: Clock,
    /// When the current source of a descent ends at the latest.
    pub(crate) source_until: Cell<Option<Instant>>,
    /// When all work on the input ends, even if it has not begun.
    pub until: Option<Instant>,
    /// How long a descent may take, if less than [`Config::deadline`](crate::Config::deadline). Its
    /// time begins when its work does: while it waits for others, it uses none.
    pub within: Option<Duration>,
    /// Satisfying outputs that are known, for descents to aim at. Sources are then not queried:
    /// an empty list says that it would be futile.
    pub targets: Option<Vec<Vec<Symbol>>>,
    /// The caller that waits for what is found.
    pub watcher: Option<&'a dyn Watcher>,
    /// Ends searches for all inputs of a run.
    pub cancel: Option<Cancel>,
}

/// A constraint together with its input, whatever the type of the input.
trait Rule<'a> {
    fn check(&self, y: &[Symbol]) -> Violation;
    fn explain(&self, y: &[Symbol]) -> Vec<Fault>;
    fn automaton(&self) -> Option<Box<dyn Automaton + 'a>>;
}

struct OnInput<'a, X: ?Sized> {
    input: &'a X,
    constraint: &'a dyn Constraint<X>,
}

impl<'a, X: ?Sized> Rule<'a> for OnInput<'a, X> {
    fn check(&self, y: &[Symbol]) -> Violation {
        self.constraint.check(self.input, y)
    }

    fn explain(&self, y: &[Symbol]) -> Vec<Fault> {
        self.constraint.explain(self.input, y)
    }

    fn automaton(&self) -> Option<Box<dyn Automaton + 'a>> {
        self.constraint.automaton(self.input)
    }
}

/// Whether there is an automaton: finding that out may take as long as building one.
enum Known<'a> {
    /// It has not been asked for.
    Nothing,
    /// There is none.
    Absent,
    /// There is one, which is not in memory.
    Present,
    /// There is this one.
    Built(Rc<dyn Automaton + 'a>),
}

impl<'a> Wanted<'a> {
    /// Requires an output for `input` to satisfy `constraint`.
    pub fn new<X: ?Sized>(input: &'a X, constraint: &'a dyn Constraint<X>) -> Self {
        Wanted {
            rule: Box::new(OnInput { input, constraint }),
            automaton: RefCell::new(Known::Nothing),
            clock: Clock::default(),
            source_until: Cell::new(None),
            until: None,
            within: None,
            targets: None,
            watcher: None,
            cancel: None,
        }
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

    /// `g(y, Lˣ)`.
    pub fn check(&self, y: &[Symbol]) -> Violation {
        self.rule.check(y)
    }

    /// Why `y` is infeasible, in words; empty if it is feasible.
    pub fn explain(&self, y: &[Symbol]) -> Vec<Fault> {
        self.rule.explain(y)
    }

    /// `g` of a candidate. A capped output never ended, so it violates whatever it contains.
    pub fn measure(&self, y: &Candidate) -> Violation {
        let violation = self.check(&y.output);
        if y.capped && violation.is_satisfied() {
            return Violation::Whole(1.0 / y.output.len().max(1) as f32);
        }
        violation
    }

    /// Whether a candidate is complete and satisfies the constraint.
    pub fn accepts(&self, y: &Candidate) -> bool {
        !y.capped && self.check(&y.output).is_satisfied()
    }

    /// The feasible set as an automaton, if the constraint has one.
    pub fn automaton(&self) -> Option<Rc<dyn Automaton + 'a>> {
        let mut known = self.automaton.borrow_mut();
        match &*known {
            Known::Absent => return None,
            Known::Built(automaton) => return Some(Rc::clone(automaton)),
            Known::Nothing | Known::Present => {}
        }
        match self.rule.automaton() {
            None => {
                *known = Known::Absent;
                None
            }
            Some(built) => {
                let automaton: Rc<dyn Automaton + 'a> = Rc::from(built);
                *known = Known::Built(Rc::clone(&automaton));
                Some(automaton)
            }
        }
    }

    /// Whether the constraint has an automaton.
    pub fn has_automaton(&self) -> bool {
        match &*self.automaton.borrow() {
            Known::Absent => return false,
            Known::Present | Known::Built(_) => return true,
            Known::Nothing => {}
        }
        self.automaton().is_some()
    }

    /// Frees the automaton, which may be large, until a search asks for it again.
    pub fn free_automaton(&self) {
        let mut known = self.automaton.borrow_mut();
        if let Known::Built(_) = *known {
            *known = Known::Present;
        }
    }

    /// Whether time is up, the run was cancelled, or nobody waits any more.
    pub fn is_late(&self) -> bool {
        let is_cancelled = self.cancel.as_ref().is_some_and(Cancel::is_set);
        let is_over = self.deadline().is_some_and(|until| until <= Instant::now());
        is_cancelled || self.has_left() || is_over || self.clock.is_up()
    }

    /// When the search ends at the latest, whether it has begun or not.
    pub fn deadline(&self) -> Option<Instant> {
        [self.until, self.source_until.get()].into_iter().flatten().min()
    }

    /// Whether nobody waits any more.
    pub fn has_left(&self) -> bool {
        self.watcher.is_some_and(Watcher::has_left)
    }
}
