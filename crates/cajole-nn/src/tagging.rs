//! Networks that give every position of the input a tag.
//!
//! This is the trait to implement for a tagger of one's own. The tags of one input are independent
//! of each other given that input, so one pass yields the log-probabilities of all outputs at once;
//! decoders then choose among them without running the network again.
//!
//! ```
//! use cajole_core::constraints::TagSet;
//! use cajole_core::corpus::decode_all;
//! use cajole_nn::layout::{Init, Layout, Param};
//! use cajole_nn::tape::{Graph, Var};
//! use cajole_nn::{Tagger, Tagging, Trained, decoders::Tagged};
//!
//! /// Tags each of 26 letters by itself.
//! struct Letters {
//!     layout: Layout,
//!     table: Param, // (26, V)
//! }
//!
//! impl Tagger for Letters {
//!     type Input = [u32];
//!     fn layout(&self) -> &Layout {
//!         &self.layout
//!     }
//!     fn n_tags(&self) -> usize {
//!         3
//!     }
//!     fn len(&self, x: &[u32]) -> usize {
//!         x.len()
//!     }
//!     fn log_probs(&self, g: &mut Graph<'_>, xs: &[&[u32]]) -> Var {
//!         let steps = xs.iter().map(|x| x.len()).max().unwrap_or(0);
//!         let letter = |row: usize| *xs[row % xs.len()].get(row / xs.len()).unwrap_or(&0);
//!         let scores = g.embed(self.table, (0..steps * xs.len()).map(letter)); // (T·B, V)
//!         g.log_softmax(scores)
//!     }
//! }
//!
//! let mut layout = Layout::default();
//! let table = layout.matrix("letters.table", 26, 3, Init::Uniform(1.0));
//! let weights = layout.initial(1).into();
//! let model = Trained { net: Tagging(Letters { layout, table }), weights };
//! let tags = TagSet::new(["O", "B-A", "I-A"])?;
//! let (x, y): (&[u32], &[u32]) = (&[7, 4, 11, 11, 14], &[24, 14]);
//! let outputs = decode_all(&model, &Tagged::viterbi(&tags), &[x, y]);
//! assert!(outputs.iter().all(|y| tags.is_valid(&y.output)));
//! assert_eq!(outputs[1].output.len(), 2);
//! # Ok::<(), cajole_core::constraints::TagSetError>(())
//! ```

use cajole_core::model::{Candidate, Mark, Symbol};

use crate::decoders::TagBuffers;
use crate::layout::Layout;
use crate::network::Network;
use crate::tape::{Graph, Tape, Var};
use crate::train::Example;

/// A network `p(y | x) = Π_t p(y_t | x)`.
pub trait Tagger: Send + Sync {
    /// `x`.
    type Input: ?Sized + Sync;

    /// Every parameter, by name and shape.
    fn layout(&self) -> &Layout;

    /// `V`: how many tags there are.
    fn n_tags(&self) -> usize;

    /// `T`: how many positions `x` has.
    fn len(&self, x: &Self::Input) -> usize;

    /// The log-probability of every tag at every position of `B` inputs, `(T·B, V)`, `T` being the
    /// longest one's: row `t · B + b`. What lies beyond the end of a shorter one is never read.
    fn log_probs(&self, g: &mut Graph<'_>, xs: &[&Self::Input]) -> Var;
}

/// A tagger as a [`Network`].
#[derive(Clone, Debug)]
pub struct Tagging<N>(pub N);

/// One thread's recording, with what searches over it need.
#[derive(Default)]
pub struct TagScratch {
    recorded: Recorded,
    buffers: TagBuffers,
}

/// A recording with the log-probabilities in it.
#[derive(Default)]
pub(crate) struct Recorded {
    tape: Tape,
    /// `(T·B, V)`; none before the first pass.
    log_probs: Option<Var>,
}

impl AsMut<Tape> for TagScratch {
    fn as_mut(&mut self) -> &mut Tape {
        &mut self.recorded.tape
    }
}

impl TagScratch {
    /// Runs `xs` through the network under `w`, in a new recording.
    pub(crate) fn record<N: Tagger>(&mut self, net: &N, w: &[f32], xs: &[&N::Input]) {
        let Recorded { tape, log_probs } = &mut self.recorded;
        tape.clear();
        *log_probs = Some(net.log_probs(&mut Graph::new(w, tape), xs));
    }

    /// The recording, and what searches over it write.
    pub(crate) fn parts(&mut self) -> (&Recorded, &mut TagBuffers) {
        (&self.recorded, &mut self.buffers)
    }

    /// The log-probabilities of what was recorded last, row by row: `(T·B, V)`.
    pub fn log_probs(&self) -> &[f32] {
        self.recorded.scores()
    }
}

impl Recorded {
    /// The log-probabilities, row by row: `(T·B, V)`.
    pub(crate) fn scores(&self) -> &[f32] {
        self.log_probs.map_or(&[], |log_probs| self.tape.value(log_probs))
    }

    /// Makes `y` a candidate of the one input that was recorded.
    pub(crate) fn mark(&self, y: &[Symbol], candidate: &mut Candidate) {
        candidate.clear();
        candidate.output.extend_from_slice(y);
        let Some(log_probs) = self.log_probs else { return };
        for (t, &symbol) in y.iter().enumerate() {
            candidate.log_prob += self.tape.value(log_probs.row(t))[symbol as usize];
            candidate.marks.push(self.tape.mark(log_probs, t, symbol as usize));
        }
    }
}

impl<N: Tagger> Network for Tagging<N> {
    type Input = N::Input;
    type Scratch = TagScratch;

    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    fn size(&self, x: &N::Input) -> usize {
        self.0.len(x)
    }

    fn n_terms(&self, y: &[Symbol]) -> usize {
        y.len()
    }

    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, N::Input>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64 {
        let xs: Vec<&N::Input> = examples.iter().map(|example| example.input).collect();
        let log_probs = self.0.log_probs(g, &xs); // (T·B, V)
        let mut loss = 0.0;
        for (b, example) in examples.iter().enumerate() {
            for (t, &symbol) in example.output.iter().enumerate() {
                let row = t * xs.len() + b;
                loss -= f64::from(g.tape.value(log_probs.row(row))[symbol as usize]);
                blame.push((g.tape.mark(log_probs, row, symbol as usize), -weight));
            }
        }
        loss
    }

    fn force(
        &self,
        _w: &[f32],
        _x: &N::Input,
        y: &[Symbol],
        scratch: &mut TagScratch,
        forced: &mut Candidate,
    ) {
        scratch.recorded.mark(y, forced);
    }
}
