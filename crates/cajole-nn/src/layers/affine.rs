//! `y = Σ xᵢ · Wᵢ + b`: one or two matrix products and a bias in one operation.

use crate::backward::Backward;
use crate::deferred::Matrix;
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

/// Maximum number of products. (Small, because every recorded operation has room for them.)
const TERMS: usize = 2;

pub(crate) struct Affine {
    /// One or two terms; a single one is stored twice.
    terms: [(Var, Param); TERMS],
    n_terms: u32,
    bias: Option<Param>,
    y: Var,
}

impl Graph<'_> {
    /// `y (B, N) = Σ x (B, K) · W (K, N) + b (N)` over one or two terms.
    pub fn affine(&mut self, terms: &[(Var, Param)], bias: Option<Param>) -> Var {
        assert!(
            !terms.is_empty() && terms.len() <= TERMS,
            "affine takes 1 or 2 terms, not {}",
            terms.len()
        );
        let (rows, cols) = (terms[0].0.rows, terms[0].1.cols);
        let at = self.tape.open((rows * cols) as usize);
        let shared = terms.iter().all(|(x, _)| x.op.is_shared());
        let Tape { values, halves, owners, indices, .. } = &mut *self.tape;
        let (before, y) = values.split_at_mut(at);
        let y = &mut y[..(rows * cols) as usize];
        match bias {
            Some(b) => {
                assert!(b.cols == cols, "bias of size {} for {cols} columns", b.cols);
                y.chunks_exact_mut(cols as usize).for_each(|y| y.copy_from_slice(b.of(self.w)));
                if let Some(shifts) = self.shifts.filter(|_| !shared) {
                    shifts.add_to(b, y, |row| owners.of(row, indices));
                }
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
        let y = Var { op: self.tape.next_op().shared(shared), at: at as u32, rows, cols };
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

    pub(crate) fn params(&self, is_small: bool) -> impl Iterator<Item = Param> {
        self.terms().iter().map(|&(_, w)| w).chain(self.bias(is_small))
    }

    /// The bias, except a per-input bias on shared rows, which belong to no input.
    fn bias(&self, is_small: bool) -> Option<Param> {
        self.bias.filter(|_| !(is_small && self.y.op.is_shared()))
    }

    /// `dx += dy · Wᵀ`, `dW += xᵀ · dy`, `db += Σ_rows dy`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        for &(x, w) in self.terms() {
            pass.through_product(x, Matrix::Param(w), self.y);
        }
        if let Some(b) = self.bias(pass.is_small()) {
            pass.note_bias(b, self.y);
        }
    }
}
