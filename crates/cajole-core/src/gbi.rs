//! Algorithm 1: gradient-based inference.
//!
//! A network's own decoder returns an output that violates a constraint. Take a private copy of the
//! weights, lower the score of that output by a gradient step, decode again, and repeat until the
//! decoded output satisfies the constraint. The network itself never changes, an output that
//! satisfies the constraint is never touched, and running out of steps is an ordinary outcome.
//!
//! [`Gbi::descend`] is the algorithm, line by line, for all inputs of a set at once: every input
//! takes its own steps on its own `W_λ`, but all take them together, so that a backend can run the
//! whole set in one pass. A single input is a set of one. Restarts, races and traces are per input
//! and live in `descent.rs`.

use crate::backend_error::BackendError;
use crate::cancel::Cancel;
use crate::config::Config;
use crate::constraint::Constraint;
use crate::decoder::{ConstrainedDecoder, Decoder, Sought};
use crate::decoders::Beam;
use crate::model::Model;
use crate::moving::{Moving, UnknownParameter};
use crate::set::{Job, Set};
use crate::trace::Outcome;
use crate::wanted::Wanted;
use crate::workspace::Workspace;

/// Gradient-based inference with a given model, decoder and settings.
pub struct Gbi<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) decoder: Box<dyn Decoder<M> + 'a>,
    pub(crate) sources: Vec<Box<dyn ConstrainedDecoder<M> + 'a>>,
    pub(crate) config: Config,
    pub(crate) moving: Moving,
    pub(crate) in_step: usize,
    pub(crate) cancel: Cancel,
}

impl<'a, M: Model> Gbi<'a, M> {
    /// With the preset [`Config::best`], and the decoder and sources that the model has for it.
    pub fn new(model: &'a M) -> Self {
        Gbi::prepare(model, Config::best(), Moving::all(&model.parameters()))
    }

    /// With these settings, and the decoder and sources that the model has for them.
    ///
    /// # Errors
    /// If a pattern in `config.moves` matches no parameter of the model.
    pub fn with(model: &'a M, config: Config) -> Result<Self, UnknownParameter> {
        let moving = Moving::choose(&model.parameters(), &config.moves)?;
        Ok(Gbi::prepare(model, config, moving))
    }

    fn prepare(model: &'a M, config: Config, moving: Moving) -> Self {
        let sources = config.sources.iter();
        Gbi {
            decoder: model.decoder(Beam { width: config.width, ranking: config.ranking }),
            sources: sources.filter_map(|of| model.search(of, config.ranking).ok()).collect(),
            in_step: model.in_step(&moving).max(1),
            cancel: Cancel::default(),
            model,
            config,
            moving,
        }
    }

    /// A copy that borrows decoder and sources, so that a builder can replace parts for a while.
    #[must_use]
    pub fn lent(&self) -> Gbi<'_, M> {
        let sources = self.sources.iter().map(|source| Box::new(&**source) as _);
        Gbi {
            model: self.model,
            decoder: Box::new(&self.decoder),
            sources: sources.collect(),
            config: self.config.clone(),
            moving: self.moving.clone(),
            in_step: self.in_step,
            cancel: self.cancel.clone(),
        }
    }

    /// Decodes with `decoder`, overriding `config.width`.
    #[must_use]
    pub fn decoder(self, decoder: impl Decoder<M> + 'a) -> Self {
        Gbi { decoder: Box::new(decoder), ..self }
    }

    /// Takes satisfying candidates from `sources`, overriding `config.sources`.
    #[must_use]
    pub fn sources(self, sources: Vec<Box<dyn ConstrainedDecoder<M> + 'a>>) -> Self {
        Gbi { sources, ..self }
    }

    /// Runs `n` inputs together. Outputs do not depend on it.
    #[must_use]
    pub fn in_step(self, n: usize) -> Self {
        Gbi { in_step: n.max(1), ..self }
    }

    /// Stops between two steps once `cancel` is set.
    #[must_use]
    pub fn cancel(self, cancel: Cancel) -> Self {
        Gbi { cancel, ..self }
    }

    /// How many inputs run together.
    pub fn n_in_step(&self) -> usize {
        self.in_step
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Decodes `x`, and repairs the output if it violates the constraint.
    pub fn run(&self, x: &M::Input, constraint: &dyn Constraint<M::Input>) -> Outcome {
        let mut outcome = None;
        let mut workspace = Workspace::new(self.model);
        self.run_set(&[Job::new(x, constraint)], &mut workspace, |_, o| outcome = Some(o));
        outcome.expect("every job has an outcome")
    }

    /// [`Gbi::run`] for every job, several at a time. Calls `done` with each job's index and
    /// outcome, in any order.
    pub fn run_set(
        &self,
        jobs: &[Job<'_, M::Input>],
        workspace: &mut Workspace<M>,
        mut done: impl FnMut(usize, Outcome),
    ) {
        let wanted: Vec<Wanted<'_>> = jobs.iter().map(|job| job.wanted(&self.cancel)).collect();
        let sought: Vec<Sought<'_, '_, M>> =
            jobs.iter().zip(&wanted).map(|(job, wanted)| Sought::base(job.input, wanted)).collect();
        self.solve(&sought, workspace, &mut done);
    }

    /// [`Gbi::run_set`] for inputs whose constraints other searches may have queried before.
    pub fn solve(
        &self,
        sought: &[Sought<'_, '_, M>],
        workspace: &mut Workspace<M>,
        done: &mut dyn FnMut(usize, Outcome),
    ) {
        let mut set = Set::new(self, sought, workspace, done);
        while let Err(failure) = self.descend(&mut set) {
            set.start_over_in_smaller_sets(&failure);
        }
    }

    /// Algorithm 1, for all inputs that still violate their constraints.
    ///
    /// A failed call leaves the set as it is: the caller decides what starts over.
    #[rustfmt::skip]
    fn descend(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        while set.refill()? {              // W_λ ← W
            self.decode(set)?;             // repeat  y ← f(x; W_λ)
            self.check(set)?;              //         g(y, Lˣ)
            set.retire();                  //         until g(y, Lˣ) = 0 or iteration = M
            self.blame(set)?;              //         g(y, Lˣ), by position
            self.gradient(set)?;           //         ∇ ← g ∂Ψ(x, y, W_λ)/∂W_λ + α (W_λ − W)/‖W_λ − W‖
            self.step(set)?;               //         W_λ ← W_λ − η∇
        }
        Ok(())
    }

    /// `y ← f(x; W_λ)`, recorded. Before the first step of a descent, `W_λ` is `W`.
    fn decode(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        let (passes, mut session, found) = set.decoding(self.model);
        self.decoder.decode(&mut session, &passes, found)?;
        drop(passes);
        set.decoded();
        Ok(())
    }

    /// `g(y, Lˣ)`; if it is not zero, also finds the candidates to aim at, once per input.
    fn check(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        set.check(&self.cancel);
        self.targets(set)
    }

    /// `∇` of every input; ends those with a vanished gradient.
    fn gradient(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        if set.is_moving() {
            let (moves, scratch) = set.moving();
            self.model.gradient(scratch, moves)?;
            set.end_stuck();
        }
        Ok(())
    }

    /// `W_λ ← W_λ − η∇`; ends those whose weights became non-finite.
    fn step(&self, set: &mut Set<'_, '_, M>) -> Result<(), BackendError> {
        if set.is_moving() {
            self.model.take_step(set.moving().0)?;
        }
        set.stepped();
        Ok(())
    }
}
