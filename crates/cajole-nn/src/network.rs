//! What all networks have in common, whatever the shape of their outputs.
//!
//! Implement [`AutoRegressive`](crate::AutoRegressive) for a network that emits one symbol at a
//! time, or [`Tagger`](crate::Tagger) for one that tags each input position. Either makes it a
//! `Network`, which can be trained, stored and, with its weights, used by Algorithm 1.

use std::sync::Arc;

use cajole_core::corpus::{self, BATCH};
use cajole_core::decoders::{Beam, Ranking};
use cajole_core::model::{Candidate, Force, Mark, Move, Symbol};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Model, Moving, Parameter, Recording,
    Search,
};

use smallvec::SmallVec;

use crate::Aligned;
use crate::halves;
use crate::lanes::Scratch;
use crate::layout::Layout;
use crate::nudge::{self, Nudge};
use crate::tape::{Graph, Tape};
use crate::train::Example;
use crate::transposed::Copies;

/// Anything trainable: parameters, and a loss over examples.
pub trait Trainable: Send + Sync {
    /// `x`.
    type Input: ?Sized + Sync;

    /// Every parameter, by name and shape.
    fn layout(&self) -> &Layout;

    /// Approximate size of `x`: see [`Model::size`].
    fn size(&self, x: &Self::Input) -> usize;

    /// Number of log-probabilities in the loss of an output.
    fn n_terms(&self, y: &[Symbol]) -> usize;

    /// Records the loss of these examples, each term weighted by `weight`. Pushes the blame of each
    /// term and returns the unweighted loss.
    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, Self::Input>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64;
}

/// A network `p(y | x)` over sequences of symbols.
pub trait Network: Trainable + Sized {
    /// Per-lane state of a pass, beside its tape.
    type Lane: Default + Send;

    /// Teacher-forces outputs on a recording.
    ///
    /// # Errors
    /// If the recording has no room for them.
    fn force(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Self::Lane,
        outputs: &mut [Forcing<'_>],
    ) -> Result<(), BackendError>;

    /// Records what these marks of a lane's inputs point at, where decoding has not, and replaces
    /// them.
    ///
    /// # Errors
    /// If the recording has no room for it.
    fn record(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Self::Lane,
        blamed: &mut [&mut Vec<(Mark, f32)>],
    ) -> Result<(), BackendError> {
        let _ = (g, lane, blamed);
        Ok(())
    }

    /// The network's own inference procedure: see [`Model::decoder`].
    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Trained<Self>> + '_>;

    /// A search as a decoder: see [`Model::search`].
    ///
    /// # Errors
    /// If it is for networks of another kind.
    fn search(
        &self,
        search: &Search,
        ranking: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Trained<Self>> + '_>, DoesNotFit>;
}

/// An output to teacher-force through a network, beside what is recorded of its input.
pub struct Forcing<'a> {
    /// The index of its input in the lane.
    pub input: usize,
    /// `y`.
    pub output: &'a [Symbol],
    /// Where `y` and its marks go.
    pub forced: &'a mut Candidate,
    /// Set by the network: sequences it was run over.
    pub passes: &'a mut usize,
}

/// A network with its weights: what decoders and Algorithm 1 work with.
#[derive(Clone, Debug)]
pub struct Trained<N> {
    /// The architecture.
    pub net: N,
    weights: Aligned,
    /// Which parameters may be read as f16.
    exact: Arc<[bool]>,
    /// Of matrices that the backward pass has read.
    copies: Copies,
}

impl<N: Network> Trained<N> {
    /// A network with these weights.
    pub fn new(net: N, weights: impl Into<Aligned>) -> Self {
        let weights = weights.into();
        let exact = halves::exact(net.layout(), &weights);
        let copies = Copies::new(net.layout());
        Trained { net, weights, exact, copies }
    }

    /// `W`.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Decodes every input with `decoder`, in batches, on all cores.
    pub fn decode_all(&self, decoder: &dyn Decoder<Self>, xs: &[&N::Input]) -> Vec<Candidate> {
        corpus::decode_all(self, decoder, xs).expect("passes in main memory do not fail")
    }
}

impl<N: Network> Model for Trained<N> {
    type Input = N::Input;
    type Scratch = Scratch<N::Lane>;
    type Nudge = Nudge;

    fn parameters(&self) -> Vec<Parameter> {
        self.net.layout().parameters()
    }

    fn scratch(&self) -> Scratch<N::Lane> {
        Scratch::new(self.exact.clone(), self.copies.clone())
    }

    fn size(&self, x: &N::Input) -> usize {
        self.net.size(x)
    }

    fn in_step(&self, moving: &Moving) -> usize {
        if moving.only_vectors() { BATCH } else { 1 }
    }

    fn nudge(&self, moving: &Moving) -> Result<Nudge, BackendError> {
        Ok(Nudge::new(self.net.layout(), moving))
    }

    fn restore(&self, nudge: &mut Nudge) {
        nudge.restore(&self.weights);
    }

    fn force(
        &self,
        scratch: &mut Scratch<N::Lane>,
        set: &mut [Force<'_, Self>],
    ) -> Result<(), BackendError> {
        scratch.current = Recording::Kept;
        let home = |force: &Force<'_, Self>| scratch.kept.home(force.pass.place?);
        let homes: SmallVec<[_; 20]> = set.iter().map(home).collect();
        for (l, lane) in scratch.kept.used().iter_mut().enumerate() {
            let all = set.iter_mut().zip(&homes);
            let mut nudge = None;
            let here = all.filter_map(|(force, home)| {
                let (_, input) = home.filter(|home| home.0 == l)?;
                nudge = nudge.or(force.pass.nudge);
                let Force { output, forced, passes, .. } = force;
                Some(Forcing { input, output, forced, passes })
            });
            let mut here: SmallVec<[Forcing<'_>; 20]> = here.collect();
            if here.is_empty() {
                continue;
            }
            let (mut g, own) = lane.graph(nudge, &self.weights);
            self.net.force(&mut g, own, &mut here)?;
        }
        Ok(())
    }

    fn gradient(
        &self,
        scratch: &mut Scratch<N::Lane>,
        set: &mut [Move<Nudge>],
    ) -> Result<(), BackendError> {
        self.record(scratch, set)?;
        scratch.gradient(self.net.layout(), &self.weights, set);
        let going = set.iter_mut().filter(|own| !own.is_over);
        going.for_each(|own| nudge::complete(own, &self.weights));
        Ok(())
    }

    fn take_step(&self, set: &mut [Move<Nudge>]) -> Result<(), BackendError> {
        let going = set.iter_mut().filter(|own| !own.is_over);
        going.for_each(|own| nudge::step(own, &self.weights));
        Ok(())
    }

    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Self> + '_> {
        self.net.decoder(beam)
    }

    fn search(
        &self,
        search: &Search,
        ranking: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Self> + '_>, DoesNotFit> {
        self.net.search(search, ranking)
    }
}

impl<N: Network> Trained<N> {
    /// Lets the network record what is blamed, lane by lane.
    fn record(
        &self,
        scratch: &mut Scratch<N::Lane>,
        set: &mut [Move<Nudge>],
    ) -> Result<(), BackendError> {
        let home = |own: &Move<Nudge>| scratch.kept.home(own.place).filter(|_| !own.is_over);
        let homes: SmallVec<[_; 20]> = set.iter().map(home).collect();
        for (l, lane) in scratch.kept.used().iter_mut().enumerate() {
            let mut nudge = None;
            let mut blamed: SmallVec<[&mut Vec<(Mark, f32)>; 20]> = SmallVec::new();
            for (own, home) in set.iter_mut().zip(&homes) {
                if home.is_some_and(|(lane, _)| lane == l) {
                    nudge = nudge.or(Some(&own.nudge));
                    blamed.push(&mut own.blame);
                }
            }
            let (mut g, own) = lane.graph(nudge, &self.weights);
            self.net.record(&mut g, own, &mut blamed)?;
        }
        Ok(())
    }

    /// `W_λ` materialised: loading a network with these weights gives the nudged one.
    pub fn nudged(&self, nudge: &Nudge) -> Vec<f32> {
        nudge.write(self.net.layout(), &self.weights)
    }

    /// The tape of the current recording that holds the input at `place`, along with the inputs
    /// that share its weights. For gradients other than [`Model::gradient`]'s.
    pub fn tape<'s>(
        &self,
        scratch: &'s mut Scratch<N::Lane>,
        place: usize,
    ) -> Option<&'s mut Tape> {
        let (lane, _) = scratch.kept.home(place)?;
        Some(&mut scratch.kept.used()[lane].tape)
    }
}
