//! Log-probabilities of the next symbol. Marks point at their elements, so selecting the decoded
//! symbols needs no separate operation.

use crate::backward::Backward;
use crate::kernels;
use crate::tape::{Graph, Op, Var};

pub(crate) struct LogSoftmax {
    pub(crate) x: Var,
    pub(crate) y: Var,
}

impl Graph<'_> {
    /// `y (B, V)`: row-wise `x − log Σ eˣ` of `x (B, V)`.
    pub fn log_softmax(&mut self, x: Var) -> Var {
        let at = self.tape.open((x.rows * x.cols) as usize);
        let (before, y) = self.tape.split(at);
        let cols = x.cols as usize;
        for (y, x) in y.chunks_exact_mut(cols).zip(before[x.range()].chunks_exact(cols)) {
            kernels::log_softmax(x, y);
        }
        let y = Var { op: self.tape.next_op().shared(x.op.is_shared()), at: at as u32, ..x };
        self.tape.record(Op::LogSoftmax(LogSoftmax { x, y }), at);
        y
    }
}

impl LogSoftmax {
    /// `dx += dy − e^y Σ dy`, row by row.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let LogSoftmax { x, y } = *self;
        if !pass.wants(x) {
            return;
        }
        let values = pass.values;
        let (before, dy) = pass.split(y.at as usize);
        let cols = y.cols as usize;
        let rows = before[x.range()].chunks_exact_mut(cols).zip(dy.chunks_exact(cols));
        for ((dx, dy), y) in rows.zip(values[y.range()].chunks_exact(cols)) {
            if !kernels::is_zero(dy) {
                kernels::log_softmax_backward(y, dy, dx);
            }
        }
    }
}
