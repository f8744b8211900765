//! f16 copies of weights, for memory-bound products.
//!
//! A matvec with a large matrix takes as long as reading the matrix. A network stored in f16 has
//! weights that f16 represents exactly, so such products read an f16 copy.
//!
//! Invariant: within a recording, every forward product reads the same values of a parameter,
//! however many rows it has. Under `W` that is free, since the copy is exact. Under a `W_λ` in
//! which the parameter moves, the copy is rounded. Deterministic dithered rounding preserves the
//! mean, so steps smaller than the spacing of f16 are not lost. The parameter's first use decides
//! whether a recording reads the rounded copy; later products with many rows read the same rounded
//! values, widened. Gradients and steps are always f32.
//!
//! Copies are made on first use. Copies of parameters that do not move are kept across recordings.

use std::sync::Arc;

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::gradient::Gradient;
use crate::kernels;
use crate::layout::{Layout, Param};

/// Smaller matrices stay in the inner caches as f32.
const SMALLEST: usize = 1 << 15;

/// Which parameters are large enough to read as f16 and exact in f16 under `w`.
pub(crate) fn exact(layout: &Layout, w: &[f32]) -> Arc<[bool]> {
    let is_exact = |entry: &crate::layout::Entry| {
        let (p, w) = (entry.param, entry.param.of(w));
        let is_large = kernels::LANES <= p.cols as usize && SMALLEST <= w.len();
        is_large && kernels::pays() && kernels::is_exact(w)
    };
    layout.entries().iter().map(is_exact).collect()
}

/// The copies of one recording.
#[derive(Default)]
pub(crate) struct Halves {
    /// By parameter; `None` if it is always read as f32.
    copies: Vec<Option<Copy>>,
}

#[derive(Default)]
struct Copy {
    halves: Vec<f16>,
    /// The rounded values, widened, for products with many rows.
    widened: Vec<f32>,
    /// Whether the parameter moves in this recording, so that rounding changes it.
    moves: bool,
    state: State,
}

/// Which parts of a copy are up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// None: the parameter has not been read yet.
    #[default]
    Unread,
    /// The parameter is read as f32 throughout this recording.
    Single,
    /// `halves`.
    Rounded,
    /// `halves` and `widened`.
    Widened,
}

/// A matrix as a product reads it.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a> {
    Single(&'a [f32]),
    Half(&'a [f16]),
}

impl Halves {
    /// Lets these parameters be read as f16.
    pub(crate) fn allow(&mut self, exact: &[bool]) {
        self.copies = exact.iter().map(|exact| exact.then(Copy::default)).collect();
    }

    /// Begins a recording under `W`, or under a `W_λ` whose gradient says what moves.
    pub(crate) fn begin(&mut self, layout: &Layout, nudged: Option<&Gradient>) {
        for (copy, entry) in self.copies.iter_mut().zip(layout.entries()) {
            let Some(copy) = copy else { continue };
            let moves = nudged.is_some_and(|grad| grad.moves(&entry.param.range()));
            if moves || copy.moves {
                copy.state = State::Unread;
            }
            copy.moves = moves;
        }
    }

    /// `p` of `w` for a product with `rows` rows.
    pub(crate) fn of<'a>(&'a mut self, p: Param, w: &'a [f32], rows: usize) -> Weights<'a> {
        let (w, n) = (p.of(w), p.cols as usize);
        let Some(Some(copy)) = self.copies.get_mut(p.id as usize) else {
            return Weights::Single(w);
        };
        if copy.state == State::Unread && rows == 1 {
            copy.halves.resize(p.rows as usize * kernels::stride(n), f16::ZERO);
            kernels::round(&mut copy.halves, w, n);
            copy.state = State::Rounded;
        } else if copy.state == State::Unread && copy.moves {
            copy.state = State::Single;
        }
        if copy.moves && copy.state == State::Rounded && rows != 1 {
            copy.widened.resize(w.len(), 0.0);
            let rows = copy.halves.chunks_exact(kernels::stride(n));
            for (wide, halves) in copy.widened.chunks_exact_mut(n).zip(rows) {
                halves[..n].convert_to_f32_slice(wide);
            }
            copy.state = State::Widened;
        }
        self.again_of(p, w, rows)
    }

    /// The same for the backward pass of that product.
    pub(crate) fn again<'a>(&'a self, p: Param, w: &'a [f32], rows: usize) -> Weights<'a> {
        self.again_of(p, p.of(w), rows)
    }

    fn again_of<'a>(&'a self, p: Param, w: &'a [f32], rows: usize) -> Weights<'a> {
        match self.copies.get(p.id as usize) {
            Some(Some(copy)) => match copy.state {
                State::Unread | State::Single => Weights::Single(w),
                State::Rounded | State::Widened if rows == 1 => Weights::Half(&copy.halves),
                State::Widened if copy.moves => Weights::Single(&copy.widened),
                State::Rounded | State::Widened => Weights::Single(w),
            },
            _ => Weights::Single(w),
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
}
