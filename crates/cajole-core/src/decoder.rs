//! `f(x; W)`: how outputs are found under given weights.
//!
//! A [`Decoder`] never sees the constraint, so GBI's inference remains the network's own. A
//! [`ConstrainedDecoder`] does see it: masked, exact and sampling decoders are baselines for GBI,
//! and sources of satisfying candidates.

use crate::backend_error::BackendError;
use crate::decoders::Buffers;
use crate::model::{Candidate, Model, Pass};
use crate::wanted::Wanted;

/// A decoder's context: the network, and buffers reused between calls.
pub struct Session<'a, M: Model + ?Sized> {
    /// The network.
    pub model: &'a M,
    /// Written by its passes.
    pub scratch: &'a mut M::Scratch,
    /// Written by searches.
    pub buffers: &'a mut Buffers,
}

/// The network's own inference procedure.
pub trait Decoder<M: Model + ?Sized>: Sync {
    /// Finds the best outputs of every input, best first, and starts a new recording that holds
    /// them: input `i` has place `i`. Always finds at least one candidate per input.
    ///
    /// # Errors
    /// If the backend fails; the whole set then counts as failed.
    fn decode(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError>;

    /// The same without recording: for a first pass over many inputs.
    ///
    /// # Errors
    /// If the backend fails; the whole set then counts as failed.
    fn skim(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.decode(at, set, found)
    }
}

/// A decoder that knows the constraint.
pub trait ConstrainedDecoder<M: Model + ?Sized>: Sync {
    /// Finds satisfying outputs of every input, best first; none where none exist or a limit is
    /// reached. Leaves the current recording untouched.
    ///
    /// # Errors
    /// If the backend fails; the whole set then counts as failed.
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError>;
}

/// One input of a constrained search.
pub struct Sought<'s, 'a, M: Model + ?Sized> {
    /// The input and its weights.
    pub pass: Pass<'s, M>,
    /// The constraint on its output.
    pub wanted: &'s Wanted<'a>,
}

impl<'s, 'a: 's, M: Model + ?Sized> Sought<'s, 'a, M> {
    /// An input under the network's own weights.
    pub fn base(input: &'s M::Input, wanted: &'s Wanted<'a>) -> Self {
        Sought { pass: Pass::base(input), wanted }
    }
}

impl<M: Model + ?Sized> Clone for Sought<'_, '_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Model + ?Sized> Copy for Sought<'_, '_, M> {}

/// References and boxes forward to what they hold.
macro_rules! forward {
    ($($to:ty),*) => {$(
        impl<M: Model + ?Sized, D: Decoder<M> + ?Sized> Decoder<M> for $to {
            fn decode(
                &self,
                at: &mut Session<'_, M>,
                set: &[Pass<'_, M>],
                found: &mut [Found],
            ) -> Result<(), BackendError> {
                (**self).decode(at, set, found)
            }

            fn skim(
                &self,
                at: &mut Session<'_, M>,
                set: &[Pass<'_, M>],
                found: &mut [Found],
            ) -> Result<(), BackendError> {
                (**self).skim(at, set, found)
            }
        }
    )*};
}
forward!(&D, Box<D>);

impl<M: Model + ?Sized, D: ConstrainedDecoder<M> + ?Sized> ConstrainedDecoder<M> for &D {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        (**self).search(at, set, found)
    }
}

/// The outputs found for one input, best first. Candidates are pooled, so that decoding again
/// allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pool: Vec<Candidate>,
    len: usize,
    /// Sequences the network was run over: 1 for greedy decoding, the width for a beam.
    pub passes: usize,
}

impl Found {
    /// Removes all candidates, keeping their buffers.
    pub fn clear(&mut self) {
        (self.len, self.passes) = (0, 0);
    }

    /// Appends an empty candidate.
    pub fn add(&mut self) -> &mut Candidate {
        if self.len == self.pool.len() {
            self.pool.push(Candidate::default());
        }
        let candidate = &mut self.pool[self.len];
        self.len += 1;
        candidate.clear();
        candidate
    }

    /// The candidates, best first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.pool[..self.len]
    }

    /// The best candidate, to be extended; an empty one is added if there is none.
    pub fn best_mut(&mut self) -> &mut Candidate {
        if self.len == 0 {
            self.add();
        }
        &mut self.pool[0]
    }

    /// The best candidate, if there is one.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates().first()
    }
}
