//! `y = f(x)` for the activations of feed-forward layers, and their gated form
//! `y = f(x₁) ∘ x₂` (Shazeer 2020).

use serde::{Deserialize, Serialize};

use crate::backward::Backward;
use crate::kernels;
use crate::tape::{Graph, Op, Var};

/// `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nonlinearity {
    /// `max(x, 0)`.
    Relu,
    /// `x Φ(x)`.
    Gelu,
    /// GELU approximated with tanh.
    GeluTanh,
    /// `x σ(x)`, also called swish.
    Silu,
}

impl Nonlinearity {
    /// Writes value and slope at every `x`.
    fn apply(self, x: &[f32], y: &mut [f32], slope: &mut [f32]) {
        match self {
            Nonlinearity::Relu => kernels::relu(x, y, slope),
            Nonlinearity::Gelu => kernels::gelu(x, y, slope),
            Nonlinearity::GeluTanh => kernels::gelu_tanh(x, y, slope),
            Nonlinearity::Silu => kernels::silu(x, y, slope),
        }
    }
}

pub(crate) struct Activation {
    pub(crate) x: Var,
    /// The result, preceded by the slopes.
    y: Var,
}

impl Graph<'_> {
    /// `y (R, N) = f(x)` of `x (R, N)`.
    pub fn activate(&mut self, x: Var, f: Nonlinearity) -> Var {
        let len = (x.rows * x.cols) as usize;
        let at = self.tape.open(2 * len);
        let (before, own) = self.tape.split(at);
        let (slope, y) = own.split_at_mut(len);
        f.apply(&before[x.range()], y, slope);
        let y =
            Var { op: self.tape.next_op().shared(x.op.is_shared()), at: (at + len) as u32, ..x };
        self.tape.record(Op::Activation(Activation { x, y }), at + len);
        y
    }
}

impl Activation {
    /// `dx += dy ∘ f'(x)`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Activation { x, y } = *self;
        if !pass.wants(x) {
            return;
        }
        let len = y.range().len();
        let slope = &pass.values[y.at as usize - len..][..len];
        let (before, dy) = pass.split(y.at as usize);
        kernels::add_times(&mut before[x.range()], &dy[..len], slope);
    }
}

pub(crate) struct Gated {
    pub(crate) x: Var,
    /// The result, preceded by the slopes and the values of `f`, each its size.
    y: Var,
}

impl Graph<'_> {
    /// `y (R, N) = f(x₁) ∘ x₂` of `x = [x₁ x₂] (R, 2N)`.
    pub fn gate(&mut self, x: Var, f: Nonlinearity) -> Var {
        let (rows, cols) = (x.rows as usize, x.cols as usize / 2);
        assert!(x.cols as usize == 2 * cols, "{} columns do not halve", x.cols);
        let len = rows * cols;
        let at = self.tape.open(3 * len);
        let (before, own) = self.tape.split(at);
        let (slope, own) = own.split_at_mut(len);
        let (value, y) = own.split_at_mut(len);
        for (i, x) in before[x.range()].chunks_exact(2 * cols).enumerate() {
            let row = i * cols..(i + 1) * cols;
            f.apply(&x[..cols], &mut value[row.clone()], &mut slope[row.clone()]);
            kernels::times(&mut y[row.clone()], &value[row], &x[cols..]);
        }
        let op = self.tape.next_op().shared(x.op.is_shared());
        let y = Var { op, at: (at + 2 * len) as u32, cols: cols as u32, ..x };
        self.tape.record(Op::Gated(Gated { x, y }), at + 2 * len);
        y
    }
}

impl Gated {
    /// `dx₁ += dy ∘ x₂ ∘ f'(x₁)`, `dx₂ += dy ∘ f(x₁)`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Gated { x, y } = *self;
        if !pass.wants(x) {
            return;
        }
        let (cols, len) = (y.cols as usize, y.range().len());
        let (slope, value) = pass.values[y.at as usize - 2 * len..y.at as usize].split_at(len);
        let xs = &pass.values[x.range()];
        let (before, own) = pass.split(y.at as usize - len);
        let (spare, dy) = own.split_at_mut(len);
        for (i, dx) in before[x.range()].chunks_exact_mut(2 * cols).enumerate() {
            let row = i * cols..(i + 1) * cols;
            let (dx_1, dx_2) = dx.split_at_mut(cols);
            let x_2 = &xs[(2 * i + 1) * cols..][..cols];
            kernels::times(&mut spare[..cols], &dy[row.clone()], x_2);
            kernels::add_times(dx_1, &spare[..cols], &slope[row.clone()]);
            kernels::add_times(dx_2, &dy[row.clone()], &value[row]);
        }
    }
}
