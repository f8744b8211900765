//! A tagger in PyTorch: one pass gives all log-probabilities, and its graph is kept for the gradient.

use cajole_core::constraints::TagSet;
use cajole_core::decoders::tags::{self, KBest, Space, Tagged};
use cajole_core::decoders::{Beam, Ranking};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Force, Mark, Model, Move, Moving,
    Parameter, Pass, Recording, Search, Symbol, TagScorer,
};
use pyo3::prelude::*;

use super::backend::{Backend, Item, Nudge, both, floats, set_norms};

pub(crate) struct PyTagger {
    pub(super) backend: Backend,
    pub(super) tags: TagSet,
}

/// Log-probabilities `(T, V)` of every input of the last passes.
#[derive(Default)]
pub(crate) struct Readings {
    kept: Vec<Vec<f32>>,
    other: Vec<Vec<f32>>,
}

impl PyTagger {
    /// Tags that are not BIO may follow each other in any way.
    pub(super) fn new(backend: Backend, names: &[String]) -> Self {
        let tags = TagSet::new(names.iter().cloned()).unwrap_or_else(|_| {
            let free = (0..names.len()).map(|v| match v {
                0 => "O".to_owned(),
                v => format!("B-{v}"),
            });
            TagSet::new(free).expect("these are BIO tags")
        });
        PyTagger { backend, tags }
    }

    fn at(&self, t: usize, tag: Symbol) -> usize {
        t * self.tags.n_tags() + tag as usize
    }
}

impl TagScorer for PyTagger {
    fn n_tags(&self) -> usize {
        self.tags.n_tags()
    }

    fn read(
        &self,
        scratch: &mut Readings,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError> {
        let is_kept = recording == Recording::Kept;
        let v = self.n_tags();
        let (inputs, nudges) = both(set);
        let arguments = (inputs, nudges, is_kept);
        let readings = self.backend.call("read", arguments, |result| {
            let (lengths, bytes): (Vec<usize>, Bound<'_, PyAny>) = result.extract()?;
            let mut all = Vec::new();
            floats(&bytes, &mut all)?;
            let mut rest = all.as_slice();
            let one = |length: usize| {
                let (own, others) = rest.split_at_checked(length * v)?;
                rest = others;
                Some(own.to_vec())
            };
            Ok(lengths.into_iter().map(one).collect::<Option<Vec<_>>>())
        })?;
        let wrong =
            || BackendError::new(format!("the tagger did not score {v} tags for every token"));
        let readings = readings.filter(|all| all.len() == set.len()).ok_or_else(wrong)?;
        match recording {
            Recording::Kept => scratch.kept = readings,
            Recording::None => scratch.other = readings,
        }
        Ok(())
    }

    fn scores(
        &self,
        scratch: &Readings,
        recording: Recording,
        place: usize,
        scores: &mut Vec<f32>,
    ) {
        let readings = match recording {
            Recording::Kept => &scratch.kept,
            Recording::None => &scratch.other,
        };
        scores.clone_from(&readings[place]);
    }

    fn mark(&self, _: &Readings, _: usize, t: usize, tag: Symbol) -> Mark {
        Mark(self.at(t, tag) as u64)
    }
}

impl Model for PyTagger {
    type Input = Item;
    type Scratch = Readings;
    type Nudge = Nudge;

    fn parameters(&self) -> Vec<Parameter> {
        self.backend.parameters()
    }

    fn scratch(&self) -> Readings {
        Readings::default()
    }

    fn size(&self, x: &Item) -> usize {
        x.size
    }

    fn in_step(&self, _: &Moving) -> usize {
        self.backend.in_step
    }

    fn nudge(&self, moving: &Moving) -> Result<Nudge, BackendError> {
        self.backend.nudge(moving)
    }

    fn restore(&self, nudge: &mut Nudge) {
        self.backend.restore(nudge);
    }

    /// Every output is in the recording already.
    fn force(
        &self,
        scratch: &mut Readings,
        set: &mut [Force<'_, Self>],
    ) -> Result<(), BackendError> {
        for Force { pass, output, forced, .. } in set {
            let none = || BackendError::new("the input is not recorded");
            let place = pass.place.ok_or_else(none)?;
            let scores = &scratch.kept[place];
            forced.clear();
            for (t, &tag) in output.iter().enumerate() {
                let long = || BackendError::new(format!("the output has more than {t} tags"));
                forced.log_prob += *scores.get(self.at(t, tag)).ok_or_else(long)?;
                forced.output.push(tag);
                forced.marks.push(self.mark(scratch, place, t, tag));
            }
        }
        Ok(())
    }

    fn gradient(&self, _: &mut Readings, set: &mut [Move<Nudge>]) -> Result<(), BackendError> {
        let moves = set.iter().filter(|own| !own.is_over).map(|own| {
            let (at, costs): (Vec<u64>, Vec<f32>) =
                own.blame.iter().map(|(mark, cost)| (mark.0, *cost)).unzip();
            (&own.nudge.0, own.place, own.pull, at, costs)
        });
        let arguments = (moves.collect::<Vec<_>>(),);
        let norms: Vec<f32> =
            self.backend.call("tag_gradient", arguments, |norms| norms.extract())?;
        set_norms(set, &norms);
        Ok(())
    }

    fn take_step(&self, set: &mut [Move<Nudge>]) -> Result<(), BackendError> {
        self.backend.take_step(set)
    }

    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Self> + '_> {
        match beam.width {
            0 | 1 => Box::new(Tagged::viterbi(&self.tags)),
            k => Box::new(Tagged { tags: &self.tags, search: KBest { k, space: Space::Log } }),
        }
    }

    fn search(
        &self,
        search: &Search,
        _: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Self> + '_>, DoesNotFit> {
        tags::search(&self.tags, search)
    }
}
