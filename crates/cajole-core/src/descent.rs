//! The state of one input of a set: its attempts, its best output so far, its trace.
//!
//! An attempt is one descent from `W`, with one schedule of the restart ladder, towards one of the
//! racing candidates. [`Descent::next_attempt`] decides what follows when one ends.

use std::time::{Duration, Instant};

use crate::backend_error::BackendError;
use crate::config::{Config, Schedule};
use crate::constraint::Violation;
use crate::decoder::Found;
use crate::model::{Candidate, Mark, Symbol};
use crate::trace::{Outcome, Stop, Trace};
use crate::wanted::Wanted;
use crate::watcher::Watcher;

/// The work on one input.
#[derive(Default)]
pub(crate) struct Descent {
    /// The index of the job.
    pub(crate) job: usize,
    started: Option<Instant>,
    /// The deadline.
    pub(crate) until: Option<Instant>,
    /// `g(y, Lˣ)` of the last decode.
    pub(crate) violation: Option<Violation>,
    /// The satisfying candidates to raise; they race if there are several.
    pub(crate) targets: Found,
    /// Whether targets have been looked for.
    pub(crate) is_aimed: bool,
    /// The current schedule of the ladder, and the current target.
    rung: usize,
    runner: usize,
    /// Number of earlier attempts.
    attempt: usize,
    /// `M`; in a race, fewer steps than the current winner took.
    limit: usize,
    /// How the current attempt ended.
    pub(crate) ended: Option<Stop>,
    /// The satisfying output reached in the fewest steps so far, on this rung.
    winner: Option<Vec<Symbol>>,
    pub(crate) passes: usize,
    steps: usize,
    /// `ŷ`, to lower, and `y⁺`, to raise.
    pub(crate) lowered: Candidate,
    pub(crate) raised: Candidate,
    pub(crate) costs: Vec<f32>,
    pub(crate) failure: Option<BackendError>,
    trace: Trace,
}

/// What to do after an attempt has ended.
pub(crate) enum Next {
    /// Another attempt.
    Attempt,
    /// Nothing: the input ended like this.
    Over(Stop),
}

impl Descent {
    /// Starts a new input, keeping buffers.
    pub(crate) fn begin(
        &mut self,
        job: usize,
        config: &Config,
        moving: usize,
        wanted: &Wanted<'_>,
    ) {
        self.job = job;
        let now = Instant::now();
        self.started = Some(now);
        let within = [config.deadline, wanted.within].into_iter().flatten().min();
        let deadline = within.and_then(|within| now.checked_add(within));
        self.until = [wanted.until, deadline].into_iter().flatten().min();
        self.violation = None;
        self.targets.clear();
        self.is_aimed = false;
        (self.rung, self.runner, self.attempt) = (0, 0, 0);
        self.limit = config.schedule.max_steps;
        (self.ended, self.winner, self.failure) = (None, None, None);
        (self.passes, self.steps) = (0, 0);
        self.trace.clear();
        self.trace.moving = moving;
    }

    /// The current schedule.
    pub(crate) fn schedule(&self, config: &Config) -> Schedule {
        match self.rung {
            0 => config.schedule,
            rung => config.restarts.get(rung - 1).copied().unwrap_or(config.schedule),
        }
    }

    /// The candidate to raise, if there is one, and where its recording goes.
    pub(crate) fn aim(&mut self) -> Option<(&[Symbol], &mut Candidate)> {
        let target = self.targets.candidates().get(self.runner)?;
        Some((&target.output, &mut self.raised))
    }

    /// `g` of the last decode.
    pub(crate) fn g(&self) -> f32 {
        self.violation.as_ref().map_or(f32::NAN, Violation::total)
    }

    /// The instant at which half of the remaining time will be used.
    pub(crate) fn halfway(&self) -> Option<Instant> {
        let now = Instant::now();
        Some(now + self.until?.saturating_duration_since(now) / 2)
    }

    /// Whether this decode repeats the first one, because a later attempt starts at `W` again. Ends
    /// an attempt that has no steps.
    pub(crate) fn is_repeated(&mut self, t: usize) -> bool {
        let is_repeated = t == 0 && 0 < self.attempt;
        if is_repeated && self.limit == 0 {
            self.ended = Some(Stop::StepLimit);
        }
        is_repeated
    }

    /// Adds a decode to the trace, notifies the watcher, and decides whether the attempt has ended.
    pub(crate) fn note(
        &mut self,
        decoded: &Candidate,
        (t, distance): (usize, f32),
        is_cancelled: bool,
        watcher: Option<&dyn Watcher>,
    ) {
        let (g, now) = (self.g(), Instant::now());
        let elapsed = self.started.map_or(Duration::ZERO, |started| now - started);
        let is_late = self.until.is_some_and(|until| until <= now);
        let is_cut_off = is_late && decoded.capped;
        // An output that was cut off in the middle is used only if there is no other.
        if t == 0 || !is_cut_off {
            self.trace.push((self.attempt, t), decoded, (g, distance), (self.passes, elapsed));
            self.tell(watcher);
        }
        self.ended = if g == 0.0 && t == 0 {
            Some(Stop::AlreadySatisfied)
        } else if g == 0.0 {
            self.winner = Some(decoded.output.clone());
            self.limit = t - 1;
            Some(Stop::Satisfied)
        } else if g.is_nan() {
            Some(Stop::Unmeasured)
        } else if is_cancelled {
            Some(Stop::Cancelled)
        } else if is_late && (t != 0 || is_cut_off) {
            Some(Stop::Deadline)
        } else {
            (self.limit <= t).then_some(Stop::StepLimit)
        };
    }

    /// Tells of the decode that was noted last.
    fn tell(&self, watcher: Option<&dyn Watcher>) {
        if let (Some(watcher), Some(step)) = (watcher, self.trace.steps().last()) {
            watcher.decoded(step, self.trace.output(step));
        }
    }

    /// Counts a step.
    pub(crate) fn stepped(&mut self) {
        self.steps += 1;
    }

    /// What follows an attempt that ended with `stop`: the next candidate of the race, the next
    /// schedule of the ladder, or nothing.
    pub(crate) fn next_attempt(&mut self, stop: Stop, config: &Config) -> Next {
        let is_final = matches!(
            stop,
            Stop::AlreadySatisfied
                | Stop::Deadline
                | Stop::Unmeasured
                | Stop::Cancelled
                | Stop::Failed
        );
        if is_final {
            return Next::Over(if self.winner.is_some() { Stop::Satisfied } else { stop });
        }
        self.runner += 1;
        // In a race, each candidate must be reached in fewer steps than the one before.
        if self.targets.candidates().len() <= self.runner || self.limit == 0 {
            if self.winner.is_some() {
                return Next::Over(Stop::Satisfied);
            }
            if config.restarts.len() <= self.rung {
                return Next::Over(stop);
            }
            self.rung += 1;
            self.runner = 0;
            self.limit = self.schedule(config).max_steps;
        }
        self.attempt += 1;
        self.ended = None;
        Next::Attempt
    }

    /// The outcome: the satisfying output, or the least-violating one seen.
    pub(crate) fn outcome(&mut self, stop: Stop) -> Outcome {
        let first = self.trace.steps().first();
        let g_before = first.map_or(f32::NAN, |step| step.g);
        let best = self.trace.best();
        let (output, g_after, capped) = match (&mut self.winner, best) {
            (Some(winner), _) => (std::mem::take(winner), 0.0, false),
            (None, Some(best)) => (self.trace.output(best).to_vec(), best.g, best.capped),
            (None, None) => (Vec::new(), f32::NAN, false),
        };
        let (steps, passes) = (self.steps, self.passes);
        let (failure, trace) = (self.failure.take(), self.trace.clone());
        Outcome { output, stop, g_before, g_after, capped, steps, passes, failure, trace }
    }
}

/// Spreads `scale ×` a violation over the recorded positions of `y`.
pub(crate) fn spread(
    violation: &Violation,
    scale: f32,
    y: &Candidate,
    costs: &mut Vec<f32>,
    blame: &mut Vec<(Mark, f32)>,
) {
    costs.clear();
    costs.resize(y.marks.len(), 0.0);
    violation.spread(scale, costs);
    blame.extend(y.marks.iter().copied().zip(costs.iter().copied()));
}
