//! Searches over tags as decoders of taggers.
//!
//! A search looks at one matrix of log-probabilities and never at the network. So the network runs
//! once per decode, in one batch for many inputs, and not at all where its recording is still there.

use cajole_core::constraints::{Bracketed, TagSet};
use cajole_core::model::Candidate;
use cajole_core::{Constraint, Decoder, Found, Symbol};

use super::astar::{AStar, Agenda, Search};
use super::doubling_tags::DoublingTags;
use super::exact::{Chart, Exact};
use super::k_best::{KBest, SuffixLists};
use super::masked_tags::{MaskedTags, Trellis};
use super::sampling_tags::SamplingTags;
use super::viterbi::{Suffixes, Viterbi};
use super::{Space, TagScores};
use crate::network::Trained;
use crate::tagging::{TagScratch, Tagger, Tagging};

/// A way of choosing tags by their log-probabilities.
pub trait TagSearch<X: ?Sized>: Sync {
    /// Hands the best tags for `x` to `take`, best first; none, if it finds none.
    fn search(
        &self,
        x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    );
}

/// What searches write, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct TagBuffers {
    suffixes: Suffixes,
    lists: SuffixLists,
    chart: Chart,
    agenda: Agenda,
    trellis: Trellis,
    y: Vec<Symbol>,
    /// One input's rows of a batch.
    pub(crate) rows: Vec<f32>,
}

impl<X: ?Sized> TagSearch<X> for Viterbi {
    fn search(
        &self,
        _x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    ) {
        self.tag(scores, &mut buffers.suffixes, &mut buffers.y);
        take(&buffers.y);
    }
}

impl<X: ?Sized> TagSearch<X> for KBest {
    fn search(
        &self,
        _x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    ) {
        for rank in 0..self.tag(scores, &mut buffers.lists) {
            if buffers.lists.read(rank, &mut buffers.y).is_some() {
                take(&buffers.y);
            }
        }
    }
}

impl<X: Bracketed + ?Sized> TagSearch<X> for Exact<'_> {
    fn search(
        &self,
        x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    ) {
        if self.tag(scores, x.brackets(), &mut buffers.chart, &mut buffers.y).is_some() {
            take(&buffers.y);
        }
    }
}

impl<X: Bracketed + ?Sized> TagSearch<X> for AStar<'_> {
    fn search(
        &self,
        x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    ) {
        let ended = self.tag(scores, x.brackets(), &mut buffers.agenda, &mut buffers.y);
        if let Search::Found { .. } = ended {
            take(&buffers.y);
        }
    }
}

impl<X: ?Sized, C: Constraint<X> + ?Sized> TagSearch<X> for MaskedTags<'_, C> {
    fn search(
        &self,
        x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    ) {
        if self.tag(x, scores, &mut buffers.trellis, &mut buffers.y).is_some() {
            take(&buffers.y);
        }
    }
}

impl<X: ?Sized, C: Constraint<X> + ?Sized> TagSearch<X> for DoublingTags<'_, C> {
    fn search(
        &self,
        x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    ) {
        if self.tag(x, scores, &mut buffers.lists, &mut buffers.y).is_some() {
            take(&buffers.y);
        }
    }
}

impl<X: ?Sized, C: Constraint<X> + ?Sized> TagSearch<X> for SamplingTags<'_, C> {
    fn search(
        &self,
        x: &X,
        scores: &TagScores<'_>,
        buffers: &mut TagBuffers,
        take: &mut dyn FnMut(&[Symbol]),
    ) {
        if self.tag(x, scores, &mut buffers.y).is_some() {
            take(&buffers.y);
        }
    }
}

/// A search over these tags as a tagger's decoder.
#[derive(Clone, Debug)]
pub struct Tagged<'a, S> {
    /// What the tagger's symbols stand for.
    pub tags: &'a TagSet,
    /// How they are chosen.
    pub search: S,
}

impl<'a> Tagged<'a, Viterbi> {
    /// The network's own inference: the most probable valid tags.
    pub fn viterbi(tags: &'a TagSet) -> Self {
        Tagged { tags, search: Viterbi { space: Space::Log } }
    }
}

impl<S> Tagged<'_, S> {
    /// Chooses among what is recorded of `x`.
    fn choose<X: ?Sized>(&self, x: &X, scratch: &mut TagScratch, found: &mut Found)
    where
        S: TagSearch<X>,
    {
        found.clear();
        let (recorded, buffers) = scratch.parts();
        let scores = TagScores::new(self.tags, recorded.scores());
        self.search.search(x, &scores, buffers, &mut |y| recorded.mark(y, found.add()));
    }
}

impl<N: Tagger, S: TagSearch<N::Input>> Decoder<Trained<Tagging<N>>> for Tagged<'_, S> {
    fn decode(
        &self,
        model: &Trained<Tagging<N>>,
        w: &[f32],
        x: &N::Input,
        scratch: &mut TagScratch,
        found: &mut Found,
    ) {
        scratch.record(&model.net.0, w, &[x]);
        self.choose(x, scratch, found);
        found.passes = 1;
    }

    fn decode_again(
        &self,
        _model: &Trained<Tagging<N>>,
        _w: &[f32],
        x: &N::Input,
        scratch: &mut TagScratch,
        found: &mut Found,
    ) -> bool {
        self.choose(x, scratch, found);
        true
    }

    fn decode_many(
        &self,
        model: &Trained<Tagging<N>>,
        w: &[f32],
        xs: &[&N::Input],
        scratch: &mut TagScratch,
        found: &mut Found,
    ) {
        let net = &model.net.0;
        scratch.record(net, w, xs);
        let (recorded, buffers) = scratch.parts();
        let n = net.n_tags();
        found.clear();
        found.passes = xs.len();
        for (b, x) in xs.iter().enumerate() {
            let mut rows = std::mem::take(&mut buffers.rows);
            rows.clear();
            for t in 0..net.len(x) {
                rows.extend_from_slice(&recorded.scores()[(t * xs.len() + b) * n..][..n]);
            }
            let candidate: &mut Candidate = found.add();
            self.search.search(x, &TagScores::new(self.tags, &rows), buffers, &mut |y| {
                // The best comes first.
                if candidate.output.is_empty() {
                    candidate.output.extend_from_slice(y);
                    let chosen = y.iter().enumerate();
                    candidate.log_prob = chosen.map(|(t, &tag)| rows[t * n + tag as usize]).sum();
                }
            });
            buffers.rows = rows;
        }
    }
}
