//! The state of one input under repair: what engines have found so far.

use std::time::Duration;

use cajole_core::Symbol;

use crate::engine::{Answer, Engine, Rival, Status};
use crate::time::Time;

/// The work on one input, under one engine.
pub(crate) struct Progress {
    engine: Engine,
    /// What is left of its time.
    pub(crate) time: Time,
    /// The best so far.
    pub(crate) answer: Answer,
    /// The satisfying outputs found so far.
    known: Vec<Vec<Symbol>>,
    /// Whether the best output is provably the most probable that satisfies.
    is_proven: bool,
}

impl Progress {
    /// Nothing has been tried; `answer` is the network's own output.
    pub(crate) fn new(engine: Engine, time: Time, answer: Answer) -> Self {
        Progress { engine, time, answer, known: Vec::new(), is_proven: false }
    }

    /// Whether this engine is to be run next, and there is time for it.
    pub(crate) fn awaits(&self, next: Engine) -> bool {
        !self.time.is_up() && self.is_for(next)
    }

    fn is_for(&self, next: Engine) -> bool {
        match self.engine {
            Engine::Auto => !self.is_proven && is_tried(next),
            Engine::Usual => next == Engine::Gbi,
            own => next == own,
        }
    }

    /// The outputs that descents aim at; `None` if they must look for some. A search that has just
    /// failed is not repeated.
    pub(crate) fn targets(&self) -> Option<&[Vec<Symbol>]> {
        self.is_compared().then_some(&*self.known)
    }

    /// Whether several engines are tried and the most probable output wins.
    pub(crate) fn is_compared(&self) -> bool {
        self.engine == Engine::Auto
    }

    /// Takes in the answer of an engine.
    pub(crate) fn meet(&mut self, engine: Engine, answer: Answer) {
        if answer.status == Status::TimedOut {
            self.time.left = self.time.left.map(|_| Duration::ZERO);
        }
        if !self.is_compared() {
            self.answer = answer;
            return;
        }
        let (best, status) = (&mut self.answer, answer.status);
        let is_satisfied = status == Status::Satisfied;
        if is_satisfied && !self.known.contains(&answer.output) {
            self.known.push(answer.output.clone());
        }
        self.is_proven |= is_satisfied && engine == Engine::Rival(Rival::Exact);
        let passes = best.passes + answer.passes;
        let elapsed = best.elapsed + answer.elapsed;
        if answer.is_better_than(best) {
            *best = answer;
        } else if engine == Engine::Gbi && !is_satisfied && best.status == Status::Unchanged {
            best.status = status;
        }
        (best.passes, best.elapsed) = (passes, elapsed);
    }
}

/// Whether `auto` tries an engine.
fn is_tried(engine: Engine) -> bool {
    let searches = [Rival::Masked, Rival::Exact, Rival::Beam].map(Engine::Rival);
    engine == Engine::Gbi || searches.contains(&engine)
}
