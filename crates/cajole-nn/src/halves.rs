//! Half-precision copies of weights, for products that take as long as reading them does.
//!
//! A network that was stored in half precision has weights that half as many bytes say exactly. So
//! where a single row meets a large matrix of such weights, over and over, a copy in half precision
//! is read in its stead. Under `W` that changes no bit of any result, and a row still gets the same
//! in a batch, which reads the weights themselves. Under `W_λ` the copy is `W_λ` rounded, of
//! weights a tenth of the way to the next half one in ten up to it: gradients and steps keep single
//! precision, and a step that moves many weights by less than halves are apart moves the copy by as
//! much on average.
//!
//! A copy is made when a recording first needs it, and serves all of its steps and its backward
//! pass.

use half::f16;

use crate::kernels::{self, Panel};
use crate::layout::{Layout, Param};

/// A matrix of fewer weights stays in the inner caches as it is.
const SMALLEST: usize = 1 << 15;

/// The copies of one recording.
#[derive(Default)]
pub(crate) struct Halves {
    /// By parameter: none, if it is to be read in single precision.
    copies: Vec<Option<Rounded>>,
}

#[derive(Default)]
struct Rounded {
    values: Vec<f16>,
    /// It was made for the recording that is under way.
    is_current: bool,
}

/// A matrix as a product reads it.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a> {
    Single(&'a [f32]),
    Half(&'a [f16]),
}

impl Halves {
    /// Lets those parameters be read in half precision that lose nothing by it under `w`.
    pub(crate) fn allow(&mut self, layout: &Layout, w: &[f32]) {
        self.copies.clear();
        if !kernels::pays() {
            return;
        }
        self.copies.extend(layout.entries().iter().map(|entry| {
            let (p, w) = (entry.param, entry.param.of(w));
            let is_large = kernels::LANES <= p.cols as usize && SMALLEST <= w.len();
            (is_large && kernels::is_exact(w)).then(Rounded::default)
        }));
    }

    /// Forgets the copies, but not their memory.
    pub(crate) fn clear(&mut self) {
        self.copies.iter_mut().flatten().for_each(|copy| copy.is_current = false);
    }

    /// `p` of `w` for a product with so many rows.
    pub(crate) fn of<'a>(&'a mut self, p: Param, w: &'a [f32], rows: usize) -> Weights<'a> {
        let (w, n) = (p.of(w), p.cols as usize);
        match self.copies.get_mut(p.id as usize) {
            Some(Some(copy)) if rows == 1 => {
                if !copy.is_current {
                    copy.is_current = true;
                    copy.values.resize(p.rows as usize * kernels::stride(n), f16::ZERO);
                    kernels::round(&mut copy.values, w, n);
                }
                Weights::Half(&copy.values)
            }
            _ => Weights::Single(w),
        }
    }

    /// The same for the backward pass of that product.
    pub(crate) fn again<'a>(&'a self, p: Param, w: &'a [f32], rows: usize) -> Weights<'a> {
        match self.copies.get(p.id as usize) {
            Some(Some(copy)) if rows == 1 && copy.is_current => Weights::Half(&copy.values),
            _ => Weights::Single(p.of(w)),
        }
    }
}

impl Weights<'_> {
    /// `Y (B, N) += X (B, K) · W (K, N)`.
    pub(crate) fn add_product(self, y: &mut [f32], x: &[f32], k: usize, n: usize) {
        match self {
            Weights::Single(w) => kernels::add_product(y, x, w, k, n),
            Weights::Half(w) => kernels::add_half_product(y, x, w),
        }
    }

    /// `dX (B, K) += dY (B, N) · Wᵀ`.
    pub(crate) fn add_product_transposed(
        self,
        dx: &mut [f32],
        dy: &[f32],
        k: usize,
        n: usize,
        panel: &mut Panel,
    ) {
        match self {
            Weights::Single(w) => kernels::add_product_transposed(dx, dy, w, k, n, panel),
            Weights::Half(w) => kernels::add_half_transposed(dx, dy, w, panel),
        }
    }
}
