//! `f(x; W)`: how outputs are found under given weights.
//!
//! A decoder never sees the constraint; that is what makes GBI's inference the network's own.
//! (Masked and exact constrained decoders are rivals and sources of satisfying candidates: they
//! implement the same trait and say in their name what they know.)

use crate::model::{Candidate, Model};

/// The network's inference procedure.
pub trait Decoder<M: Model + ?Sized>: Sync {
    /// Finds the best outputs for `x` under `w`, best first, and records them in `scratch`.
    ///
    /// Begins a new recording: marks of earlier decodes are void. A constrained decoder may find
    /// nothing; an unconstrained one always finds at least one candidate.
    fn decode(
        &self,
        model: &M,
        w: &[f32],
        x: &M::Input,
        scratch: &mut M::Scratch,
        found: &mut Found,
    );

    /// The same, where `scratch` holds the recording of a decode of the same `x` under the same `w`.
    ///
    /// Returns whether that recording is still good: a decoder that only chooses among what has
    /// been recorded, as those of taggers do, need not run the network again.
    fn decode_again(
        &self,
        model: &M,
        w: &[f32],
        x: &M::Input,
        scratch: &mut M::Scratch,
        found: &mut Found,
    ) -> bool {
        self.decode(model, w, x, scratch, found);
        false
    }

    /// The best output of each of several inputs, in order.
    ///
    /// All inputs share `w` on a first pass, so a decoder that can run them through the network
    /// together should: it then reads the weights once for all of them. Outputs must not depend on
    /// what else is in the batch.
    fn decode_many(
        &self,
        model: &M,
        w: &[f32],
        xs: &[&M::Input],
        scratch: &mut M::Scratch,
        found: &mut Found,
    ) {
        let mut own = Found::default();
        found.clear();
        for x in xs {
            self.decode(model, w, x, scratch, &mut own);
            found.passes += own.passes;
            found.add().clone_from(own.best().unwrap_or(&Candidate::default()));
        }
    }
}

/// What a decode found, best first. Candidates are pooled, so that decoding again allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pool: Vec<Candidate>,
    len: usize,
    /// How many sequences the network was run over: a beam of width `k` costs `k`.
    pub passes: usize,
}

impl Found {
    /// Forgets everything found, keeping the buffers.
    pub fn clear(&mut self) {
        self.len = 0;
        self.passes = 0;
    }

    /// Adds an empty candidate after the others and hands it out to be filled.
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

    /// The decoded output, if there is one.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates().first()
    }
}
