//! What every kind of network has in common, whatever the shape of its outputs.
//!
//! Networks of one's own implement [`AutoRegressive`](crate::AutoRegressive), if they emit one
//! symbol after another, or [`Tagger`](crate::Tagger), if they give each position of the input a
//! symbol. Either makes them a `Network`, which can be trained, stored, and, with its weights, be
//! worked on by Algorithm 1.

use cajole_core::Aligned;
use cajole_core::gradient::Gradient;
use cajole_core::model::{Candidate, Group, Mark, Model, Symbol};

use crate::layout::Layout;
use crate::tape::{Graph, Tape};
use crate::train::Example;

/// A network `p(y | x)` over sequences of symbols.
pub trait Network: Send + Sync {
    /// `x`.
    type Input: ?Sized + Sync;
    /// One thread's recording, with the buffers that decoders need.
    type Scratch: Default + Send + AsMut<Tape>;

    /// Every parameter, by name and shape.
    fn layout(&self) -> &Layout;

    /// How large `x` is, roughly: see [`Model::size`].
    fn size(&self, x: &Self::Input) -> usize;

    /// How many log-probabilities the loss of an output is made of.
    fn n_terms(&self, y: &[Symbol]) -> usize;

    /// Records the loss of these examples, each term weighing `weight`: blames what is to be
    /// lowered, and returns the loss itself, unweighted.
    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, Self::Input>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64;

    /// Adds `y` to the recording of `x`: see [`Model::force`].
    fn force(
        &self,
        w: &[f32],
        x: &Self::Input,
        y: &[Symbol],
        scratch: &mut Self::Scratch,
        forced: &mut Candidate,
    );
}

/// A network with its weights: what decoders and Algorithm 1 work with.
#[derive(Clone, Debug)]
pub struct Trained<N> {
    /// The architecture.
    pub net: N,
    /// `W`.
    pub weights: Aligned,
}

impl<N: Network> Model for Trained<N> {
    type Input = N::Input;
    type Scratch = N::Scratch;

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn groups(&self) -> Vec<Group> {
        self.net.layout().groups()
    }

    fn scratch(&self) -> N::Scratch {
        let mut scratch = N::Scratch::default();
        scratch.as_mut().halves.allow(self.net.layout(), &self.weights);
        scratch
    }

    fn size(&self, x: &N::Input) -> usize {
        self.net.size(x)
    }

    fn force(
        &self,
        w: &[f32],
        x: &N::Input,
        y: &[Symbol],
        scratch: &mut N::Scratch,
        forced: &mut Candidate,
    ) {
        self.net.force(w, x, y, scratch, forced);
    }

    fn gradient(
        &self,
        w: &[f32],
        blame: &[(Mark, f32)],
        scratch: &mut N::Scratch,
        grad: &mut Gradient,
    ) {
        scratch.as_mut().backward(w, self.net.layout(), blame, grad);
    }
}
