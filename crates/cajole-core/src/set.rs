//! The inputs that Algorithm 1 works on together, and those waiting for a slot.
//!
//! A finished input leaves the set and another takes its slot, so that passes stay full. No input's
//! result depends on the others. So if a call on the whole set fails, such as a GPU running out of
//! memory, all its inputs can start over in smaller sets. An input that fails alone ends as
//! [`Stop::Failed`].

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use crate::backend_error::BackendError;
use crate::cancel::Cancel;
use crate::constraint::Constraint;
use crate::decoder::{Found, Session, Sought};
use crate::descent::{Descent, Next};
use crate::gbi::Gbi;
use crate::model::{Model, Move, Pass, Symbol};
use crate::trace::{Outcome, Stop};
use crate::wanted::Wanted;
use crate::watcher::Watcher;
use crate::workspace::Workspace;

/// An input, and the constraint on its output: `Job::new(&x, &constraint).within(second)`.
#[non_exhaustive]
pub struct Job<'a, X: ?Sized> {
    /// `x`.
    pub input: &'a X,
    /// `g(y, Lˣ)`.
    pub constraint: &'a dyn Constraint<X>,
    /// When to give up at the latest, even if the work has not begun.
    pub until: Option<Instant>,
    /// How long to work on it, if less than [`Config::deadline`](crate::Config::deadline) says. Its
    /// time begins when its work does: while it waits for others, it uses none.
    pub within: Option<Duration>,
    /// Known satisfying outputs; sources are then not queried. `Some(&[])` says that querying them
    /// would be futile.
    pub targets: Option<&'a [Vec<Symbol>]>,
    /// The caller that waits for it, if it wants to watch or leave.
    pub watcher: Option<&'a dyn Watcher>,
}

impl<'a, X: ?Sized> Job<'a, X> {
    /// An input, and the constraint on its output.
    pub fn new(input: &'a X, constraint: &'a dyn Constraint<X>) -> Self {
        Job { input, constraint, until: None, within: None, targets: None, watcher: None }
    }

    /// Gives up at `until` at the latest, even if the work has not begun.
    #[must_use]
    pub fn until(self, until: Instant) -> Self {
        Job { until: Some(until), ..self }
    }

    /// Gives up after this time, counted from the start of its work.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        Job { within: Some(time), ..self }
    }

    /// Aims at these satisfying outputs and queries no sources.
    #[must_use]
    pub fn targets(self, targets: &'a [Vec<Symbol>]) -> Self {
        Job { targets: Some(targets), ..self }
    }

    /// Tells `watcher` of every decode, and ends when it leaves.
    #[must_use]
    pub fn watcher(self, watcher: &'a dyn Watcher) -> Self {
        Job { watcher: Some(watcher), ..self }
    }
}

impl<X: ?Sized> Clone for Job<'_, X> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X: ?Sized> Copy for Job<'_, X> {}

/// A short list that avoids heap allocation.
pub(crate) type Short<T> = SmallVec<[T; 20]>;

impl<'a, X: ?Sized> Job<'a, X> {
    /// The constraint as searches query it, for a run that ends with `cancel`.
    pub(crate) fn wanted(&self, cancel: &Cancel) -> Wanted<'a> {
        let mut wanted = Wanted::new(self.input, self.constraint);
        (wanted.until, wanted.within) = (self.until, self.within);
        wanted.targets = self.targets.map(<[_]>::to_vec);
        (wanted.watcher, wanted.cancel) = (self.watcher, Some(cancel.clone()));
        wanted
    }
}

/// A set of inputs in progress.
pub(crate) struct Set<'r, 'a, M: Model> {
    gbi: &'r Gbi<'r, M>,
    /// The inputs, with what is wanted of their outputs.
    jobs: &'r [Sought<'r, 'a, M>],
    /// Jobs without a slot.
    waiting: VecDeque<usize>,
    /// How many inputs may be in flight.
    places: usize,
    /// The inputs in flight, in the workspace's order.
    flight: Vec<Sought<'r, 'a, M>>,
    pub(crate) own: &'r mut Workspace<M>,
    done: &'r mut dyn FnMut(usize, Outcome),
}

impl<'r, 'a, M: Model> Set<'r, 'a, M> {
    pub(crate) fn new(
        gbi: &'r Gbi<'r, M>,
        jobs: &'r [Sought<'r, 'a, M>],
        own: &'r mut Workspace<M>,
        done: &'r mut dyn FnMut(usize, Outcome),
    ) -> Self {
        own.prepare(&gbi.moving);
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        // Inputs of similar size run together, so that few rows wait for the longest.
        order.sort_by_key(|&i| std::cmp::Reverse(gbi.model.size(jobs[i].pass.input)));
        let (waiting, places) = (order.into(), gbi.in_step);
        Set { gbi, jobs, waiting, places, flight: Vec::new(), own, done }
    }

    pub(crate) fn len(&self) -> usize {
        self.flight.len()
    }

    /// Fills free slots with waiting inputs. Returns whether any input is in flight.
    pub(crate) fn refill(&mut self) -> Result<bool, BackendError> {
        let Gbi { model, config, moving, cancel, .. } = self.gbi;
        if cancel.is_set() {
            self.turn_away(Stop::Cancelled, None);
        }
        while self.len() < self.places
            && let Some(&job) = self.waiting.front()
        {
            let (mut own, found, mut descent) = match self.own.spare.pop() {
                Some(spare) => spare,
                None => match model.nudge(moving) {
                    Ok(nudge) => (new_move(nudge, self.gbi), Found::default(), Descent::default()),
                    Err(failure) if self.len() == 0 => return Err(failure),
                    // No room for another nudge: continue with those in flight.
                    Err(_) => {
                        self.places = self.len();
                        break;
                    }
                },
            };
            self.waiting.pop_front();
            let sought = self.jobs[job];
            descent.begin(job, config, moving.n_weights(), sought.wanted);
            if let Some(targets) = &sought.wanted.targets {
                targets.iter().for_each(|y| descent.targets.add().output.clone_from(y));
                descent.is_aimed = true;
            }
            begin_attempt(&mut own, &descent, self.gbi);
            self.own.moves.push(own);
            self.own.found.push(found);
            self.own.descents.push(descent);
            self.flight.push(sought);
        }
        Ok(self.len() != 0)
    }

    /// The passes to decode: every input under its `W_λ`, which is `W` before the first step.
    pub(crate) fn decoding<'s>(
        &'s mut self,
        model: &'s M,
    ) -> (Short<Pass<'s, M>>, Session<'s, M>, &'s mut [Found]) {
        let Workspace { scratch, buffers, moves, found, descents, .. } = &mut *self.own;
        let all = moves.iter().zip(&self.flight).zip(descents);
        let passes =
            all.map(|((own, sought), of)| Pass { until: of.until, ..pass(own, sought, None) });
        (passes.collect(), Session { model, scratch, buffers }, found)
    }

    /// Records that every input has been decoded: the recording holds them in this order.
    pub(crate) fn decoded(&mut self) {
        let Workspace { moves, found, descents, .. } = &mut *self.own;
        for (i, (own, descent)) in moves.iter_mut().zip(descents).enumerate() {
            own.place = i;
            descent.passes += found[i].passes;
        }
    }

    /// Measures the violation of every decoded output.
    pub(crate) fn check(&mut self, cancel: &Cancel) {
        let Workspace { moves, found, descents, .. } = &mut *self.own;
        let all = descents.iter_mut().zip(moves.iter()).zip(found.iter().zip(&self.flight));
        for ((descent, own), (found, Sought { wanted, .. })) in all {
            let Some(decoded) = found.best() else {
                (descent.ended, descent.failure) =
                    (Some(Stop::Failed), Some(BackendError::new("the decoder found no output")));
                continue;
            };
            descent.violation = Some(wanted.measure(decoded));
            if !descent.is_repeated(own.t) {
                let is_cancelled = cancel.is_set() || wanted.has_left();
                descent.note(decoded, (own.t, own.distance), is_cancelled, wanted.watcher);
            }
        }
    }

    /// The inputs that still violate and satisfy `is`. Sources may use half of the remaining time.
    pub(crate) fn seeking(&mut self, is: impl Fn(&Descent) -> bool) -> Short<usize> {
        let (moves, all) = (&self.own.moves, self.own.descents.iter().enumerate());
        let chosen = all.filter(|(i, d)| d.ended.is_none() && is(d) && !moves[*i].is_over);
        let chosen: Short<usize> = chosen.map(|(i, _)| i).collect();
        for &i in &chosen {
            self.flight[i].wanted.source_until.set(self.own.descents[i].halfway());
        }
        let Workspace { proposed, .. } = &mut *self.own;
        if proposed.len() < chosen.len() {
            proposed.resize_with(chosen.len(), Found::default);
        }
        chosen
    }

    /// Queries the `source`-th source for these inputs; proposals come in the same order.
    pub(crate) fn consult(&mut self, source: usize, chosen: &[usize]) -> Result<(), BackendError> {
        let Workspace { scratch, buffers, moves, proposed, descents, .. } = &mut *self.own;
        let sought: Short<Sought<'_, '_, M>> = chosen
            .iter()
            .map(|&i| Sought {
                pass: pass(&moves[i], &self.flight[i], Some(moves[i].place)),
                wanted: self.flight[i].wanted,
            })
            .collect();
        let mut session = Session { model: self.gbi.model, scratch, buffers };
        let proposed = &mut proposed[..chosen.len()];
        self.gbi.sources[source].search(&mut session, &sought, proposed)?;
        for (&i, proposed) in chosen.iter().zip(proposed) {
            descents[i].passes += proposed.passes;
        }
        Ok(())
    }

    /// The parts that objectives work on, input by input.
    pub(crate) fn parts(&mut self) -> (&mut Workspace<M>, &[Sought<'r, 'a, M>]) {
        (self.own, &self.flight)
    }

    /// Whether any descent is still running.
    pub(crate) fn is_moving(&self) -> bool {
        self.own.moves.iter().any(|own| !own.is_over)
    }

    /// The moves, and the scratch with the recording.
    pub(crate) fn moving(&mut self) -> (&mut [Move<M::Nudge>], &mut M::Scratch) {
        (&mut self.own.moves, &mut self.own.scratch)
    }

    /// Hands out finished inputs; those whose attempt has ended begin the next one.
    pub(crate) fn retire(&mut self) {
        let mut i = 0;
        while i < self.len() {
            let descent = &mut self.own.descents[i];
            match descent.ended.map(|stop| descent.next_attempt(stop, &self.gbi.config)) {
                Some(Next::Over(stop)) => {
                    self.leave(i, stop);
                    continue;
                }
                // It must be decoded under W again: the recording is of other weights.
                Some(Next::Attempt) => {
                    begin_attempt(&mut self.own.moves[i], &self.own.descents[i], self.gbi);
                    self.own.moves[i].is_over = true;
                }
                None => {}
            }
            i += 1;
        }
    }

    /// Ends attempts whose gradient vanished.
    pub(crate) fn end_stuck(&mut self) {
        for (own, descent) in self.own.moves.iter_mut().zip(&mut self.own.descents) {
            if !own.is_over && own.norm == 0.0 {
                (own.is_over, descent.ended) = (true, Some(Stop::Stuck));
            }
        }
    }

    /// Counts the steps just taken, and ends attempts whose weights are non-finite.
    pub(crate) fn stepped(&mut self) {
        for (own, descent) in self.own.moves.iter_mut().zip(&mut self.own.descents) {
            if !own.is_over {
                own.t += 1;
                descent.stepped();
                if !own.distance.is_finite() {
                    descent.ended = Some(Stop::Diverged);
                }
            }
        }
        // Such an attempt has nothing to decode.
        self.retire();
        self.own.moves.iter_mut().for_each(|own| own.is_over = false);
    }

    /// After a failed call, restarts all inputs in flight in sets half as large. A single input has
    /// failed.
    pub(crate) fn start_over_in_smaller_sets(&mut self, failure: &BackendError) {
        if self.len() == 0 {
            // Not even one could begin.
            self.turn_away(Stop::Failed, Some(failure));
        } else if self.len() == 1 {
            // It explains why larger sets failed, so return to full-sized ones.
            self.places = self.gbi.in_step;
            let descent = &mut self.own.descents[0];
            (descent.ended, descent.failure) = (Some(Stop::Failed), Some(failure.clone()));
            self.retire();
        } else {
            self.places = self.len().div_ceil(2);
            while let Some(last) = self.len().checked_sub(1) {
                self.waiting.push_front(self.own.descents[last].job);
                self.put_aside(last);
            }
        }
    }

    /// Ends every input that has no place yet.
    fn turn_away(&mut self, stop: Stop, failure: Option<&BackendError>) {
        while let Some(job) = self.waiting.pop_front() {
            let mut descent = Descent::default();
            descent.failure = failure.cloned();
            (self.done)(job, descent.outcome(stop));
        }
    }

    fn leave(&mut self, i: usize, stop: Stop) {
        let descent = &mut self.own.descents[i];
        (self.done)(descent.job, descent.outcome(stop));
        self.put_aside(i);
    }

    fn put_aside(&mut self, i: usize) {
        let Workspace { moves, found, descents, spare, .. } = &mut *self.own;
        let left = self.flight.swap_remove(i).wanted;
        left.source_until.set(None);
        left.free_automaton();
        spare.push((moves.swap_remove(i), found.swap_remove(i), descents.swap_remove(i)));
    }
}

/// An input as a pass sees it. It has its `W_λ` from the start, so that a backend knows which
/// inputs will need gradients.
pub(crate) fn pass<'s, 'a: 's, M: Model>(
    own: &'s Move<M::Nudge>,
    sought: &Sought<'s, 'a, M>,
    place: Option<usize>,
) -> Pass<'s, M> {
    Pass { input: sought.pass.input, nudge: Some(&own.nudge), place, until: None }
}

fn new_move<M: Model>(nudge: M::Nudge, gbi: &Gbi<'_, M>) -> Move<M::Nudge> {
    Move {
        nudge,
        place: 0,
        t: 0,
        schedule: gbi.config.schedule,
        pull: gbi.config.pull,
        blame: Vec::new(),
        norm: 0.0,
        distance: 0.0,
        is_over: false,
    }
}

/// `W_λ ← W`.
fn begin_attempt<M: Model>(own: &mut Move<M::Nudge>, descent: &Descent, gbi: &Gbi<'_, M>) {
    gbi.model.restore(&mut own.nudge);
    own.schedule = descent.schedule(&gbi.config);
    own.pull = gbi.config.pull;
    (own.t, own.distance, own.is_over) = (0, 0.0, false);
}
