//! Per-input vectors, for nudges that move only biases and gains.
//!
//! If only vectors move, inputs share every matrix, and one product serves all of them. The private
//! weights of an input are then a short vector added to its biases and gains: its shift. `B` inputs, `S`
//! floats per shift.

use std::sync::Arc;

use cajole_core::Moving;

use crate::kernels;
use crate::layout::{Layout, Param};

/// Which vectors move, and their offsets in a shift. Cloned in every pass, hence the `Arc`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vectors {
    /// Offset by parameter id; `None` if it does not move.
    at: Arc<[Option<u32>]>,
    len: usize,
}

impl Vectors {
    /// The vectors chosen by `moving`, concatenated.
    pub(crate) fn new(layout: &Layout, moving: &Moving) -> Self {
        let mut len = 0;
        let place = |(i, entry): (usize, &crate::layout::Entry)| {
            moving.moves(i).then(|| {
                let at = len;
                len += entry.param.cols as usize;
                at as u32
            })
        };
        let at = layout.entries().iter().enumerate().map(place).collect();
        Vectors { at, len }
    }

    /// `S`.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Offset of `p` in a shift, if it moves.
    pub(crate) fn at(&self, p: Param) -> Option<usize> {
        self.at.get(p.id as usize).copied().flatten().map(|at| at as usize)
    }
}

/// The shifts of all inputs of a pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shifts {
    vectors: Vectors,
    values: Vec<f32>, // (B, S)
}

impl Shifts {
    /// Sets the shifts of `B` inputs; `None` means the input is at `W`.
    pub(crate) fn set<'s>(
        &mut self,
        inputs: impl Iterator<Item = Option<(&'s Vectors, &'s [f32])>> + Clone,
    ) {
        self.values.clear();
        let Some((vectors, _)) = inputs.clone().flatten().next() else { return };
        self.vectors.clone_from(vectors);
        for input in inputs {
            match input {
                Some((_, shift)) => self.values.extend_from_slice(shift),
                None => self.values.resize(self.values.len() + vectors.len, 0.0),
            }
        }
    }

    /// What input `b` adds to the vector `p`, if `p` moves.
    pub(crate) fn of(&self, p: Param, b: usize) -> Option<&[f32]> {
        let at = self.vectors.at(p)?;
        Some(&self.values[b * self.vectors.len + at..][..p.cols as usize])
    }

    /// Adds to each row of `y (R, N)` its owner's shift of the bias `b (N)`.
    pub(crate) fn add_to(&self, b: Param, y: &mut [f32], owner: impl Fn(usize) -> usize) {
        let (Some(at), n) = (self.vectors.at(b), b.cols as usize) else { return };
        for (row, y) in y.chunks_exact_mut(n).enumerate() {
            kernels::add_to(y, &self.values[owner(row) * self.vectors.len + at..][..n]);
        }
    }
}
