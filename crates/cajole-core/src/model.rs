//! `Ψ(x, y, W)`: a network as Algorithm 1 sees it.
//!
//! The algorithm needs three things of a network: its weights as one flat buffer, so that a
//! private copy can be nudged; a way to run an output through it; and the gradient of chosen
//! log-probabilities. How the network computes is its own business: no tensor type appears here.
//!
//! A network keeps nothing between calls. What it computes while decoding goes into a caller-owned
//! [`Model::Scratch`] (one per thread), and a [`Mark`] points at the log-probability of each
//! decoded position in there, so that the backward pass reuses the decode's activations.

use std::ops::Range;

use crate::gradient::Gradient;

/// One element of an output: a word, a command, a tag, by its number in the vocabulary.
pub type Symbol = u32;

/// Where a scratch recorded `log p(y_t | …)` of one output position; opaque to the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub u64);

/// One output the network could give, with the recording of its log-probability.
#[derive(Debug, Default, PartialEq)]
pub struct Candidate {
    /// `y`, without its end symbol.
    pub output: Vec<Symbol>,
    /// `log p(y | x, W)`, the sum over positions.
    pub log_prob: f32,
    /// The decoder ran into its length cap before the network ended the output.
    pub capped: bool,
    /// One mark per recorded position: those of `output`, then the end symbol's if there is one.
    pub marks: Vec<Mark>,
}

impl Clone for Candidate {
    fn clone(&self) -> Self {
        let mut copy = Candidate::default();
        copy.clone_from(self);
        copy
    }

    /// Into the buffers that are there, unlike a derived one: this is done at every step.
    fn clone_from(&mut self, other: &Self) {
        let Candidate { output, log_prob, capped, marks } = other;
        self.output.clone_from(output);
        self.marks.clone_from(marks);
        (self.log_prob, self.capped) = (*log_prob, *capped);
    }
}

impl Candidate {
    /// Makes an empty candidate of this one, keeping its buffers.
    pub fn clear(&mut self) {
        self.output.clear();
        self.marks.clear();
        self.log_prob = 0.0;
        self.capped = false;
    }
}

/// A named range of the weights, such as `encoder` or `output`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name users give to choose which parameters move.
    pub name: String,
    /// Its place in [`Model::weights`].
    pub range: Range<usize>,
}

/// A trained network: `Ψ(x, y, W) = log p(y | x, W)`, with its gradient.
pub trait Model: Sync {
    /// `x`.
    type Input: ?Sized + Sync;
    /// Everything a pass writes: activations, tape, buffers. Reused between calls.
    type Scratch: Send;

    /// `W`: every weight, in one buffer.
    fn weights(&self) -> &[f32];

    /// The named parts of `W`, in order and without overlap.
    fn groups(&self) -> Vec<Group>;

    /// A fresh scratch for one thread.
    fn scratch(&self) -> Self::Scratch;

    /// How large `x` is, roughly: inputs of like size are decoded in one batch.
    fn size(&self, x: &Self::Input) -> usize {
        let _ = x;
        0
    }

    /// Runs `y` through the network under `w` and adds it to the recording that the last decode of
    /// the same `x` under the same `w` began.
    fn force(
        &self,
        w: &[f32],
        x: &Self::Input,
        y: &[Symbol],
        scratch: &mut Self::Scratch,
        forced: &mut Candidate,
    );

    /// `∇ ← ∂/∂w Σ cost · log p(y_t)` over the marked positions of the current recording.
    ///
    /// Writes every range it touches and notes it in `grad`; ranges that do not
    /// [move](Gradient::moves) are left alone.
    fn gradient(
        &self,
        w: &[f32],
        blame: &[(Mark, f32)],
        scratch: &mut Self::Scratch,
        grad: &mut Gradient,
    );
}
