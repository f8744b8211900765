//! `∇`: a gradient over the flat weights that tracks which ranges are non-zero.
//!
//! A network with a large vocabulary touches a few rows of its embedding per input; the rest need
//! not be cleared or applied.
//!
//! The gradient of a matrix is a sum of outer products, one per use: `Σ_t x_t ⊗ dy_t`. A few of
//! them take much less memory than the matrix. A step that only subtracts the gradient can then
//! apply them directly, and the dense gradient is neither written nor read. `products.rs` holds
//! them; [`Purpose`] says whether that is allowed.

use std::ops::Range;

use crate::Aligned;
use crate::kernels;
use crate::products::{Multiplier, Products};

/// A gradient over the flat weights.
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    values: Aligned,
    touched: Vec<Range<usize>>,
    frozen: Vec<Range<usize>>,
    /// The first `n_products` belong to this gradient; the others are spare buffers.
    products: Vec<Products>,
    n_products: usize,
    multiplier: Multiplier,
    purpose: Purpose,
}

/// What a gradient will be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Anything: every value must be materialised.
    #[default]
    Any,
    /// Only subtracted; matrices may stay as outer products.
    Subtract,
    /// Only subtracted, scaled by its norm; matrices may stay as outer products.
    SubtractByNorm,
}

impl Gradient {
    /// A gradient over `n` weights, all of which move.
    pub fn new(n: usize) -> Self {
        Gradient { values: Aligned::zeros(n), ..Gradient::default() }
    }

    /// Freezes these ranges of the weights.
    pub fn freeze(&mut self, frozen: impl IntoIterator<Item = Range<usize>>) {
        self.frozen.clear();
        self.frozen.extend(frozen);
    }

    /// Whether the weights in `range` may move.
    pub fn moves(&self, range: &Range<usize>) -> bool {
        !self.frozen.iter().any(|f| f.start <= range.start && range.end <= f.end)
    }

    /// Declares what the gradient is for, before it is computed.
    pub fn serve(&mut self, purpose: Purpose) {
        self.purpose = purpose;
    }

    /// What the gradient is for.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Forgets all touched ranges; values are stale until their range is touched again.
    pub fn clear(&mut self) {
        self.touched.clear();
        self.n_products = 0;
    }

    /// The values of `range`, for the caller to overwrite.
    pub fn touch(&mut self, range: Range<usize>) -> &mut [f32] {
        remember(&mut self.touched, &range);
        &mut self.values[range]
    }

    /// The products of the matrix at `range`, for the caller to overwrite.
    pub(crate) fn product(&mut self, range: Range<usize>) -> &mut Products {
        assert!(self.purpose != Purpose::Any, "purpose is Any, so products are not allowed");
        let i = self.n_products;
        self.n_products += 1;
        if i == self.products.len() {
            self.products.push(Products::default());
        }
        self.products[i].range = range;
        &mut self.products[i]
    }

    /// The ranges with materialised values, in order.
    pub fn touched(&self) -> &[Range<usize>] {
        &self.touched
    }

    /// The matrices left as products.
    pub(crate) fn products(&self) -> &[Products] {
        &self.products[..self.n_products]
    }

    /// Every range that may be non-zero: touched, or left as products.
    pub fn ranges(&self) -> impl Iterator<Item = &Range<usize>> {
        self.touched.iter().chain(self.products().iter().map(|products| &products.range))
    }

    /// The values of a touched range.
    pub fn values(&self, range: &Range<usize>) -> &[f32] {
        &self.values[range.clone()]
    }

    /// The values of a touched range, mutable.
    pub fn values_mut(&mut self, range: &Range<usize>) -> &mut [f32] {
        &mut self.values[range.clone()]
    }

    /// `∇ ← ∇ + other`, for gradients without products.
    pub fn add(&mut self, other: &Gradient) {
        for range in &other.touched {
            let values = other.values(range);
            if is_known(&self.touched, range) {
                self.values_mut(range).iter_mut().zip(values).for_each(|(a, b)| *a += b);
            } else {
                self.touch(range.clone()).copy_from_slice(values);
            }
        }
    }

    /// `∇ ← factor · ∇`, for gradients without products.
    pub fn scale(&mut self, factor: f32) {
        let Gradient { values, touched, .. } = self;
        for range in touched.iter() {
            values[range.clone()].iter_mut().for_each(|v| *v *= factor);
        }
    }

    /// `‖∇‖₂`.
    pub fn norm(&mut self) -> f32 {
        let touched = self.touched.iter().map(|r| kernels::sum_of_squares(self.values(r)));
        let touched: f64 = touched.sum();
        let Gradient { products, n_products, multiplier, .. } = self;
        let products = products[..*n_products].iter().map(|p| p.squares(multiplier));
        (touched + products.sum::<f64>()).sqrt() as f32
    }

    /// Writes every non-zero value, with products multiplied out.
    pub(crate) fn write(&self, values: &mut [f32]) {
        for range in &self.touched {
            values[range.clone()].copy_from_slice(self.values(range));
        }
        for product in self.products() {
            let multiplier = &mut Multiplier::default();
            product.add_to(&mut values[product.range.clone()], 1.0, multiplier);
        }
    }

    /// `w ← w − η∇`, for the matrices left as products. Shows each of them as soon as it has moved.
    pub(crate) fn subtract_products(
        &mut self,
        w: &mut [f32],
        eta: f32,
        moved: &mut dyn FnMut(&Range<usize>, &[f32]),
    ) {
        let Gradient { products, n_products, multiplier, .. } = self;
        for product in &products[..*n_products] {
            let w = &mut w[product.range.clone()];
            product.add_to(w, -eta, multiplier);
            moved(&product.range, w);
        }
    }
}

/// Inserts `range` into the sorted `known` unless present, and returns its place. Ranges mostly arrive
/// in order, which is a plain push.
pub(crate) fn remember(known: &mut Vec<Range<usize>>, range: &Range<usize>) -> usize {
    if known.last().is_none_or(|last| last.start < range.start) {
        known.push(range.clone());
        return known.len() - 1;
    }
    let place = known.partition_point(|k| k.start < range.start);
    if known.get(place) != Some(range) {
        known.insert(place, range.clone());
    }
    place
}

/// Whether `range` is in the sorted `known`.
pub(crate) fn is_known(known: &[Range<usize>], range: &Range<usize>) -> bool {
    known.get(known.partition_point(|k| k.start < range.start)) == Some(range)
}
