//! Inverted dropout: in training, zeroes some units and scales up the rest.

use crate::backward::Backward;
use crate::tape::{Graph, Op, Var};

pub(crate) struct Dropout {
    pub(crate) x: Var,
    /// The result, followed by the mask of factors, each the size of `x`.
    y: Var,
}

impl Graph<'_> {
    /// `y = x ∘ mask`; each factor is zero with probability `rate` and `1 / (1 − rate)` otherwise.
    ///
    /// Outside training, or at rate zero, returns `x`.
    pub fn dropout(&mut self, x: Var, rate: f32) -> Var {
        let Some(random) = self.random.as_mut().filter(|_| 0.0 < rate) else { return x };
        let len = (x.rows * x.cols) as usize;
        let at = self.tape.open(2 * len);
        let (before, own) = self.tape.split(at);
        let (y, mask) = own.split_at_mut(len);
        for ((y, mask), &x) in y.iter_mut().zip(mask).zip(&before[x.range()]) {
            *mask = random.keeps(rate);
            *y = x * *mask;
        }
        let y = Var { op: self.tape.next_op().shared(x.op.is_shared()), at: at as u32, ..x };
        self.tape.record(Op::Dropout(Dropout { x, y }), at);
        y
    }
}

impl Dropout {
    /// `dx += dy ∘ mask`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Dropout { x, y } = *self;
        if !pass.wants(x) {
            return;
        }
        let mask = &pass.values[y.range().end..];
        let (before, dy) = pass.grads.split_at_mut(y.at as usize);
        for ((dx, dy), mask) in before[x.range()].iter_mut().zip(dy).zip(mask) {
            *dx += *dy * mask;
        }
    }
}
