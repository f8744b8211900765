//! Transposed copies of matrices that do not move.
//!
//! The backward pass multiplies by `Wᵀ`. With many rows and AVX-512, that is a quarter to a third
//! faster from a transposed copy, with the same bits. Under small nudges no matrix moves, and
//! otherwise many are frozen, so one copy serves all inputs and threads. It is made on first use.

use std::sync::{Arc, OnceLock};

use crate::halves::Weights;
use crate::kernels::{self, LANES, Panel, Transposed};
use crate::layout::{Layout, Param};

/// With fewer rows, a product takes as long as reading the matrix.
const FEWEST_ROWS: usize = 4;

/// Weights of the largest matrix that is copied, so that a vocabulary's is not in memory twice.
const LARGEST: usize = 1 << 22;

/// The copies of a network's matrices, by parameter.
#[derive(Clone, Debug)]
pub(crate) struct Copies(Arc<[OnceLock<Transposed>]>);

impl Copies {
    /// None yet; none ever, if copies are no faster on this machine.
    pub(crate) fn new(layout: &Layout) -> Self {
        let entries = layout.entries().iter().filter(|_| Transposed::pays());
        Copies(entries.map(|_| OnceLock::new()).collect())
    }

    /// The copy of `p`, whose values in `w` are those of `W`, if it pays for this many rows.
    pub(crate) fn of(&self, p: Param, w: &[f32], rows: usize) -> Option<&Transposed> {
        let (k, n) = (p.rows as usize, p.cols as usize);
        let pays = FEWEST_ROWS <= rows && LANES <= n && k * n <= LARGEST;
        let copy = || Transposed::new(p.of(w), k, n);
        Some(self.0.get(p.id as usize).filter(|_| pays)?.get_or_init(copy))
    }
}

/// A matrix as the backward pass reads it.
#[derive(Clone, Copy)]
pub(crate) enum Backwards<'a> {
    Kept(&'a Transposed),
    InPlace(Weights<'a>),
}

impl Backwards<'_> {
    /// `dX (B, K) += dY (B, N) · Wᵀ`.
    pub(crate) fn add_product(
        self,
        dx: &mut [f32],
        dy: &[f32],
        (k, n): (usize, usize),
        panel: &mut Panel,
    ) {
        match self {
            Backwards::Kept(w) => kernels::add_kept_transposed(dx, dy, w, panel),
            Backwards::InPlace(Weights::Single(w)) => {
                kernels::add_product_transposed(dx, dy, w, k, n, panel);
            }
            Backwards::InPlace(Weights::Half(w)) => kernels::add_half_transposed(dx, dy, w),
        }
    }
}
