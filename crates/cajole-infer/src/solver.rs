//! Where the driver meets a network's types: one thread's searches, with their memory.
//!
//! Everything above is compiled once, for all networks. A [`Network`] says which model it has and
//! which searches fit it; [`solver`] makes it a [`Solver`].

use std::borrow::Borrow;
use std::time::Instant;

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::{
    BackendError, Cancel, Candidate, Config, ConstrainedDecoder, Decoder, DoesNotFit, Force, Found,
    Gbi, Model, Outcome, Pass, Search, Sought, UnknownParameter, Workspace,
};
use cajole_rules::Rules;

use crate::case::{Case, Output};
use crate::input::Input;

/// A model, how cases hold its input, and the searches that fit it.
pub trait Network: Sync {
    /// The network.
    type Model: Model;

    /// An input that can be kept.
    type Input: Borrow<<Self::Model as Model>::Input> + Send + Sync + 'static;

    /// The network.
    fn model(&self) -> &Self::Model;

    /// `f(x; W)`: its own inference procedure, with this beam where it has one.
    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Self::Model> + '_> {
        self.model().decoder(beam)
    }

    /// A search for outputs that satisfy these rules, whose beams rank in this way.
    ///
    /// # Errors
    /// If it does not fit the network or the rules.
    fn search<'a>(
        &'a self,
        search: &Search,
        ranking: Ranking,
        rules: &'a Rules,
    ) -> Result<Box<dyn ConstrainedDecoder<Self::Model> + 'a>, DoesNotFit> {
        let _ = rules;
        self.model().search(search, ranking)
    }
}

/// One thread's searches on one network, whatever its types. Memory is kept from call to call.
pub trait Solver {
    /// Approximate size of an input; inputs of similar size are decoded in one batch.
    fn size(&self, case: &Case) -> usize;

    /// The network's own outputs, best first; each input has a time limit.
    ///
    /// # Errors
    /// If the network fails; the whole set then counts as failed.
    fn decode(
        &mut self,
        beam: Beam,
        set: &[(&Case, Option<Instant>)],
        found: &mut [Found],
    ) -> Result<(), BackendError>;

    /// `log p(y | x, W)` of every output.
    ///
    /// # Errors
    /// If the network fails; the whole set then counts as failed.
    fn log_probs(&mut self, beam: Beam, set: &[Output<'_>]) -> Result<Vec<f32>, BackendError>;

    /// Whether a search can be run under these rules.
    ///
    /// # Errors
    /// If it cannot, with the reason.
    fn fits(&self, search: &Search, ranking: Ranking, rules: &Rules) -> Result<(), DoesNotFit>;

    /// Runs a search on inputs under the same rules.
    ///
    /// # Errors
    /// If the network fails; the whole set then counts as failed.
    fn search(
        &mut self,
        search: &Search,
        ranking: Ranking,
        set: &[&Input<'_>],
        found: &mut [Found],
    ) -> Result<(), BackendError>;

    /// How many inputs gradient-based inference takes in step.
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    fn in_step(&mut self, config: &Config) -> Result<usize, UnknownParameter>;

    /// Gradient-based inference on inputs under the same rules, in step. Calls `done` with the place
    /// of each input in the set and its outcome, in any order.
    ///
    /// # Errors
    /// If the settings name parameters that the network does not have.
    fn descend(
        &mut self,
        config: &Config,
        cancel: &Cancel,
        set: &[&Input<'_>],
        done: &mut dyn FnMut(usize, Outcome),
    ) -> Result<(), UnknownParameter>;
}

/// A network's searches for one thread.
pub fn solver<N: Network>(network: &N) -> Box<dyn Solver + '_> {
    let workspace = Workspace::new(network.model());
    Box::new(Searches { network, workspace, own: None, gbi: None })
}

struct Searches<'n, N: Network> {
    network: &'n N,
    workspace: Workspace<N::Model>,
    own: Option<Own<'n, N::Model>>,
    /// Gradient-based inference with the settings that were asked for last, without sources.
    gbi: Option<(Config, Gbi<'n, N::Model>)>,
}

/// The network's own decoder with the beam that was asked for last.
struct Own<'n, M> {
    beam: Beam,
    decoder: Box<dyn Decoder<M> + 'n>,
}

/// The input of a case as the model reads it.
fn read<N: Network>(case: &Case) -> &<N::Model as Model>::Input {
    case.input::<N::Input>().borrow()
}

/// Inputs with what is wanted of their outputs, under the network's own weights.
fn sought<'s, 'a, N: Network>(set: &[&'s Input<'a>]) -> Vec<Sought<'s, 'a, N::Model>> {
    set.iter().map(|input| Sought::base(read::<N>(input.case), &input.wanted)).collect()
}

impl<'n, N: Network> Searches<'n, N> {
    fn use_beam(&mut self, beam: Beam) {
        if self.own.as_ref().is_none_or(|own| own.beam != beam) {
            self.own = Some(Own { beam, decoder: self.network.decoder(beam) });
        }
    }

    fn gbi(&mut self, config: &Config) -> Result<&Gbi<'n, N::Model>, UnknownParameter> {
        if self.gbi.as_ref().is_none_or(|(known, _)| known != config) {
            let without_sources = config.clone().with(|config| config.sources.clear());
            let gbi = Gbi::with(self.network.model(), without_sources)?;
            let beam = Beam { width: config.width, ranking: config.ranking };
            self.gbi = Some((config.clone(), gbi.decoder(self.network.decoder(beam))));
        }
        Ok(&self.gbi.as_ref().expect("it has just been prepared").1)
    }
}

impl<N: Network> Solver for Searches<'_, N> {
    fn size(&self, case: &Case) -> usize {
        self.network.model().size(read::<N>(case))
    }

    fn decode(
        &mut self,
        beam: Beam,
        set: &[(&Case, Option<Instant>)],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.use_beam(beam);
        let Some(own) = &self.own else { return Ok(()) };
        let passes: Vec<Pass<'_, N::Model>> = set
            .iter()
            .map(|(case, until)| Pass { until: *until, ..Pass::base(read::<N>(case)) })
            .collect();
        own.decoder.skim(&mut self.workspace.session(self.network.model()), &passes, found)
    }

    fn log_probs(&mut self, beam: Beam, set: &[Output<'_>]) -> Result<Vec<f32>, BackendError> {
        self.use_beam(beam);
        let Some(own) = &self.own else { return Ok(Vec::new()) };
        let model = self.network.model();
        let passes: Vec<Pass<'_, N::Model>> =
            set.iter().map(|(case, _)| Pass::base(read::<N>(case))).collect();
        let mut session = self.workspace.session(model);
        let mut found = vec![Found::default(); set.len()];
        own.decoder.decode(&mut session, &passes, &mut found)?;
        let mut forced = vec![Candidate::default(); set.len()];
        let mut forces: Vec<Force<'_, N::Model>> = Vec::with_capacity(set.len());
        for (i, forced) in forced.iter_mut().enumerate() {
            let pass = Pass { place: Some(i), ..passes[i] };
            forces.push(Force { pass, output: set[i].1, forced, passes: 0 });
        }
        model.force(session.scratch, &mut forces)?;
        drop(forces);
        Ok(forced.iter().map(|y| y.log_prob).collect())
    }

    fn fits(&self, search: &Search, ranking: Ranking, rules: &Rules) -> Result<(), DoesNotFit> {
        self.network.search(search, ranking, rules).map(drop)
    }

    fn search(
        &mut self,
        search: &Search,
        ranking: Ranking,
        set: &[&Input<'_>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        let Some(first) = set.first() else { return Ok(()) };
        let decoder = self.network.search(search, ranking, first.rules);
        let decoder = decoder.map_err(BackendError::new)?;
        let mut session = self.workspace.session(self.network.model());
        decoder.search(&mut session, &sought::<N>(set), found)
    }

    fn in_step(&mut self, config: &Config) -> Result<usize, UnknownParameter> {
        Ok(self.gbi(config)?.n_in_step())
    }

    fn descend(
        &mut self,
        config: &Config,
        cancel: &Cancel,
        set: &[&Input<'_>],
        done: &mut dyn FnMut(usize, Outcome),
    ) -> Result<(), UnknownParameter> {
        self.gbi(config)?;
        let (Some((_, gbi)), Some(first)) = (&self.gbi, set.first()) else { return Ok(()) };
        let mut sources = Vec::new();
        for source in &config.sources {
            // Those that do not fit are left out, so that one preset serves several networks.
            sources.extend(self.network.search(source, config.ranking, first.rules).ok());
        }
        let gbi = gbi.lent().sources(sources).cancel(cancel.clone());
        gbi.solve(&sought::<N>(set), &mut self.workspace, done);
        Ok(())
    }
}
