//! Gradients of matrices that are left as products, and what is done with them.
//!
//! To write the gradient of a matrix, to read it for its norm and again for the step takes longer
//! than need be. A step that does not ask for the norm moves a matrix while its products are
//! multiplied out. One that does can do the same where an input is short and the matrix large, since
//! the norm of a sum follows from how its terms lie to each other:
//! `‖Σ_t x_t ⊗ dy_t‖² = Σ_s Σ_t (x_s · x_t)(dy_s · dy_t)`.

use std::cell::RefCell;

use cajole_core::gradient::{Gradient, Multiply, Products, Purpose};

use crate::kernels::{self, Packed, Panel, Uses};

/// Leaves the gradient of `range` as products, if that is faster and wanted; returns whether it is.
pub(crate) fn keep(grad: &mut Gradient, range: std::ops::Range<usize>, uses: &Uses<'_>) -> bool {
    let Uses { shape: (k, n), xs, dys, rows } = *uses;
    let terms = rows.len();
    match grad.purpose() {
        Purpose::Any => return false,
        Purpose::Subtract if k * n < SMALL => return false,
        Purpose::Subtract => {
            let products = grad.product(range, &AsPacked);
            (products.shape, products.terms) = ((k, n), terms);
            pack(uses, &mut products.x, &mut products.dy);
        }
        Purpose::SubtractByNorm => {
            // Either way all is multiplied out once. Besides, there are four passes over a matrix that
            // no cache holds, or one product of all `x` and one of all `dy` with each other.
            if k * n < LARGE || 10 * k * n <= terms * terms * (k + n) {
                return false;
            }
            let products = grad.product(range, &AsRows);
            (products.shape, products.terms) = ((k, n), terms);
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

/// Packs uses, over whatever was in the buffers.
fn pack(uses: &Uses<'_>, x: &mut Vec<f32>, dy: &mut Vec<f32>) {
    let sizes = kernels::packed_sizes(uses.shape, uses.rows.len());
    x.resize(sizes.0, 0.0);
    dy.resize(sizes.1, 0.0);
    kernels::pack(uses, x, dy);
}

/// Terms whose products with others are taken together.
const ABREAST: usize = 5;

/// The gradient of a smaller matrix stays in the innermost cache.
const SMALL: usize = 1 << 13;

/// The gradient of a smaller matrix stays in some cache.
const LARGE: usize = 1 << 17;

/// Products as they are multiplied out.
#[derive(Debug)]
struct AsPacked;

/// Products row by row, which can meet each other.
#[derive(Debug)]
struct AsRows;

#[derive(Default)]
struct Buffers {
    panel: Panel,
    rows: Vec<(u32, u32)>,
    /// `x` and `dy`.
    packed: (Vec<f32>, Vec<f32>),
    /// `x_s · x_t` and `dy_s · dy_t`, some rows of each.
    dots: Vec<f32>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl Multiply for AsPacked {
    fn add_to(&self, w: &mut [f32], scale: f32, of: &Products) {
        let Products { shape, terms, x, dy, .. } = of;
        kernels::add_packed(w, scale, &Packed { shape: *shape, terms: *terms, x, dy });
    }

    /// Steps for which products are packed do not ask for this.
    fn squares(&self, of: &Products) -> f64 {
        let mut values = vec![0.0; of.shape.0 * of.shape.1];
        self.add_to(&mut values, 1.0, of);
        values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum()
    }
}

impl Multiply for AsRows {
    fn add_to(&self, w: &mut [f32], scale: f32, of: &Products) {
        let (k, n) = of.shape;
        BUFFERS.with_borrow_mut(|Buffers { rows, packed: (x, dy), .. }| {
            rows.clear();
            rows.extend((0..of.terms).map(|t| ((t * k) as u32, (t * n) as u32)));
            let uses = Uses { shape: of.shape, xs: &of.x, dys: &of.dy, rows };
            pack(&uses, x, dy);
            kernels::add_packed(w, scale, &Packed { shape: of.shape, terms: of.terms, x, dy });
        });
    }

    fn squares(&self, of: &Products) -> f64 {
        let ((k, n), terms) = (of.shape, of.terms);
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
