//! Searches over tags: the best sequence given one matrix of log-probabilities.
//!
//! [`Viterbi`] and [`KBest`] know the BIO rule alone. [`Exact`], [`UniqueExact`] and [`AStar`] know
//! which spans and roles the constraints allow. [`MaskedTags`] follows any constraint's automaton, and
//! [`DoublingTags`] and [`SamplingTags`] check what they find. [`Tagged`] turns them into decoders:
//! the network runs once per decode, for many inputs at once, and not at all if its recording is
//! still available.

mod astar;
mod doubling;
mod exact;
mod k_best;
mod masked;
mod queued;
mod sampling;
mod scores;
mod unique;
mod viterbi;

pub use astar::{AStar, Agenda, Ended, Heuristic, Penalties};
pub use doubling::DoublingTags;
pub use exact::{Chart, Exact};
pub use k_best::{KBest, SuffixLists};
pub use masked::{MaskedTags, Trellis};
pub use sampling::SamplingTags;
pub use scores::TagScores;
pub use unique::{Frontier, UniqueExact};
pub use viterbi::{Space, Suffixes, Viterbi};

use crate::backend_error::BackendError;
use crate::constraints::{Bracketed, TagSet};
use crate::decoder::{ConstrainedDecoder, Decoder, Found, Session, Sought};
use crate::decoders::{InTurn, NO_DECODER};
use crate::model::{Candidate, Pass, Symbol};
use crate::search::{DoesNotFit, Search};
use crate::set::Short;
use crate::stepper::Recording;
use crate::tag_scorer::TagScorer;
use crate::wanted::Wanted;

/// Chooses tags by their log-probabilities alone.
pub trait TagSearch: Sync {
    /// Passes the best tags to `take`, best first.
    fn search(&self, scores: &TagScores<'_>, buffers: &mut TagBuffers, take: Take<'_>);
}

/// Takes the tags that a search found.
pub type Take<'t> = &'t mut dyn FnMut(&[Symbol]);

/// Chooses tags given the constraint on them.
pub trait ConstrainedTagSearch<X: ?Sized>: Sync {
    /// Leaves the best tags in [`TagBuffers::y`] and returns their score; `None` if it finds none.
    fn search(&self, sought: &SoughtTags<'_, '_, X>, buffers: &mut TagBuffers) -> Option<f32>;
}

/// One input of a constrained search.
pub struct SoughtTags<'s, 'a, X: ?Sized> {
    /// The log-probabilities of its tags.
    pub scores: TagScores<'s>,
    /// The input.
    pub x: &'s X,
    /// The constraint on its tags.
    pub wanted: &'s Wanted<'a>,
}

/// Written by searches, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct TagBuffers {
    suffixes: Suffixes,
    lists: SuffixLists,
    chart: Chart,
    frontier: Frontier,
    agenda: Agenda,
    trellis: Trellis,
    /// The tags that a constrained search found.
    pub y: Vec<Symbol>,
    /// One input's log-probabilities, `(T, V)`.
    scores: Vec<f32>,
}

impl TagSearch for Viterbi {
    fn search(&self, scores: &TagScores<'_>, buffers: &mut TagBuffers, take: Take<'_>) {
        self.tag(scores, &mut buffers.suffixes, &mut buffers.y);
        take(&buffers.y);
    }
}

impl TagSearch for KBest {
    fn search(&self, scores: &TagScores<'_>, buffers: &mut TagBuffers, take: Take<'_>) {
        for rank in 0..self.tag(scores, &mut buffers.lists) {
            if buffers.lists.read(rank, &mut buffers.y).is_some() {
                take(&buffers.y);
            }
        }
    }
}

impl<X: Bracketed + ?Sized> ConstrainedTagSearch<X> for Exact<'_> {
    fn search(&self, sought: &SoughtTags<'_, '_, X>, buffers: &mut TagBuffers) -> Option<f32> {
        self.tag(&sought.scores, sought.x.brackets(), &mut buffers.chart, &mut buffers.y)
    }
}

impl<X: Bracketed + ?Sized> ConstrainedTagSearch<X> for UniqueExact<'_> {
    fn search(&self, sought: &SoughtTags<'_, '_, X>, buffers: &mut TagBuffers) -> Option<f32> {
        let TagBuffers { chart, frontier, y, .. } = buffers;
        self.tag(&sought.scores, sought.x.brackets(), chart, frontier, y)
    }
}

impl<X: Bracketed + ?Sized> ConstrainedTagSearch<X> for AStar {
    fn search(&self, sought: &SoughtTags<'_, '_, X>, buffers: &mut TagBuffers) -> Option<f32> {
        let brackets = sought.x.brackets();
        match self.tag(&sought.scores, brackets, &mut buffers.agenda, &mut buffers.y) {
            Ended::Found { score, .. } => Some(score),
            _ => None,
        }
    }
}

/// A tag search as a tagger's decoder.
#[derive(Clone, Debug)]
pub struct Tagged<'a, S> {
    /// The meaning of the tagger's symbols.
    pub tags: &'a TagSet,
    /// The search.
    pub search: S,
}

impl<'a> Tagged<'a, Viterbi> {
    /// The network's own inference: the most probable valid tags.
    pub fn viterbi(tags: &'a TagSet) -> Self {
        Tagged { tags, search: Viterbi { space: Space::Log } }
    }
}

/// The searches of taggers: all go over one matrix of log-probabilities.
///
/// # Errors
/// If the search is for networks of another kind.
pub fn search<'a, M: TagScorer + 'a>(
    tags: &'a TagSet,
    search: &Search,
) -> Result<Box<dyn ConstrainedDecoder<M> + 'a>, DoesNotFit> {
    let lists = |from, to| Tagged { tags, search: DoublingTags { from, to } };
    let masked = Tagged { tags, search: MaskedTags::default() };
    Ok(match *search {
        Search::Masked { .. } => Box::new(masked),
        Search::Beam { from, to } => Box::new(lists(from, to)),
        Search::BlackBox { limit } => Box::new(lists(2, limit)),
        // The exact optimum if the rules are an automaton; else the best on a long list.
        Search::Exact { limit } | Search::Astar { limit, .. } => {
            Box::new(InTurn { searches: vec![Box::new(masked), Box::new(lists(2, limit))] })
        }
        Search::Sample { n, from, seed } => {
            let search = SamplingTags { samples: n, temperature: from.temperature, seed };
            Box::new(Tagged { tags, search })
        }
        Search::Relaxation { .. } => {
            return Err(search.does_not_fit("prices on tags do not say where they belong"));
        }
        Search::Spans { .. } => {
            return Err(search.does_not_fit("only role taggers search over spans"));
        }
        Search::Gbi(_) | Search::Network => return Err(search.does_not_fit(NO_DECODER)),
    })
}

impl<M: TagScorer, S: TagSearch> Decoder<M> for Tagged<'_, S> {
    fn decode(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.tag(at, set, found, Recording::Kept)
    }

    fn skim(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.tag(at, set, found, Recording::None)
    }
}

impl<S: TagSearch> Tagged<'_, S> {
    fn tag<M: TagScorer>(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
        recording: Recording,
    ) -> Result<(), BackendError> {
        let Session { model, scratch, buffers } = at;
        model.read(scratch, set, recording)?;
        for (place, found) in found.iter_mut().enumerate() {
            found.clear();
            found.passes = 1;
            let mut scores = std::mem::take(&mut buffers.tags.scores);
            model.scores(scratch, recording, place, &mut scores);
            if scores.is_empty() && set[place].is_late() {
                found.add().capped = true;
                buffers.tags.scores = scores;
                continue;
            }
            let view = TagScores::new(self.tags, &scores);
            self.search.search(&view, &mut buffers.tags, &mut |y| {
                let candidate = found.add();
                fill(candidate, y, &view);
                if recording == Recording::Kept {
                    let marks = y.iter().enumerate();
                    candidate
                        .marks
                        .extend(marks.map(|(t, &tag)| model.mark(scratch, place, t, tag)));
                }
            });
            buffers.tags.scores = scores;
        }
        Ok(())
    }
}

impl<M: TagScorer, S: ConstrainedTagSearch<M::Input>> ConstrainedDecoder<M> for Tagged<'_, S> {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        let Session { model, scratch, buffers } = at;
        // Run the network only over unrecorded inputs.
        let fresh = set.iter().map(|sought| sought.pass).filter(|pass| pass.place.is_none());
        let fresh: Short<Pass<'_, M>> = fresh.collect();
        if !fresh.is_empty() {
            model.read(scratch, &fresh, Recording::None)?;
        }
        let mut n_fresh = 0;
        for (sought, found) in set.iter().zip(found) {
            found.clear();
            let (recording, place) = match sought.pass.place {
                Some(place) => (Recording::Kept, place),
                None => {
                    n_fresh += 1;
                    found.passes = 1;
                    (Recording::None, n_fresh - 1)
                }
            };
            let mut scores = std::mem::take(&mut buffers.tags.scores);
            model.scores(scratch, recording, place, &mut scores);
            let &Sought { pass: Pass { input: x, .. }, wanted } = sought;
            let tags = SoughtTags { scores: TagScores::new(self.tags, &scores), x, wanted };
            if self.search.search(&tags, &mut buffers.tags).is_some() {
                fill(found.add(), &buffers.tags.y, &tags.scores);
            }
            buffers.tags.scores = scores;
        }
        Ok(())
    }
}

fn fill(candidate: &mut Candidate, y: &[Symbol], scores: &TagScores<'_>) {
    candidate.output.extend_from_slice(y);
    candidate.log_prob = y.iter().enumerate().map(|(t, &tag)| scores.raw(t, tag)).sum();
}
