//! Products of the backward pass, deferred until there are many.
//!
//! A decoder step has one row, and a product with one row takes as long as reading the matrix.
//! Where the result is not needed before all steps are done, the rows of all steps are collected
//! and multiplied together. Each sum keeps its terms and their order, and takes half as long.
//!
//! Gradients are laid out like values: the gradient of the value at `x` is at `x` in the other
//! arena.

use crate::halves::Weights;
use crate::kernels::{self, LANES, Panel};
use crate::layout::Param;
use crate::tape::Var;
use crate::transposed::Backwards;

/// The right-hand side of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matrix {
    /// Weights.
    Param(Param),
    /// Computed values.
    Var(Var),
}

/// Offsets of `x` and of `dy`, row by row.
pub(crate) type Rows = Vec<(u32, u32)>;

/// Deferred products.
#[derive(Default)]
pub(crate) struct Deferred {
    /// For `dX += dY · Mᵀ`.
    inputs: Waiting<Matrix>,
    /// For `dM += Xᵀ · dY`.
    matrices: Waiting<Var>,
    /// The rows of `dY`, then those of `dX`, gathered contiguously.
    gathered: Vec<f32>,
}

/// Rows by matrix; finished lists are recycled.
struct Waiting<M> {
    lists: Vec<(M, Rows)>,
    spare: Vec<Rows>,
}

impl<M> Default for Waiting<M> {
    fn default() -> Self {
        Waiting { lists: Vec::new(), spare: Vec::new() }
    }
}

impl<M: Copy + Eq> Waiting<M> {
    fn add(&mut self, m: M, rows: &[(u32, u32)]) {
        let place = self.lists.iter().position(|(of, _)| *of == m).unwrap_or_else(|| {
            self.lists.push((m, self.spare.pop().unwrap_or_default()));
            self.lists.len() - 1
        });
        self.lists[place].1.extend_from_slice(rows);
    }

    /// Calls `work` for every matrix and its rows, then clears them.
    fn each(&mut self, mut work: impl FnMut(M, &mut Rows)) {
        for (m, mut rows) in self.lists.drain(..) {
            work(m, &mut rows);
            rows.clear();
            self.spare.push(rows);
        }
    }
}

/// Rows gathered at a time: they fit an inner cache.
const TOGETHER: usize = 60;

/// So many adjacent rows are as well multiplied where they lie.
const ADJACENT: usize = 8;

/// Whether a row of `X (·, K)` and of `dY (·, N)` follows another in memory.
fn is_next(a: (u32, u32), b: (u32, u32), (k, n): (usize, usize)) -> bool {
    a.0 as usize + k == b.0 as usize && a.1 as usize + n == b.1 as usize
}

/// Whether most rows are those of inputs in step, which lie side by side. Narrow products add their
/// terms one by one to what is there, so where their sums start must not depend on the number of rows.
fn are_sets(rows: &[(u32, u32)], (k, n): (usize, usize)) -> bool {
    let runs = rows.chunk_by(|a, b| is_next(*a, *b, (k, n))).count();
    LANES <= n && ADJACENT * runs <= rows.len()
}

impl Deferred {
    /// Defers rows of `dX += dY · Mᵀ`.
    pub(crate) fn input(&mut self, m: Matrix, rows: &[(u32, u32)]) {
        self.inputs.add(m, rows);
    }

    /// Defers rows of `dM += Xᵀ · dY`.
    pub(crate) fn matrix(&mut self, m: Var, rows: &[(u32, u32)]) {
        self.matrices.add(m, rows);
    }

    /// `dX += dY · Mᵀ` with `M (K, N)` for scattered rows, at once. Narrow products add their terms to
    /// `dX` one by one, so that its rows are gathered with what they hold, and no bit changes.
    pub(crate) fn add_now(
        &mut self,
        m: Backwards<'_>,
        (k, n): (usize, usize),
        rows: &[(u32, u32)],
        grads: &mut [f32],
        panel: &mut Panel,
    ) {
        let gathered = &mut self.gathered;
        gathered.clear();
        for &(_, dy_at) in rows {
            gathered.extend_from_slice(&grads[dy_at as usize..][..n]);
        }
        for &(x_at, _) in rows {
            gathered.extend_from_slice(&grads[x_at as usize..][..k]);
        }
        let (dy, dx) = gathered.split_at_mut(rows.len() * n); // (R, N), (R, K)
        m.add_product(dx, dy, (k, n), panel);
        for (&(x_at, _), dx) in rows.iter().zip(dx.chunks_exact(k)) {
            grads[x_at as usize..][..k].copy_from_slice(dx);
        }
    }

    /// Computes everything deferred. `read` says how a parameter is read for so many rows.
    pub(crate) fn settle<'w>(
        &mut self,
        read: impl Fn(Param, usize) -> Backwards<'w>,
        values: &[f32],
        grads: &mut [f32],
        panel: &mut Panel,
    ) {
        let Deferred { inputs, matrices, gathered } = self;
        inputs.each(|m, rows| {
            let (k, n) = match m {
                Matrix::Param(p) => (p.rows as usize, p.cols as usize),
                Matrix::Var(v) => (v.rows as usize, v.cols as usize),
            };
            let as_read = |rows: &[(u32, u32)]| match m {
                Matrix::Param(p) => read(p, rows.len()),
                Matrix::Var(v) => Backwards::InPlace(Weights::Single(&values[v.range()])),
            };
            if are_sets(rows, (k, n)) {
                for rows in rows.chunk_by(|a, b| is_next(*a, *b, (k, n))) {
                    let (x_at, dy_at) = (rows[0].0 as usize, rows[0].1 as usize);
                    let (before, after) = grads.split_at_mut(dy_at);
                    let (dx, dy) =
                        (&mut before[x_at..][..rows.len() * k], &after[..rows.len() * n]);
                    as_read(rows).add_product(dx, dy, (k, n), panel);
                }
                return;
            }
            for rows in rows.chunks(TOGETHER) {
                let m = as_read(rows);
                gathered.clear();
                for &(_, dy_at) in rows {
                    gathered.extend_from_slice(&grads[dy_at as usize..][..n]);
                }
                gathered.resize(rows.len() * (n + k), 0.0);
                let (dy, dx) = gathered.split_at_mut(rows.len() * n); // (R, N), (R, K)
                m.add_product(dx, dy, (k, n), panel);
                for (&(x_at, _), dx) in rows.iter().zip(dx.chunks_exact(k)) {
                    kernels::add_to(&mut grads[x_at as usize..][..k], dx);
                }
            }
        });
        matrices.each(|m, rows| {
            // `M` precedes every output on the tape.
            let (before, after) = grads.split_at_mut(m.range().end);
            rows.iter_mut().for_each(|(_, dy_at)| *dy_at -= m.range().end as u32);
            let shape = (m.rows as usize, m.cols as usize);
            let uses = kernels::Uses { shape, xs: values, dys: after, rows };
            kernels::add_outer_sum(&mut before[m.range()], &uses, panel);
        });
    }
}
