//! `∇`: a gradient over the flat weights that knows which parts of it hold anything.
//!
//! A network with a large vocabulary touches a few rows of its embedding per input; what is not
//! touched need be neither cleared nor applied.
//!
//! The gradient of a matrix is a sum of products, one for each time it was used:
//! `Σ_t x_t ⊗ dy_t`. Where these are few, they say the same as the matrix in much less memory, and a
//! step that only subtracts it can do so while multiplying out: the matrix itself is never written
//! nor read. That is left to whoever computes the gradient, see [`Purpose`].

use std::ops::Range;

use crate::aligned::Aligned;
use crate::vector;

/// A gradient.
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    values: Aligned,
    touched: Vec<Range<usize>>,
    frozen: Vec<Range<usize>>,
    /// The first `n_products` are of this gradient; others lend their memory to the next.
    products: Vec<Products>,
    n_products: usize,
    purpose: Purpose,
}

/// What will be done with a gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Anything: every value has to be there.
    #[default]
    Any,
    /// It is subtracted; matrices may be left as [`Products`].
    Subtract,
    /// It is subtracted, divided by its norm; matrices may be left as [`Products`].
    SubtractByNorm,
}

/// The gradient `(K, N)` of one matrix as a sum of products, `Σ_t x_t ⊗ dy_t`.
#[derive(Clone, Debug)]
pub struct Products {
    /// The matrix' place in the weights.
    pub range: Range<usize>,
    /// `(K, N)`.
    pub shape: (usize, usize),
    /// `T`.
    pub terms: usize,
    /// Every `x_t (K)`, in an order that `multiply` knows.
    pub x: Vec<f32>,
    /// Every `dy_t (N)`, in an order that `multiply` knows.
    pub dy: Vec<f32>,
    /// Whoever knows how to multiply them.
    pub multiply: &'static dyn Multiply,
}

/// Multiplies out what was kept as products.
pub trait Multiply: Sync + std::fmt::Debug {
    /// `W ← W + scale · Σ_t x_t ⊗ dy_t`.
    fn add_to(&self, w: &mut [f32], scale: f32, of: &Products);

    /// `‖Σ_t x_t ⊗ dy_t‖²`.
    fn squares(&self, of: &Products) -> f64;
}

impl Gradient {
    /// A gradient over `n` weights, all of which move.
    pub fn new(n: usize) -> Self {
        Gradient { values: Aligned::zeros(n), ..Gradient::default() }
    }

    /// Keeps these ranges of the weights where they are.
    pub fn freeze(&mut self, frozen: impl IntoIterator<Item = Range<usize>>) {
        self.frozen.clear();
        self.frozen.extend(frozen);
    }

    /// Whether the weights in `range` may move.
    pub fn moves(&self, range: &Range<usize>) -> bool {
        !self.frozen.iter().any(|f| f.start <= range.start && range.end <= f.end)
    }

    /// Says what the gradient will be for, before it is computed.
    pub fn serve(&mut self, purpose: Purpose) {
        self.purpose = purpose;
    }

    /// What the gradient will be for.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Forgets what was touched; the values stay as they are until a range is touched again.
    pub fn clear(&mut self) {
        self.touched.clear();
        self.n_products = 0;
    }

    /// The values of `range`, about to be overwritten by the caller.
    pub fn touch(&mut self, range: Range<usize>) -> &mut [f32] {
        remember(&mut self.touched, &range);
        &mut self.values[range]
    }

    /// The products of the matrix in `range`, about to be overwritten by the caller.
    pub fn product(
        &mut self,
        range: Range<usize>,
        multiply: &'static dyn Multiply,
    ) -> &mut Products {
        assert!(self.purpose != Purpose::Any, "products nobody asked for");
        let i = self.n_products;
        self.n_products += 1;
        if let Some(products) = self.products.get_mut(i) {
            (products.range, products.terms, products.multiply) = (range, 0, multiply);
        } else {
            let (x, dy, shape) = (Vec::new(), Vec::new(), (0, 0));
            self.products.push(Products { range, shape, terms: 0, x, dy, multiply });
        }
        &mut self.products[i]
    }

    /// The ranges whose values are at hand, in order.
    pub fn touched(&self) -> &[Range<usize>] {
        &self.touched
    }

    /// The matrices that were left as products.
    pub fn products(&self) -> &[Products] {
        &self.products[..self.n_products]
    }

    /// Everything that is not zero: what was touched, and what was left as products.
    pub fn ranges(&self) -> impl Iterator<Item = &Range<usize>> {
        self.touched.iter().chain(self.products().iter().map(|products| &products.range))
    }

    /// The values behind one of the touched ranges.
    pub fn values(&self, range: &Range<usize>) -> &[f32] {
        &self.values[range.clone()]
    }

    /// The values behind one of the touched ranges, to change in place.
    pub fn values_mut(&mut self, range: &Range<usize>) -> &mut [f32] {
        &mut self.values[range.clone()]
    }

    /// `∇ ← ∇ + other`, where nothing was left as products.
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

    /// `∇ ← factor · ∇`, where nothing was left as products.
    pub fn scale(&mut self, factor: f32) {
        let Gradient { values, touched, .. } = self;
        for range in touched.iter() {
            values[range.clone()].iter_mut().for_each(|v| *v *= factor);
        }
    }

    /// `‖∇‖₂`.
    pub fn norm(&self) -> f32 {
        let touched = self.touched.iter().map(|r| vector::sum_of_squares(self.values(r)));
        let products = self.products().iter().map(|p| p.multiply.squares(p));
        touched.chain(products).sum::<f64>().sqrt() as f32
    }

    /// `w ← w − η∇`, where it was left as products.
    pub(crate) fn subtract_products(&self, w: &mut [f32], eta: f32) {
        for products in self.products() {
            products.multiply.add_to(&mut w[products.range.clone()], -eta, products);
        }
    }
}

/// Adds `range` to the ordered `known` ones, unless it is there. Those that come in order, as they
/// mostly do, cost nothing to place.
pub(crate) fn remember(known: &mut Vec<Range<usize>>, range: &Range<usize>) {
    if known.last().is_none_or(|last| last.start < range.start) {
        return known.push(range.clone());
    }
    let place = known.partition_point(|k| k.start < range.start);
    if known.get(place) != Some(range) {
        known.insert(place, range.clone());
    }
}

/// Whether `range` is among the ordered `known` ones.
pub(crate) fn is_known(known: &[Range<usize>], range: &Range<usize>) -> bool {
    known.get(known.partition_point(|k| k.start < range.start)) == Some(range)
}
