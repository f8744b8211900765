//! One output under repair: turns the results of engines into answers.

use std::time::Duration;

use cajole_core::{
    Candidate, Constraint, Fault, Found, Job, Model, Outcome, Stop, Symbol, Wanted, Watcher,
};
use cajole_rules::Rules;

use crate::engine::{Answer, Engine, Status};
use crate::progress::Progress;
use crate::requirement::Requirement;
use crate::settings::Settings;
use crate::task::{Case, Task};
use crate::time::Time;
use crate::waiter::Awaited;
use crate::worker::{Failing, input};

/// One input under repair.
pub(crate) struct Attempt<'a, T: Task> {
    pub(crate) of: Failing<'a, T>,
    pub(crate) rules: &'a Rules,
    requirement: &'a Requirement<'a>,
    pub(crate) g_before: f32,
    pub(crate) time: Time,
}

impl<T: Task> Clone for Attempt<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Task> Copy for Attempt<'_, T> {}

impl<'a, T: Task> Attempt<'a, T> {
    pub(crate) fn new(
        of: Failing<'a, T>,
        (rules, requirement): (&'a Rules, &'a Requirement<'a>),
        settings: &Settings,
    ) -> Self {
        let share = |all: Duration| all.saturating_sub(of.used) / of.among.max(1) as u32;
        let until = of.awaited.and_then(Awaited::until);
        let time = Time { until, left: settings.deadline().map(share) };
        Attempt { of, rules, requirement, g_before: g_of(rules, of.case, of.first), time }
    }

    /// Who waits for it.
    fn watcher(&self) -> Option<&'a dyn Watcher> {
        self.of.awaited.map(|awaited| awaited as &dyn Watcher)
    }

    /// What searches ask.
    pub(crate) fn wanted(&self, settings: &Settings) -> Wanted<'a, <T::Model as Model>::Input> {
        let mut wanted = Wanted::new(input::<T>(self.of.case), self.requirement);
        (wanted.until, wanted.watcher) = (self.time.until, self.watcher());
        wanted.cancel = Some(settings.cancel.clone());
        wanted
    }

    /// What descents ask. `targets` are satisfying outputs that are known already.
    pub(crate) fn job<'s>(
        &'s self,
        targets: Option<&'s [Vec<Symbol>]>,
        within: Option<Duration>,
    ) -> Job<'s, <T::Model as Model>::Input> {
        let mut job = Job::new(input::<T>(self.of.case), self.requirement);
        (job.until, job.within) = (self.time.until, within);
        (job.watcher, job.targets) = (self.watcher(), targets);
        job
    }

    /// The network's own output, after this many passes without success.
    pub(crate) fn keep(&self, engine: Engine, passes: usize) -> Answer {
        Answer {
            g_after: self.g_before,
            passes,
            ..own(engine.name(), self.of.first, self.g_before)
        }
    }

    /// The result of a search: the least violating candidate, if it violates less.
    pub(crate) fn found(&self, engine: Engine, found: &Found) -> Answer {
        let kept = self.keep(engine, found.passes);
        let g = |y: &Candidate| g_of(self.rules, self.of.case, y);
        let least = found.candidates().iter().map(|y| (g(y), y));
        let least = least.filter(|(g, _)| *g < self.g_before);
        match least.reduce(|a, b| if b.0 < a.0 { b } else { a }) {
            Some((g_after, y)) => Answer {
                output: y.output.clone(),
                status: if g_after == 0.0 { Status::Satisfied } else { Status::Improved },
                g_after,
                log_prob: Some(y.log_prob),
                ..kept
            },
            None => kept,
        }
    }

    /// The result of gradient-based inference. It decodes in its own way, so the network's first
    /// output may still be better.
    pub(crate) fn outcome(&self, outcome: Outcome) -> Answer {
        let is_better = outcome.g_after < self.g_before;
        let status = match outcome.stop {
            Stop::AlreadySatisfied | Stop::Satisfied => Status::Satisfied,
            Stop::Deadline => Status::TimedOut,
            Stop::Unmeasured => Status::Unmeasured,
            Stop::Cancelled => Status::Cancelled,
            Stop::Failed => Status::Failed,
            _ if is_better => Status::Improved,
            _ => Status::Unchanged,
        };
        let Outcome { output, g_after, steps, passes, trace, failure, .. } = outcome;
        let elapsed = trace.steps().last().map_or(Duration::ZERO, |step| step.elapsed);
        let kept = self.keep(Engine::Gbi, passes);
        let kept =
            Answer { status, steps: Some(steps), trace: Some(trace), failure, elapsed, ..kept };
        match is_better {
            true => Answer { output, g_after, log_prob: None, ..kept },
            false => kept,
        }
    }

    /// The best answer in the end: says why it does not satisfy, and whether time ran out.
    pub(crate) fn complete(&self, progress: Progress) -> Answer {
        let (is_late, mut answer) = (progress.time.is_up(), progress.answer);
        if matches!(answer.status, Status::Improved | Status::Unchanged) && is_late {
            answer.status = Status::TimedOut;
        }
        if answer.status != Status::Satisfied {
            answer.faults = self.explain(&answer);
        }
        answer
    }

    fn explain(&self, answer: &Answer) -> Vec<Fault> {
        let y = &answer.output;
        let mut faults = self.rules.explain(&self.of.case.subject, y);
        if faults.is_empty() {
            let message = "the output was cut off: the network did not end it".to_owned();
            faults.push(Fault { at: y.len()..y.len() + 1, cost: answer.g_after, message });
        }
        faults
    }
}

/// The network's own output as an answer.
pub(crate) fn own(engine: &'static str, first: &Candidate, g: f32) -> Answer {
    let status = match g {
        0.0 => Status::Satisfied,
        g if g.is_nan() => Status::Unmeasured,
        _ => Status::Unchanged,
    };
    Answer {
        output: first.output.clone(),
        status,
        g_before: g,
        g_after: g,
        log_prob: Some(first.log_prob),
        steps: None,
        passes: 0,
        faults: Vec::new(),
        note: None,
        failure: None,
        engine,
        trace: None,
        elapsed: Duration::ZERO,
    }
}

/// `g` of a candidate; one that was cut off violates, whatever it contains.
pub(crate) fn g_of<I>(rules: &Rules, case: &Case<I>, y: &Candidate) -> f32 {
    match rules.check(&case.subject, &y.output).total() {
        0.0 if y.capped => 1.0 / y.output.len().max(1) as f32,
        g => g,
    }
}
