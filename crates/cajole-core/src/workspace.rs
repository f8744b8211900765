//! Per-thread buffers for working on one set of inputs after another.
//!
//! No state is carried from one input to the next, only memory: every list is cleared and every
//! `W_λ` restored before reuse.

use crate::backend_error::BackendError;
use crate::decoder::{ConstrainedDecoder, Decoder, Found, Session, Sought};
use crate::decoders::Buffers;
use crate::descent::Descent;
use crate::model::{Model, Move, Pass};
use crate::moving::Moving;
use crate::wanted::Wanted;

/// The private memory of one thread; see [`Gbi::run_set`](crate::Gbi::run_set).
pub struct Workspace<M: Model + ?Sized> {
    pub(crate) scratch: M::Scratch,
    pub(crate) buffers: Buffers,
    /// The inputs in flight, as three lists in the same order.
    pub(crate) moves: Vec<Move<M::Nudge>>,
    pub(crate) found: Vec<Found>,
    pub(crate) descents: Vec<Descent>,
    /// Proposals of sources, one entry per queried input.
    pub(crate) proposed: Vec<Found>,
    /// Recycled state of finished inputs, for nudges of the parameters in `moving`.
    pub(crate) spare: Vec<(Move<M::Nudge>, Found, Descent)>,
    moving: Moving,
}

impl<M: Model + ?Sized> Workspace<M> {
    /// Memory for one thread working with `model`.
    pub fn new(model: &M) -> Self {
        Workspace {
            scratch: model.scratch(),
            buffers: Buffers::default(),
            moves: Vec::new(),
            found: Vec::new(),
            descents: Vec::new(),
            proposed: Vec::new(),
            spare: Vec::new(),
            moving: Moving::default(),
        }
    }

    /// Prepares for a run that moves these parameters: drops nudges made for others, and whatever a
    /// panicked run left behind.
    pub(crate) fn prepare(&mut self, moving: &Moving) {
        self.moves.clear();
        self.found.clear();
        self.descents.clear();
        if self.moving != *moving {
            self.spare.clear();
            self.moving.clone_from(moving);
        }
    }

    /// A session, for running decoders directly.
    pub fn session<'a>(&'a mut self, model: &'a M) -> Session<'a, M> {
        Session { model, scratch: &mut self.scratch, buffers: &mut self.buffers }
    }

    /// Decodes `x` alone, under `W`. It is recorded at place 0.
    ///
    /// # Errors
    /// If the backend fails.
    pub fn decode(
        &mut self,
        model: &M,
        decoder: &dyn Decoder<M>,
        x: &M::Input,
    ) -> Result<Found, BackendError> {
        let mut found = Found::default();
        let set = [Pass::base(x)];
        decoder.decode(&mut self.session(model), &set, std::slice::from_mut(&mut found))?;
        Ok(found)
    }

    /// Runs a constrained search for one input alone, under `W`.
    ///
    /// # Errors
    /// If the backend fails.
    pub fn search(
        &mut self,
        model: &M,
        decoder: &dyn ConstrainedDecoder<M>,
        x: &M::Input,
        wanted: &Wanted<'_>,
    ) -> Result<Found, BackendError> {
        let mut found = Found::default();
        let set = [Sought::base(x, wanted)];
        decoder.search(&mut self.session(model), &set, std::slice::from_mut(&mut found))?;
        Ok(found)
    }
}
