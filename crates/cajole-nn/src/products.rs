//! Gradients of matrices that are left as products, and what is done with them.
//!
//! To write the gradient of a large matrix, to read it for its norm and again for the step takes
//! longer than to multiply it out. So where an input is short, the matrix is moved by its products
//! directly, and the norm of their sum follows from how they lie to each other:
//! `‖Σ_t x_t ⊗ dy_t‖² = Σ_s Σ_t (x_s · x_t)(dy_s · dy_t)`.

use std::cell::RefCell;

use cajole::gradient::{Gradient, Multiply, Products};

use crate::kernels::{self, Panel, Uses};

/// Leaves the gradient of `range` as products, if that is faster and wanted; returns whether it is.
pub(crate) fn keep(grad: &mut Gradient, range: std::ops::Range<usize>, uses: &Uses<'_>) -> bool {
    let Uses { shape: (k, n), xs, dys, rows } = *uses;
    // Either way all is multiplied out once. Besides, there are four passes over a matrix that no
    // cache holds, or one product of all `x` and one of all `dy` with each other.
    let terms = rows.len();
    let is_worth_while = LARGE <= k * n && terms * terms * (k + n) < 10 * k * n;
    if !grad.keeps_products() || !is_worth_while {
        return false;
    }
    let products = grad.product(range, &Kernels);
    products.terms = terms;
    for &(x_at, dy_at) in rows {
        products.x.extend_from_slice(&xs[x_at as usize..][..k]);
        products.dy.extend_from_slice(&dys[dy_at as usize..][..n]);
    }
    true
}

/// Terms whose products with others are taken together.
const ABREAST: usize = 5;

/// The gradient of a smaller matrix stays in a cache.
const LARGE: usize = 1 << 17;

#[derive(Debug)]
struct Kernels;

#[derive(Default)]
struct Buffers {
    panel: Panel,
    rows: Vec<(u32, u32)>,
    /// `x_s · x_t` and `dy_s · dy_t`, some rows of each.
    dots: Vec<f32>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl Multiply for Kernels {
    fn add_to(&self, w: &mut [f32], scale: f32, of: &Products) {
        let (k, n) = shape(of);
        BUFFERS.with_borrow_mut(|Buffers { panel, rows, .. }| {
            rows.clear();
            rows.extend((0..of.terms).map(|t| ((t * k) as u32, (t * n) as u32)));
            let uses = Uses { shape: (k, n), xs: &of.x, dys: &of.dy, rows };
            kernels::add_outer_sum(w, scale, &uses, panel);
        });
    }

    fn squares(&self, of: &Products) -> f64 {
        let ((k, n), terms) = (shape(of), of.terms);
        BUFFERS.with_borrow_mut(|Buffers { panel, dots, .. }| {
            let mut sum = 0.0;
            // Every pair once: some terms at a time, with those before them and with each other.
            for start in (0..terms).step_by(ABREAST) {
                let end = (start + ABREAST).min(terms);
                dots.clear();
                dots.resize(2 * (end - start) * end, 0.0);
                let (x, dy) = dots.split_at_mut((end - start) * end);
                let mut meet = |dots: &mut [f32], all: &[f32], cols: usize| {
                    let (own, all) = (&all[start * cols..end * cols], &all[..end * cols]);
                    kernels::add_product_transposed(dots, own, all, end, cols, panel);
                };
                meet(x, &of.x, k);
                meet(dy, &of.dy, n);
                for (x, dy) in x.chunks_exact(end).zip(dy.chunks_exact(end)) {
                    let pairs = x.iter().zip(dy).map(|(x, dy)| f64::from(*x) * f64::from(*dy));
                    let (before, own) = (pairs.clone().take(start), pairs.skip(start));
                    sum += 2.0 * before.sum::<f64>() + own.sum::<f64>();
                }
            }
            sum.max(0.0)
        })
    }
}

/// `(K, N)`.
fn shape(of: &Products) -> (usize, usize) {
    (of.x.len() / of.terms.max(1), of.dy.len() / of.terms.max(1))
}
