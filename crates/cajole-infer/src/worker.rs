//! One thread's work: first passes here, engines on the outputs that violate in `repair.rs`.
//!
//! Everything is done for many inputs at once. Those under the same rules are repaired in step; the
//! result for one does not depend on the others.

use std::time::{Duration, Instant};

use cajole_core::corpus::together_or_alone;
use cajole_core::decoders::Beam;
use cajole_core::{
    BackendError, Candidate, Decoder, Force, Found, Gbi, Model, Pass, Symbol, UnknownParameter,
    Workspace,
};

use crate::engine::Answer;
use crate::lots::lots;
use crate::settings::Settings;
use crate::task::{Case, Task};
use crate::waiter::Awaited;

/// What one thread works with.
pub struct Worker<'t, T: Task> {
    pub(crate) task: &'t T,
    pub(crate) settings: &'t Settings,
    own: Box<dyn Decoder<T::Model> + 't>,
    pub(crate) gbi: Gbi<'t, T::Model>,
    pub(crate) workspace: Workspace<T::Model>,
    pub(crate) found: Vec<Found>,
}

/// The network's own output.
#[derive(Clone, Debug, Default)]
pub struct First {
    /// The output; capped if the deadline cut it off.
    pub output: Candidate,
    /// How much of its line's time was used up by then. Inputs that go together count an equal
    /// share each.
    pub used: Duration,
}

impl First {
    /// For an input whose line had no time left.
    fn late(used: Duration) -> Self {
        let output = Candidate { capped: true, ..Candidate::default() };
        First { output, used }
    }

    /// Whether time ran out before there was any output.
    pub fn is_late(&self) -> bool {
        self.output.capped && self.output.output.is_empty()
    }
}

/// An output of the network's own that violates its rules.
pub(crate) struct Failing<'a, T: Task> {
    /// The input.
    pub(crate) case: &'a Case<T::Input>,
    /// The network's own output.
    pub(crate) first: &'a Candidate,
    /// Which line it is of.
    pub(crate) line: usize,
    /// How much of its line's time is used up.
    pub(crate) used: Duration,
    /// How many inputs of its line share the rest.
    pub(crate) among: usize,
    /// Who waits for it.
    pub(crate) awaited: Option<&'a Awaited<'a, T>>,
}

impl<T: Task> Clone for Failing<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Task> Copy for Failing<'_, T> {}

impl<'t, T: Task> Worker<'t, T> {
    /// For a task, with these settings.
    ///
    /// # Errors
    /// If they name parameters that the network does not have.
    pub fn new(task: &'t T, settings: &'t Settings) -> Result<Self, UnknownParameter> {
        Worker::within(task, settings, Workspace::new(task.model()))
    }

    /// The same, reusing memory.
    pub(crate) fn within(
        task: &'t T,
        settings: &'t Settings,
        workspace: Workspace<T::Model>,
    ) -> Result<Self, UnknownParameter> {
        let config = &settings.config;
        let gbi = Gbi::with(task.model(), config.clone())?.cancel(settings.cancel.clone());
        // Never narrower than what the network itself decodes with.
        let width = config.width.max(settings.limits.width);
        let gbi = gbi.decoder(task.decoder(Beam { width, ranking: config.ranking }));
        let own = task.decoder(settings.limits.beam());
        let found = vec![Found::default(); task.together().inputs];
        Ok(Worker { task, settings, own, gbi, workspace, found })
    }

    /// The memory, for reuse.
    pub(crate) fn into_workspace(self) -> Workspace<T::Model> {
        self.workspace
    }

    /// The network's own output for every input, in batches of similar size. `lines` says which
    /// inputs share the time of a line; inputs after that time get no output. `until` says when
    /// nobody waits for an input any more: its output is cut off then.
    pub fn firsts(
        &mut self,
        cases: &[&Case<T::Input>],
        lines: &[usize],
        until: impl Fn(usize) -> Option<Instant>,
    ) -> Vec<Result<First, BackendError>> {
        let model = self.task.model();
        let mut used = vec![Duration::ZERO; lines.iter().max().map_or(0, |last| last + 1)];
        let (deadline, together) = (self.settings.deadline(), self.task.together());
        let order = lots((0..cases.len()).collect(), (together.inputs, together.tokens), |i| {
            model.size(input::<T>(cases[i]))
        });
        let nothing = || Err(BackendError::new("the network gave no output"));
        let mut firsts: Vec<_> = cases.iter().map(|_| nothing()).collect();
        for batch in order.iter().flat_map(|lot| lot.chunks(together.inputs)) {
            // The first input of a line is always taken up.
            let is_late = |i: &&usize| {
                let used = used[lines[**i]];
                !used.is_zero() && deadline.is_some_and(|most| most <= used)
            };
            let (late, batch): (Vec<usize>, Vec<usize>) = batch.iter().partition(is_late);
            late.iter().for_each(|&i| firsts[i] = Ok(First::late(used[lines[i]])));
            let failed =
                together_or_alone(&batch, |set| self.skim(cases, set, &until, &mut firsts));
            failed.into_iter().for_each(|(i, failure)| firsts[i] = Err(failure));
            for &i in &batch {
                used[lines[i]] += firsts[i].as_ref().map_or(Duration::ZERO, |first| first.used);
                firsts[i].iter_mut().for_each(|first| first.used = used[lines[i]]);
            }
        }
        if !self.task.sums_log_probs() {
            self.restate(cases, &mut firsts);
        }
        firsts
    }

    /// Gives outputs the network's own log-probabilities.
    fn restate(&mut self, cases: &[&Case<T::Input>], firsts: &mut [Result<First, BackendError>]) {
        let (which, outputs): (Vec<usize>, Vec<Vec<Symbol>>) = firsts
            .iter()
            .enumerate()
            .filter_map(|(i, first)| Some((i, first.as_ref().ok()?.output.output.clone())))
            .unzip();
        let all = which.iter().zip(&outputs).map(|(&i, y)| (cases[i], y.as_slice()));
        let log_probs = self.log_probs(&all.collect::<Vec<_>>());
        for (i, log_prob) in which.into_iter().zip(log_probs) {
            match (&mut firsts[i], log_prob) {
                (Ok(first), Ok(log_prob)) => first.output.log_prob = log_prob,
                (first, Err(failure)) => *first = Err(failure),
                _ => {}
            }
        }
    }

    fn skim(
        &mut self,
        cases: &[&Case<T::Input>],
        batch: &[usize],
        until: impl Fn(usize) -> Option<Instant>,
        firsts: &mut [Result<First, BackendError>],
    ) -> Result<(), BackendError> {
        if batch.is_empty() {
            return Ok(());
        }
        let (model, started) = (self.task.model(), Instant::now());
        let all = self.settings.deadline().and_then(|each| each.checked_mul(batch.len() as u32));
        let all = all.and_then(|all| started.checked_add(all));
        let pass = |&i: &usize| {
            let until = [all, until(i)].into_iter().flatten().min();
            Pass { until, ..Pass::base(input::<T>(cases[i])) }
        };
        let set: Vec<Pass<'_, T::Model>> = batch.iter().map(pass).collect();
        let found = &mut self.found[..set.len()];
        self.own.skim(&mut self.workspace.session(model), &set, found)?;
        let used = started.elapsed() / batch.len() as u32;
        for (&i, found) in batch.iter().zip(found) {
            firsts[i] = match found.best() {
                // Whatever an output is compared with, it is not less probable.
                Some(output) if output.log_prob.is_nan() => Err(BackendError::new(
                    "the network gives no probabilities (log p is NaN): its weights overflow on this \
                     input",
                )),
                Some(output) => Ok(First { output: output.clone(), used }),
                None => Err(BackendError::new("the network gave no output")),
            };
        }
        Ok(())
    }

    /// `log p(y | x, W)` of every output, or why the network failed.
    pub fn log_probs(
        &mut self,
        outputs: &[(&Case<T::Input>, &[Symbol])],
    ) -> Vec<Result<f32, BackendError>> {
        let mut log_probs: Vec<Result<f32, BackendError>> =
            outputs.iter().map(|_| Ok(f32::NAN)).collect();
        let all: Vec<usize> = (0..outputs.len()).collect();
        for batch in all.chunks(self.found.len()) {
            let failed = together_or_alone(batch, |set| self.force(outputs, set, &mut log_probs));
            failed.into_iter().for_each(|(i, failure)| log_probs[i] = Err(failure));
        }
        log_probs
    }

    fn force(
        &mut self,
        outputs: &[(&Case<T::Input>, &[Symbol])],
        batch: &[usize],
        log_probs: &mut [Result<f32, BackendError>],
    ) -> Result<(), BackendError> {
        let model = self.task.model();
        let set: Vec<Pass<'_, T::Model>> =
            batch.iter().map(|&i| Pass::base(input::<T>(outputs[i].0))).collect();
        let mut session = self.workspace.session(model);
        self.own.decode(&mut session, &set, &mut self.found[..set.len()])?;
        let mut forced = vec![Candidate::default(); set.len()];
        let places = set.iter().enumerate().map(|(i, pass)| Pass { place: Some(i), ..*pass });
        let mut forces: Vec<Force<'_, T::Model>> = places
            .zip(batch)
            .zip(&mut forced)
            .map(|((pass, &i), forced)| Force { pass, output: outputs[i].1, forced, passes: 0 })
            .collect();
        model.force(session.scratch, &mut forces)?;
        drop(forces);
        batch.iter().zip(forced).for_each(|(&i, y)| log_probs[i] = Ok(y.log_prob));
        Ok(())
    }

    /// Fills in how probable outputs are, where an engine did not say.
    pub(crate) fn judge(&mut self, mut answers: Vec<(&Case<T::Input>, &mut Answer)>) {
        let sums_log_probs = self.task.sums_log_probs();
        answers.retain(|(_, answer)| answer.log_prob.is_none() || !sums_log_probs);
        let outputs: Vec<(&Case<T::Input>, &[Symbol])> =
            answers.iter().map(|(case, answer)| (*case, answer.output.as_slice())).collect();
        let log_probs = self.log_probs(&outputs);
        answers.iter_mut().zip(log_probs).for_each(|((_, a), p)| a.log_prob = p.ok());
    }
}

/// The pieces that the network reads.
pub(crate) fn input<T: Task>(case: &Case<T::Input>) -> &<T::Model as Model>::Input {
    std::borrow::Borrow::borrow(&case.input)
}
