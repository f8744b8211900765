//! `y = factor · x`.

use crate::backward::Backward;
use crate::kernels;
use crate::tape::{Graph, Op, Var};

pub(crate) struct Scale {
    pub(crate) x: Var,
    factor: f32,
    y: Var,
}

impl Graph<'_> {
    /// `y (R, N) = factor · x (R, N)`; a factor of one costs nothing.
    pub fn scale(&mut self, x: Var, factor: f32) -> Var {
        if factor == 1.0 {
            return x;
        }
        let at = self.tape.open((x.rows * x.cols) as usize);
        let (before, y) = self.tape.split(at);
        y.iter_mut().zip(&before[x.range()]).for_each(|(y, x)| *y = factor * x);
        let y = Var { op: self.tape.next_op().shared(x.op.is_shared()), at: at as u32, ..x };
        self.tape.record(Op::Scale(Scale { x, factor, y }), at);
        y
    }
}

impl Scale {
    /// `dx += factor · dy`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        if pass.wants(self.x) {
            let (before, dy) = pass.split(self.y.at as usize);
            let dx = &mut before[self.x.range()];
            kernels::add_scaled(dx, self.factor, &dy[..self.y.range().len()]);
        }
    }
}
