//! `y = a + b`: a residual connection.

use crate::backward::Backward;
use crate::kernels;
use crate::tape::{Graph, Op, Var};

pub(crate) struct Sum {
    pub(crate) terms: [Var; 2],
    y: Var,
}

impl Graph<'_> {
    /// `y (B, N) = a (B, N) + b (B, N)`.
    pub fn sum(&mut self, a: Var, b: Var) -> Var {
        assert!(a.rows == b.rows && a.cols == b.cols, "mismatched shapes in a sum");
        let at = self.tape.open((a.rows * a.cols) as usize);
        let (before, y) = self.tape.split(at);
        y.copy_from_slice(&before[a.range()]);
        kernels::add_to(y, &before[b.range()]);
        let op = self.tape.next_op().shared(a.op.is_shared() && b.op.is_shared());
        let y = Var { op, at: at as u32, ..a };
        self.tape.record(Op::Sum(Sum { terms: [a, b], y }), at);
        y
    }
}

impl Sum {
    /// `da += dy`, `db += dy`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        for x in self.terms {
            if pass.wants(x) {
                let (before, dy) = pass.split(self.y.at as usize);
                kernels::add_to(&mut before[x.range()], &dy[..(x.rows * x.cols) as usize]);
            }
        }
    }
}
