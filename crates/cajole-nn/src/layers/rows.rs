//! Row gather on the tape: the hypotheses a beam keeps, or lookups in a computed table.

use crate::backward::Backward;
use crate::kernels;
use crate::tape::{Graph, Op, Tape, Var};

pub(crate) struct Rows {
    pub(crate) x: Var,
    /// Offset of the row indices in the tape's indices.
    which: usize,
    y: Var,
}

impl Graph<'_> {
    /// `y (B, N)`: row `which[i]` of `x` for each `i`. A single row is a view and costs nothing.
    pub fn rows(&mut self, x: Var, mut which: impl ExactSizeIterator<Item = u32>) -> Var {
        if which.len() == 1 {
            let row = x.row(which.next().unwrap_or(0) as usize);
            return Var { op: x.op.shared(false), ..row };
        }
        self.gather(x, which.len(), |_, _| which.next().unwrap_or(0))
    }

    /// Like `rows`, with row indices computed from the recording. Always copies, even a single row,
    /// so that gradients are summed in the same order for any number of rows.
    pub(crate) fn gather(
        &mut self,
        x: Var,
        rows: usize,
        mut which: impl FnMut(&Tape, usize) -> u32,
    ) -> Var {
        let kept = self.tape.indices.len();
        for i in 0..rows {
            let row = which(self.tape, i);
            self.tape.indices.push(row);
        }
        let cols = x.cols as usize;
        let at = self.tape.open(rows * cols);
        let (before, y) = self.tape.values[..at + rows * cols].split_at_mut(at);
        for (y, &i) in y.chunks_exact_mut(cols).zip(&self.tape.indices[kept..]) {
            assert!(i < x.rows, "row {i} of {}", x.rows);
            y.copy_from_slice(&before[x.at as usize + i as usize * cols..][..cols]);
        }
        let op = self.tape.next_op();
        let y = Var { op, at: at as u32, rows: rows as u32, cols: x.cols };
        self.tape.record(Op::Rows(Rows { x, which: kept, y }), at);
        y
    }
}

impl Graph<'_> {
    /// `y (R, N)`: row `which[i]` of `x` for each `i`. A single row of `x` broadcasts, and a prefix
    /// of `x` is a view; both cost nothing.
    pub fn select(&mut self, x: Var, which: &[u32]) -> Var {
        if x.rows == 1 {
            return x;
        }
        if which.iter().zip(0..).all(|(&i, place)| i == place) {
            return x.slice(0, which.len());
        }
        self.rows(x, which.iter().copied())
    }
}

impl Rows {
    /// `dx[which[i]] += dy[i]`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let (x, y) = (self.x, self.y);
        if !pass.wants(x) {
            return;
        }
        let indices = pass.indices;
        let (before, dy) = pass.split(y.at as usize);
        let cols = y.cols as usize;
        for (i, dy) in dy[..(y.rows * y.cols) as usize].chunks_exact(cols).enumerate() {
            let row = indices[self.which + i] as usize;
            kernels::add_to(&mut before[x.at as usize + row * cols..][..cols], dy);
        }
    }
}
