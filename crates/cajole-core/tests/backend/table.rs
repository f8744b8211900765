//! A tagger: `p(y_t = v | x) ∝ exp(W[t, v] + x[t, v])`.
//!
//! The input has scores of its own, so that inputs differ; without them, the weights are the
//! scores. `T` positions, `V` tags.

use cajole_core::constraints::TagSet;
use cajole_core::decoders::tags::{self, KBest, Space, Tagged};
use cajole_core::decoders::{Beam, Ranking};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Force, Mark, Model, Move, Moving,
    Parameter, Pass, Recording, Search, Symbol, TagScorer,
};

use super::deltas::{self, Deltas};
use super::faults::{Call, Faults};
use super::log_softmax;

/// `x`.
#[derive(Clone, Debug)]
pub(crate) struct Sentence {
    /// A name, for faults.
    pub(crate) id: usize,
    pub(crate) scores: Vec<Vec<f32>>, // (T, V)
}

/// The tagger. Tag 0 is `O`; there are no `I-` tags, so every sequence is valid.
#[derive(Debug)]
pub(crate) struct Table {
    weights: Vec<f32>, // (T, V)
    tags: TagSet,
    pub(crate) faults: Faults,
}

/// What the last passes left: log-probabilities, by input.
#[derive(Default)]
pub(crate) struct Readings {
    number: u64,
    kept: Vec<Reading>,
    other: Vec<Reading>,
}

struct Reading {
    id: usize,
    stamp: u64,
    log_probs: Vec<f64>, // (T, V)
}

impl Table {
    /// With these scores for each position.
    pub(crate) fn new(rows: &[&[f32]]) -> Self {
        let names = (0..rows[0].len()).map(|v| if v == 0 { "O".into() } else { format!("B-{v}") });
        let tags = TagSet::new(names).unwrap();
        Table { weights: rows.concat(), tags, faults: Faults::default() }
    }

    pub(crate) fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// An input without scores of its own, as long as the table.
    pub(crate) fn plain(&self) -> Sentence {
        let v = self.n_tags();
        Sentence { id: 0, scores: vec![vec![0.0; v]; self.weights.len() / v] }
    }

    pub(crate) fn bits(&self) -> Vec<u32> {
        self.weights.iter().map(|w| w.to_bits()).collect()
    }

    /// The log-probabilities `(T, V)` of all tags.
    pub(crate) fn log_probs(&self, x: &Sentence, nudge: Option<&Deltas>) -> Vec<f64> {
        let v = self.n_tags();
        let own = x.scores.concat().into_iter().zip(&self.weights).enumerate();
        let score = |(i, (x, w)): (usize, (f32, &f32))| {
            f64::from(x) + f64::from(*w) + Deltas::shift(nudge, i)
        };
        let mut scores: Vec<f64> = own.map(score).collect();
        scores.chunks_mut(v).for_each(log_softmax);
        scores
    }
}

impl Readings {
    /// A mark says which recording it belongs to, and to which input.
    fn mark(&self, place: usize, i: usize) -> Mark {
        Mark(self.number << 32 | (place as u64) << 16 | i as u64)
    }

    /// What a mark points at.
    fn at(&self, own: &Move<Deltas>, mark: Mark) -> usize {
        assert_eq!(mark.0 >> 32, self.number, "a mark of an old recording");
        assert_eq!((mark.0 >> 16) as u16 as usize, own.place, "a mark of another input");
        (mark.0 & 0xffff) as usize
    }

    /// The recording of `pass`, which must be under the same weights.
    fn of(&self, pass: &Pass<'_, Table>) -> &Reading {
        let reading = &self.kept[pass.place.expect("it is recorded")];
        let now = (pass.input.id, Deltas::stamp(pass.nudge));
        assert_eq!((reading.id, reading.stamp), now, "recorded under other weights");
        reading
    }
}

impl TagScorer for Table {
    fn n_tags(&self) -> usize {
        self.tags.n_tags()
    }

    fn read(
        &self,
        scratch: &mut Readings,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError> {
        let call = if recording == Recording::Kept { Call::Decode } else { Call::Search };
        self.faults.call(call, set.iter().map(|pass| pass.input.id))?;
        let read = |pass: &Pass<'_, Self>| Reading {
            id: pass.input.id,
            stamp: Deltas::stamp(pass.nudge),
            log_probs: self.log_probs(pass.input, pass.nudge),
        };
        let readings = set.iter().map(read).collect();
        match recording {
            Recording::Kept => (scratch.kept, scratch.number) = (readings, scratch.number + 1),
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
        scores.clear();
        scores.extend(readings[place].log_probs.iter().map(|&log_prob| log_prob as f32));
    }

    fn mark(&self, scratch: &Readings, place: usize, t: usize, tag: Symbol) -> Mark {
        scratch.mark(place, t * self.n_tags() + tag as usize)
    }
}

impl Model for Table {
    type Input = Sentence;
    type Scratch = Readings;
    type Nudge = Deltas;

    fn parameters(&self) -> Vec<Parameter> {
        let len = self.n_tags();
        let parameter = |t| Parameter { name: format!("position{t}"), len, is_vector: false };
        (0..self.weights.len() / len).map(parameter).collect()
    }

    fn scratch(&self) -> Readings {
        Readings::default()
    }

    fn size(&self, x: &Sentence) -> usize {
        x.scores.len()
    }

    fn nudge(&self, moving: &Moving) -> Result<Deltas, BackendError> {
        self.faults.call(Call::Nudge, [])?;
        Ok(Deltas::new(moving))
    }

    fn restore(&self, nudge: &mut Deltas) {
        nudge.restore();
    }

    /// Every output is in the recording already.
    fn force(
        &self,
        scratch: &mut Readings,
        set: &mut [Force<'_, Self>],
    ) -> Result<(), BackendError> {
        self.faults.call(Call::Force, set.iter().map(|force| force.pass.input.id))?;
        for Force { pass, output, forced, .. } in set {
            let reading = scratch.of(pass);
            forced.clear();
            forced.output.extend_from_slice(output);
            for (t, &tag) in output.iter().enumerate() {
                let i = t * self.n_tags() + tag as usize;
                forced.log_prob += reading.log_probs[i] as f32;
                forced.marks.push(scratch.mark(pass.place.unwrap_or_default(), i));
            }
        }
        Ok(())
    }

    /// `∂ log p(y_t) / ∂ W[t, v] = [v = y_t] − p_t(v)`.
    fn gradient(
        &self,
        scratch: &mut Readings,
        set: &mut [Move<Deltas>],
    ) -> Result<(), BackendError> {
        let active = set.iter().filter(|own| !own.is_over);
        self.faults.call(Call::Gradient, active.map(|own| scratch.kept[own.place].id))?;
        let n = self.n_tags();
        for own in set.iter_mut().filter(|own| !own.is_over) {
            let reading = &scratch.kept[own.place];
            own.nudge.clear_gradient();
            for (mark, cost) in own.blame.clone() {
                let picked = scratch.at(own, mark);
                let t = picked / n;
                for i in t * n..(t + 1) * n {
                    let d = f64::from(u8::from(i == picked)) - reading.log_probs[i].exp();
                    if own.nudge.moving.moves(t) {
                        own.nudge.add(i, f64::from(cost) * d);
                    }
                }
            }
            deltas::complete(own);
        }
        Ok(())
    }

    fn take_step(&self, set: &mut [Move<Deltas>]) -> Result<(), BackendError> {
        let active = set.iter().filter(|own| !own.is_over);
        self.faults.call(Call::TakeStep, active.map(|_| usize::MAX))?;
        set.iter_mut().filter(|own| !own.is_over).for_each(deltas::step);
        Ok(())
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
