//! Products of the backward pass that wait until there are many of them.
//!
//! A step of a decoder has one row, and a product with one row takes as long as reading the matrix.
//! Where what it adds to is not looked at before all steps are done, the rows of all steps wait, and
//! are multiplied together: each sum has the same terms in the same order, and takes half as long.
//!
//! Gradients are laid out as values are: what is at `x` in one arena has its gradient at `x` in the
//! other.

use crate::kernels::{self, Panel};
use crate::layout::Param;
use crate::tape::Var;

/// What rows are multiplied with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matrix {
    /// Weights.
    Param(Param),
    /// Values that were themselves computed.
    Var(Var),
}

/// Starts of `x` and of `dy`, row by row.
type Rows = Vec<(u32, u32)>;

/// What waits.
#[derive(Default)]
pub(crate) struct Deferred {
    /// Of `dX += dY · Mᵀ`.
    inputs: Waiting<Matrix>,
    /// Of `dM += Xᵀ · dY`.
    matrices: Waiting<Var>,
    /// Rows of `dY`, then of `dX`, side by side.
    gathered: Vec<f32>,
}

/// Rows by matrix; lists are kept for others when they are done.
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
    fn push(&mut self, m: M, x_at: usize, dy_at: usize) {
        let place = self.lists.iter().position(|(of, _)| *of == m).unwrap_or_else(|| {
            self.lists.push((m, self.spare.pop().unwrap_or_default()));
            self.lists.len() - 1
        });
        self.lists[place].1.push((x_at as u32, dy_at as u32));
    }

    /// Does `work` for every matrix and its rows, after which none wait.
    fn each(&mut self, mut work: impl FnMut(M, &mut Rows)) {
        for (m, mut rows) in self.lists.drain(..) {
            work(m, &mut rows);
            rows.clear();
            self.spare.push(rows);
        }
    }
}

/// Rows that are gathered at a time: they stay in an inner cache.
const TOGETHER: usize = 60;

impl Deferred {
    /// Lets a row of `dX += dY · Mᵀ` wait.
    pub(crate) fn input(&mut self, m: Matrix, x_at: usize, dy_at: usize) {
        self.inputs.push(m, x_at, dy_at);
    }

    /// Lets a row of `dM += Xᵀ · dY` wait.
    pub(crate) fn matrix(&mut self, m: Var, x_at: usize, dy_at: usize) {
        self.matrices.push(m, x_at, dy_at);
    }

    /// Does all that waits.
    pub(crate) fn settle(
        &mut self,
        w: &[f32],
        values: &[f32],
        grads: &mut [f32],
        panel: &mut Panel,
    ) {
        let Deferred { inputs, matrices, gathered } = self;
        inputs.each(|m, rows| {
            let (m, k, n) = match m {
                Matrix::Param(p) => (p.of(w), p.rows as usize, p.cols as usize),
                Matrix::Var(v) => (&values[v.range()], v.rows as usize, v.cols as usize),
            };
            for rows in rows.chunks(TOGETHER) {
                gathered.clear();
                for &(_, dy_at) in rows {
                    gathered.extend_from_slice(&grads[dy_at as usize..][..n]);
                }
                gathered.resize(rows.len() * (n + k), 0.0);
                let (dy, dx) = gathered.split_at_mut(rows.len() * n); // (R, N), (R, K)
                kernels::add_product_transposed(dx, dy, m, k, n, panel);
                for (&(x_at, _), dx) in rows.iter().zip(dx.chunks_exact(k)) {
                    kernels::add_to(&mut grads[x_at as usize..][..k], dx);
                }
            }
        });
        matrices.each(|m, rows| {
            // Inputs precede outputs.
            let (before, after) = grads.split_at_mut(m.range().end);
            rows.iter_mut().for_each(|(_, dy_at)| *dy_at -= m.range().end as u32);
            let shape = (m.rows as usize, m.cols as usize);
            let uses = kernels::Uses { shape, xs: values, dys: after, rows };
            kernels::add_outer_sum(&mut before[m.range()], &uses, panel);
        });
    }
}
