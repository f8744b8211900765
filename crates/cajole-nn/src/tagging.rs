//! Networks that tag every position of the input.
//!
//! Implement this trait for your own tagger. Tags are independent of each other given the input, so
//! one pass yields the log-probabilities of all outputs at once. Decoders then choose among them
//! without running the network again.
//!
//! ```
//! use cajole_core::Model;
//! use cajole_core::constraints::TagSet;
//! use cajole_core::corpus::decode_all;
//! use cajole_nn::layout::{Init, Layout, Param};
//! use cajole_nn::tape::{Graph, Var};
//! use cajole_nn::{Tagger, Tagging, Trained};
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
//! let weights = layout.initial(1);
//! let tags = TagSet::new(["O", "B-A", "I-A"])?;
//! let net = Tagging { net: Letters { layout, table }, tags: tags.clone() };
//! let model = Trained::new(net, weights);
//! let (x, y): (&[u32], &[u32]) = (&[7, 4, 11, 11, 14], &[24, 14]);
//! let outputs = decode_all(&model, &*model.decoder(1.into()), &[x, y])?;
//! assert!(outputs.iter().all(|y| tags.is_valid(&y.output)));
//! assert_eq!(outputs[1].output.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use cajole_core::constraints::TagSet;
use cajole_core::decoders::{Beam, Ranking, tags};
use cajole_core::model::{Candidate, Mark, Pass, Symbol};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Recording, Search, TagScorer,
};

use crate::lanes::{Lane, Padding, Scratch};
use crate::layout::Layout;
use crate::network::{Forcing, Network, Trainable, Trained};
use crate::tape::{Graph, Tape, Var};
use crate::train::Example;

/// A network `p(y | x) = Π_t p(y_t | x)`.
pub trait Tagger: Send + Sync {
    /// `x`.
    type Input: ?Sized + Sync;

    /// Every parameter, by name and shape.
    fn layout(&self) -> &Layout;

    /// `V`: number of tags.
    fn n_tags(&self) -> usize;

    /// `T`: number of positions of `x`.
    fn len(&self, x: &Self::Input) -> usize;

    /// The log-probability of every tag at every position of `B` inputs, `(T·B, V)`, with `T` the
    /// longest length: row `t · B + b`. Rows past the end of a shorter input are never read. None
    /// are if [`Graph::is_late`] was true.
    fn log_probs(&self, g: &mut Graph<'_>, xs: &[&Self::Input]) -> Var;
}

/// A tagger as a [`Network`], with the meaning of its symbols.
#[derive(Clone, Debug)]
pub struct Tagging<N> {
    /// The network.
    pub net: N,
    /// Its tags, in symbol order.
    pub tags: TagSet,
}

/// Per-lane state of a pass, beside its tape.
#[derive(Default)]
pub struct Tagged {
    /// `(T·B, V)`; `None` before the first pass.
    log_probs: Option<Var>,
    /// The number of positions of each input.
    lengths: Vec<usize>,
}

impl Tagged {
    /// The row of position `t` of input `b`.
    fn row(&self, t: usize, b: usize) -> usize {
        t * self.lengths.len() + b
    }

    /// Turns `y` into a candidate for input `b`.
    fn mark(&self, tape: &Tape, b: usize, y: &[Symbol], candidate: &mut Candidate) {
        candidate.clear();
        candidate.output.extend_from_slice(y);
        let Some(log_probs) = self.log_probs else { return };
        for (t, &symbol) in y.iter().enumerate() {
            let row = self.row(t, b);
            candidate.log_prob += tape.value(log_probs.row(row))[symbol as usize];
            candidate.marks.push(tape.mark(log_probs, row, symbol as usize));
        }
    }
}

impl<N: Tagger> TagScorer for Trained<Tagging<N>> {
    fn n_tags(&self) -> usize {
        self.net.net.n_tags()
    }

    fn read(
        &self,
        scratch: &mut Scratch<Tagged>,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError> {
        let net = &self.net.net;
        let length = |i: usize| net.len(set[i].input);
        let until = set.iter().map(|pass| pass.until).max_by_key(|until| (until.is_none(), *until));
        let until = until.flatten(); // the last one's, if all have one
        let lanes = scratch.begin(net.layout(), set, recording, Padding::To(&length));
        for lane in lanes.used() {
            let xs = lane.inputs(set);
            let (mut g, own) = lane.graph(lane.nudge(set), self.weights());
            g.cycle(xs.len());
            g.until = until;
            let log_probs = net.log_probs(&mut g, &xs);
            own.log_probs = Some(log_probs).filter(|_| !g.is_cut_off);
            own.lengths.clear();
            own.lengths.extend(xs.iter().map(|x| net.len(x)));
        }
        Ok(())
    }

    fn scores(
        &self,
        scratch: &Scratch<Tagged>,
        recording: Recording,
        place: usize,
        scores: &mut Vec<f32>,
    ) {
        scores.clear();
        let lanes = scratch.lanes_of(recording);
        let Some((lane, b)) = lanes.home(place) else { return };
        let Lane { tape, own, .. } = &lanes.lanes[lane];
        let Some(log_probs) = own.log_probs else { return };
        for t in 0..own.lengths[b] {
            scores.extend_from_slice(tape.value(log_probs.row(own.row(t, b))));
        }
    }

    fn mark(&self, scratch: &Scratch<Tagged>, place: usize, t: usize, tag: Symbol) -> Mark {
        let lanes = scratch.lanes_of(Recording::Kept);
        let (lane, b) = lanes.home(place).expect("marks need a recorded input");
        let Lane { tape, own, .. } = &lanes.lanes[lane];
        let log_probs = own.log_probs.expect("marks need a pass first");
        tape.mark(log_probs, own.row(t, b), tag as usize)
    }
}

impl<N: Tagger> Trainable for Tagging<N> {
    type Input = N::Input;

    fn layout(&self) -> &Layout {
        self.net.layout()
    }

    fn size(&self, x: &N::Input) -> usize {
        self.net.len(x)
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
        g.cycle(xs.len());
        let log_probs = self.net.log_probs(g, &xs); // (T·B, V)
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
}

impl<N: Tagger> Network for Tagging<N> {
    type Lane = Tagged;

    /// Every output is already on the tape.
    fn force(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Tagged,
        outputs: &mut [Forcing<'_>],
    ) -> Result<(), BackendError> {
        for force in outputs {
            *force.passes = 0;
            lane.mark(g.tape, force.input, force.output, force.forced);
        }
        Ok(())
    }

    fn decoder(&self, _: Beam) -> Box<dyn Decoder<Trained<Self>> + '_> {
        Box::new(tags::Tagged::viterbi(&self.tags))
    }

    fn search(
        &self,
        search: &Search,
        _: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Trained<Self>> + '_>, DoesNotFit> {
        tags::search(&self.tags, search)
    }
}
