//! `Ψ(x, y, W)`: a network as Algorithm 1 sees it.
//!
//! The algorithm never touches a weight. It asks a model for a private copy of whatever moves
//! ([`Model::Nudge`]), for gradients of chosen log-probabilities, and for steps. Where the copy
//! lives and what it consists of (a flat buffer, a few vectors, a tensor on a GPU) is up to the
//! model.
//!
//! Every call takes a set of inputs, so that a backend can run the whole set in one pass. The
//! result for one input must not depend on the others in the set.
//!
//! A model keeps no state between calls. A pass writes to a caller-owned [`Model::Scratch`] (one
//! per thread), in which a [`Mark`] points at the log-probability of each decoded position. The
//! backward pass thus reuses the decoder's activations.

use std::time::Instant;

use crate::backend_error::BackendError;
use crate::config::Schedule;
use crate::decoder::{ConstrainedDecoder, Decoder};
use crate::decoders::{Beam, Ranking};
use crate::moving::{Moving, Parameter};
use crate::search::{DoesNotFit, Search};

/// One element of an output (a word, a command, a tag), by its index in the vocabulary.
pub type Symbol = u32;

/// Where a scratch recorded `log p(y_t | …)` of one output position; opaque to the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub u64);

/// One possible output of the network, with the recording of its log-probability.
#[derive(Debug, Default, PartialEq)]
pub struct Candidate {
    /// `y`, without its end symbol.
    pub output: Vec<Symbol>,
    /// `log p(y | x, W)`, the sum over positions.
    pub log_prob: f32,
    /// Whether the decoder hit its length limit before the network ended the output.
    pub capped: bool,
    /// One mark per recorded position: those of `output`, then the end symbol if there is one.
    /// Empty if the pass was not recorded.
    pub marks: Vec<Mark>,
}

impl Clone for Candidate {
    fn clone(&self) -> Self {
        let mut copy = Candidate::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the buffers, unlike a derived implementation: this runs at every step.
    fn clone_from(&mut self, other: &Self) {
        let Candidate { output, log_prob, capped, marks } = other;
        self.output.clone_from(output);
        self.marks.clone_from(marks);
        (self.log_prob, self.capped) = (*log_prob, *capped);
    }
}

impl Candidate {
    /// Empties the candidate, keeping its buffers.
    pub fn clear(&mut self) {
        self.output.clear();
        self.marks.clear();
        self.log_prob = 0.0;
        self.capped = false;
    }
}

/// One input of a set, and the weights it is run under.
pub struct Pass<'a, M: Model + ?Sized> {
    /// `x`.
    pub input: &'a M::Input,
    /// `W_λ`; `None` is `W` itself. Algorithm 1 passes it even before the first step, when it
    /// equals `W`, because gradients will follow.
    pub nudge: Option<&'a M::Nudge>,
    /// Its place in the current recording, if that was made under the same weights.
    pub place: Option<usize>,
    /// When decoders give up on this input, in the middle of a pass if need be.
    pub until: Option<Instant>,
}

impl<'a, M: Model + ?Sized> Pass<'a, M> {
    /// `x` under the network's own weights.
    pub fn base(input: &'a M::Input) -> Self {
        Pass { input, nudge: None, place: None, until: None }
    }

    /// Whether its time is over.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

impl<M: Model + ?Sized> Clone for Pass<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Model + ?Sized> Copy for Pass<'_, M> {}

/// An output to teacher-force through the network, beside what is recorded of its input.
pub struct Force<'a, M: Model + ?Sized> {
    /// The input: its `place` is set.
    pub pass: Pass<'a, M>,
    /// `y`.
    pub output: &'a [Symbol],
    /// Where `y` and its marks go.
    pub forced: &'a mut Candidate,
    /// Set by the model: sequences the network was run over.
    pub passes: usize,
}

/// One input's share of a gradient and of a step.
#[derive(Clone, Debug)]
pub struct Move<N> {
    /// `W_λ`, with its `∇`.
    pub nudge: N,
    /// The input's place in the current recording.
    pub place: usize,
    /// `t`: steps taken so far in this descent. At 0, `W_λ = W`.
    pub t: usize,
    /// How the step is taken.
    pub schedule: Schedule,
    /// `α`.
    pub pull: f32,
    /// The blamed positions and the cost of each.
    pub blame: Vec<(Mark, f32)>,
    /// Set by [`Model::gradient`]: `‖∇‖` for rules that divide by it, else 1.
    pub norm: f32,
    /// Set by [`Model::take_step`]: `‖W_λ − W‖`.
    pub distance: f32,
    /// Whether this descent has ended; gradients and steps then skip it.
    pub is_over: bool,
}

/// A trained network: `Ψ(x, y, W) = log p(y | x, W)`, with its gradient.
pub trait Model: Sync {
    /// `x`.
    type Input: ?Sized + Sync;
    /// Everything a pass writes: activations, tape, buffers. Reused between calls.
    type Scratch: Send;
    /// `W_λ` and `∇` of one input, wherever they live.
    type Nudge: Send + Sync;

    /// Every parameter, by name.
    fn parameters(&self) -> Vec<Parameter>;

    /// A fresh scratch for one thread.
    fn scratch(&self) -> Self::Scratch;

    /// Approximate size of `x`; inputs of similar size are decoded in one batch.
    fn size(&self, x: &Self::Input) -> usize {
        let _ = x;
        0
    }

    /// How many inputs are worth running together when these parameters move.
    fn in_step(&self, moving: &Moving) -> usize {
        let _ = moving;
        1
    }

    /// A `W_λ` that equals `W`. Most inputs need no repair: copy nothing before the first step.
    ///
    /// # Errors
    /// If the backend has no room for one more.
    fn nudge(&self, moving: &Moving) -> Result<Self::Nudge, BackendError>;

    /// `W_λ ← W`, and resets the optimizer state.
    fn restore(&self, nudge: &mut Self::Nudge);

    /// Teacher-forces each output through the network under its input's weights and adds it to that
    /// input's recording.
    ///
    /// # Errors
    /// If the backend fails; the whole set then counts as failed.
    fn force(
        &self,
        scratch: &mut Self::Scratch,
        set: &mut [Force<'_, Self>],
    ) -> Result<(), BackendError>;

    /// `∇ ← ∂/∂W_λ Σ cost · log p(y_t) + α (W_λ − W)/‖W_λ − W‖` for every input, over the blamed
    /// positions of the current recording. The second term is zero at `W_λ = W`.
    ///
    /// # Errors
    /// If the backend fails; the whole set then counts as failed.
    fn gradient(
        &self,
        scratch: &mut Self::Scratch,
        set: &mut [Move<Self::Nudge>],
    ) -> Result<(), BackendError>;

    /// `W_λ ← W_λ − η∇` for every input whose descent has not ended.
    ///
    /// # Errors
    /// If the backend fails; the whole set then counts as failed.
    fn take_step(&self, set: &mut [Move<Self::Nudge>]) -> Result<(), BackendError>;

    /// `f(x; W)`: the network's own inference procedure, with this beam if it has one.
    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Self> + '_>;

    /// A search as a decoder of this network, whose beams rank in this way.
    ///
    /// # Errors
    /// If it is for networks of another kind.
    fn search(
        &self,
        search: &Search,
        ranking: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Self> + '_>, DoesNotFit>;
}
