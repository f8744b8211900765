//! Calls that fail on demand, and a log of all calls.

use std::collections::BTreeMap;
use std::sync::Mutex;

use cajole_core::BackendError;

/// The kinds of calls to the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// `Model::nudge`.
    Nudge,
    /// `TagScorer::read` or `Stepper::begin`, kept for a backward pass.
    Decode,
    /// The same, not kept.
    Search,
    /// `Stepper::step`.
    Step,
    /// `Model::force`.
    Force,
    /// `Model::gradient`.
    Gradient,
    /// `Model::take_step`.
    TakeStep,
}

/// When a call fails.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The `n`-th call of this kind, from 0.
    Nth(Call, usize),
    /// Every call of this kind from the `n`-th on.
    From(Call, usize),
    /// Every call of this kind that has this input in its set. (Steps do not know their inputs.)
    Input(Call, usize),
    /// Every call of this kind for more inputs than this: a GPU runs out of memory.
    Above(Call, usize),
}

/// Which calls fail, and which have been made.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) planned: Vec<Fault>,
    made: Mutex<BTreeMap<Call, Vec<Vec<usize>>>>,
}

impl Faults {
    /// Notes a call for these inputs, and fails if that is planned.
    pub(crate) fn call(
        &self,
        call: Call,
        inputs: impl IntoIterator<Item = usize>,
    ) -> Result<(), BackendError> {
        let inputs: Vec<usize> = inputs.into_iter().collect();
        let mut made = self.made.lock().unwrap();
        let made = made.entry(call).or_default();
        let n = made.len();
        made.push(inputs.clone());
        let fails = |fault: &&Fault| match **fault {
            Fault::Nth(which, nth) => which == call && nth == n,
            Fault::From(which, first) => which == call && first <= n,
            Fault::Input(which, input) => which == call && inputs.contains(&input),
            Fault::Above(which, most) => which == call && most < inputs.len(),
        };
        match self.planned.iter().find(fails) {
            Some(fault) => Err(BackendError::new(format!("{fault:?}"))),
            None => Ok(()),
        }
    }

    /// The inputs of every call of this kind so far.
    pub(crate) fn made(&self, call: Call) -> Vec<Vec<usize>> {
        self.made.lock().unwrap().get(&call).cloned().unwrap_or_default()
    }
}
