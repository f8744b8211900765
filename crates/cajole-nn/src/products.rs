//! Matrix gradients kept as sums of outer products.
//!
//! Writing a matrix gradient, reading it for its norm and reading it again for the step is
//! wasteful. A step that needs no norm updates the matrix while the products are multiplied out.
//! One that does can do the same when the input is short and the matrix large, since the norm
//! follows from the Gram matrices of the factors:
//! `‖Σ_t x_t ⊗ dy_t‖² = Σ_s Σ_t (x_s · x_t)(dy_s · dy_t)`.

use std::ops::Range;

use crate::gradient::{Gradient, Purpose};
use crate::kernels::{self, Packed, Panel, Uses};

/// The gradient `(K, N)` of one matrix as a sum of outer products, `Σ_t x_t ⊗ dy_t`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Products {
    /// The range of the matrix in the flat weights.
    pub(crate) range: Range<usize>,
    /// `(K, N)`.
    shape: (usize, usize),
    /// `T`.
    terms: usize,
    form: Form,
    /// Every `x_t (K)` and every `dy_t (N)`, laid out as `form` says.
    x: Vec<f32>,
    dy: Vec<f32>,
}

/// Layout of the terms.
#[derive(Clone, Copy, Debug, Default)]
enum Form {
    /// Packed for the kernel that multiplies them out.
    #[default]
    Packed,
    /// Row by row: dot products between rows give the norm.
    Rows,
}

/// Scratch for multiplying out, reused between gradients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Multiplier {
    panel: Panel,
    rows: Vec<(u32, u32)>,
    /// `x` and `dy`.
    packed: (Vec<f32>, Vec<f32>),
    /// Blocks of rows of `x_s · x_t` and `dy_s · dy_t`.
    dots: Vec<f32>,
}

/// Keeps the gradient of `range` as products if that is allowed and faster. Returns whether it did.
pub(crate) fn keep(grad: &mut Gradient, range: Range<usize>, uses: &Uses<'_>) -> bool {
    let Uses { shape: (k, n), xs, dys, rows } = *uses;
    let terms = rows.len();
    match grad.purpose() {
        Purpose::Any => return false,
        Purpose::Subtract if k * n < SMALL => return false,
        Purpose::Subtract => {
            let products = grad.product(range);
            (products.shape, products.terms, products.form) = ((k, n), terms, Form::Packed);
            pack(uses, &mut products.x, &mut products.dy);
        }
        Purpose::SubtractByNorm => {
            // Both ways multiply out once. Beyond that, the dense way makes four passes over a
            // matrix that no cache holds, and this way computes the Gram matrices of all `x` and of
            // all `dy`.
            if k * n < LARGE || 10 * k * n <= terms * terms * (k + n) {
                return false;
            }
            let products = grad.product(range);
            (products.shape, products.terms, products.form) = ((k, n), terms, Form::Rows);
            products.x.clear();
            products.dy.clear();
            for &(x_at, dy_at) in rows {
                products.x.extend_from_slice(&xs[x_at as usize..][..k]);
                products.dy.extend_from_slice(&dys[dy_at as usize..][..n]);
            }
        }
    }
    true
}

/// Packs uses, overwriting the buffers.
fn pack(uses: &Uses<'_>, x: &mut Vec<f32>, dy: &mut Vec<f32>) {
    let sizes = kernels::packed_sizes(uses.shape, uses.rows.len());
    x.resize(sizes.0, 0.0);
    dy.resize(sizes.1, 0.0);
    kernels::pack(uses, x, dy);
}

/// Terms per block of the Gram matrices.
const ABREAST: usize = 5;

/// Below this size, a gradient fits the L1 cache.
const SMALL: usize = 1 << 13;

/// Below this size, a gradient fits some cache.
const LARGE: usize = 1 << 17;

impl Products {
    /// `W ← W + scale · Σ_t x_t ⊗ dy_t`.
    pub(crate) fn add_to(&self, w: &mut [f32], scale: f32, with: &mut Multiplier) {
        let ((k, n), terms) = (self.shape, self.terms);
        let (x, dy) = match self.form {
            Form::Packed => (&self.x, &self.dy),
            Form::Rows => {
                let Multiplier { rows, packed: (x, dy), .. } = with;
                rows.clear();
                rows.extend((0..terms).map(|t| ((t * k) as u32, (t * n) as u32)));
                pack(&Uses { shape: (k, n), xs: &self.x, dys: &self.dy, rows }, x, dy);
                (&*x, &*dy)
            }
        };
        kernels::add_packed(w, scale, &Packed { shape: (k, n), terms, x, dy });
    }

    /// `‖Σ_t x_t ⊗ dy_t‖²`.
    pub(crate) fn squares(&self, with: &mut Multiplier) -> f64 {
        match self.form {
            // Rules that pack products do not need the norm, so this is not a hot path.
            Form::Packed => {
                let mut values = vec![0.0; self.shape.0 * self.shape.1];
                self.add_to(&mut values, 1.0, with);
                values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum()
            }
            Form::Rows => self.squares_of_rows(with),
        }
    }

    /// Visits every pair of terms once: a block of terms against those before it and itself.
    fn squares_of_rows(&self, with: &mut Multiplier) -> f64 {
        let ((k, n), terms) = (self.shape, self.terms);
        let Multiplier { panel, dots, .. } = with;
        let mut sum = 0.0;
        for start in (0..terms).step_by(ABREAST) {
            let end = (start + ABREAST).min(terms);
            dots.clear();
            dots.resize(2 * (end - start) * end, 0.0);
            let (x, dy) = dots.split_at_mut((end - start) * end);
            let mut meet = |dots: &mut [f32], all: &[f32], cols: usize| {
                let (own, all) = (&all[start * cols..end * cols], &all[..end * cols]);
                kernels::add_product_transposed(dots, own, all, end, cols, panel);
            };
            meet(x, &self.x, k);
            meet(dy, &self.dy, n);
            for (x, dy) in x.chunks_exact(end).zip(dy.chunks_exact(end)) {
                let pairs = x.iter().zip(dy).map(|(x, dy)| f64::from(*x) * f64::from(*dy));
                let (before, own) = (pairs.clone().take(start), pairs.skip(start));
                sum += 2.0 * before.sum::<f64>() + own.sum::<f64>();
            }
        }
        sum.max(0.0)
    }
}
