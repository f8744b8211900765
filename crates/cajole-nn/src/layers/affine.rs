//! `y = Σ xᵢ · Wᵢ + b`: several matrix products and a bias in one operation.

use crate::backward::Backward;
use crate::deferred::Matrix;
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

/// Products one operation can add up. (Records are copied often: they should stay small.)
const TERMS: usize = 2;

pub(crate) struct Affine {
    /// One or two; a single one stands twice.
    terms: [(Var, Param); TERMS],
    n_terms: u32,
    bias: Option<Param>,
    y: Var,
}

impl Graph<'_> {
    /// `y (B, N) = Σ x (B, K) · W (K, N) + b (N)` over one or two terms.
    pub fn affine(&mut self, terms: &[(Var, Param)], bias: Option<Param>) -> Var {
        assert!(!terms.is_empty() && terms.len() <= TERMS, "{} terms", terms.len());
        let (rows, cols) = (terms[0].0.rows, terms[0].1.cols);
        let at = self.tape.open((rows * cols) as usize);
        let Tape { values, halves, .. } = &mut *self.tape;
        let (before, y) = values.split_at_mut(at);
        let y = &mut y[..(rows * cols) as usize];
        match bias {
            Some(b) => {
                assert!(b.cols == cols, "a bias of {} for {cols} columns", b.cols);
                y.chunks_exact_mut(cols as usize).for_each(|y| y.copy_from_slice(b.of(self.w)));
            }
            None => y.fill(0.0),
        }
        for &(x, w) in terms {
            assert!(
                x.rows == rows && x.cols == w.rows && w.cols == cols,
                "({}, {}) · ({}, {}) into ({rows}, {cols})",
                x.rows,
                x.cols,
                w.rows,
                w.cols
            );
            let (k, n) = (w.rows as usize, w.cols as usize);
            halves.of(w, self.w, rows as usize).add_product(y, &before[x.range()], k, n);
        }
        let y = Var { op: self.tape.next_op(), at: at as u32, rows, cols };
        let kept = [terms[0], terms[terms.len() - 1]];
        let n_terms = terms.len() as u32;
        self.tape.record(Op::Affine(Affine { terms: kept, n_terms, bias, y }), at);
        y
    }
}

impl Affine {
    fn terms(&self) -> &[(Var, Param)] {
        &self.terms[..self.n_terms as usize]
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = Var> {
        self.terms().iter().map(|&(x, _)| x)
    }

    pub(crate) fn params(&self) -> impl Iterator<Item = Param> {
        self.terms().iter().map(|&(_, w)| w).chain(self.bias)
    }

    /// `dx += dy · Wᵀ`, `dW += xᵀ · dy`, `db += Σ_rows dy`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let y = self.y;
        for &(x, w) in self.terms() {
            pass.note_product(w, x, y.at as usize, y.rows as usize);
            if !pass.wants(x) {
                continue;
            }
            if pass.can_wait(x, y) {
                pass.defer_input(x, Matrix::Param(w), y);
            } else {
                let weights = pass.weights(w, y.rows as usize);
                let (before, dy) = pass.grads.split_at_mut(y.at as usize);
                let (dx, dy) = (&mut before[x.range()], &dy[..(y.rows * y.cols) as usize]);
                let (k, n) = (w.rows as usize, w.cols as usize);
                weights.add_product_transposed(dx, dy, k, n, pass.panel);
            }
        }
        if let Some(b) = self.bias {
            for i in 0..y.rows as usize {
                pass.note_lookup(b, 0, y.row_at(i));
            }
        }
    }
}
