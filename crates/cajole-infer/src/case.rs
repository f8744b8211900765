//! One input with everything that belongs to it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use cajole_core::Symbol;
use cajole_rules::Subject;

/// One input with everything that belongs to it. A line has one; a sentence has one for each
/// predicate.
///
/// The driver handles the cases of all networks alike. What a network reads is of its own type, and
/// only the task that made the case looks at it, with [`Case::input`].
#[derive(Clone)]
pub struct Case {
    /// The input as rules see it.
    pub subject: Subject,
    /// The right output, if it was given.
    pub gold: Option<Vec<Symbol>>,
    input: Arc<dyn Any + Send + Sync>,
}

/// An input with an output for it.
pub type Output<'a> = (&'a Case, &'a [Symbol]);

impl Case {
    /// An input: as the network reads it, and as rules see it.
    pub fn new<I: Send + Sync + 'static>(input: I, subject: Subject) -> Self {
        Case { subject, gold: None, input: Arc::new(input) }
    }

    /// With the right output, if it is known.
    #[must_use]
    pub fn with_gold(self, gold: Option<Vec<Symbol>>) -> Self {
        Case { gold, ..self }
    }

    /// The input as its network reads it.
    ///
    /// # Panics
    /// If the case was made with an input of another type.
    pub fn input<I: 'static>(&self) -> &I {
        self.input.downcast_ref().expect("a case goes back to the task that made it")
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { subject, gold, .. } = self;
        f.debug_struct("Case").field("subject", subject).field("gold", gold).finish_non_exhaustive()
    }
}
