//! Layer norm (Ba et al. 2016) and RMS norm (Zhang and Sennrich 2019): `y = x̂ ∘ gain + bias`, with
//! `x̂` the row scaled to unit variance.
//!
//! ```text
//! layer  x̂ = (x − mean x) / √(var x + ε)
//! RMS    x̂ = x / √(mean x² + ε)
//! ```
//!
//! Gain and bias are vectors, so each input of a lane can have its own.

use serde::{Deserialize, Serialize};

use crate::backward::Backward;
use crate::kernels;
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

/// What a norm divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormKind {
    /// The standard deviation, after the mean is subtracted.
    Layer,
    /// The root mean square.
    Rms,
}

/// The parameters of a norm over `N` columns.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    /// What it divides by.
    pub kind: NormKind,
    /// `ε`.
    pub epsilon: f32,
    /// `(N)`.
    pub gain: Param,
    /// `(N)`.
    pub bias: Option<Param>,
}

pub(crate) struct Norm {
    pub(crate) x: Var,
    by: Scaling,
    /// `x̂ (R, N)`, the rates `(R)`, scratch `(N)`; then `y`.
    at: u32,
    y: Var,
}

/// Offsets of the parts.
struct Places {
    rates: usize,
    spare: usize,
    y: usize,
}

impl Places {
    fn new(at: usize, rows: usize, cols: usize) -> Self {
        let rates = at + rows * cols;
        Places { rates, spare: rates + rows, y: rates + rows + cols }
    }
}

impl Graph<'_> {
    /// `y (R, N)`: every row of `x (R, N)` normalised, scaled and shifted.
    pub fn norm(&mut self, x: Var, by: Scaling) -> Var {
        let (rows, cols) = (x.rows as usize, x.cols as usize);
        assert!(by.gain.cols == x.cols, "gain of size {} for {cols} columns", by.gain.cols);
        let at = self.tape.open(2 * rows * cols + rows + cols);
        let place = Places::new(at, rows, cols);
        let Tape { values, owners, indices, .. } = &mut *self.tape;
        let (before, own) = values.split_at_mut(at);
        let (normal, own) = own.split_at_mut(place.rates - at); // (R, N)
        let (rates, own) = own.split_at_mut(rows + cols);
        let is_centred = by.kind == NormKind::Layer;
        let shifts = self.shifts.filter(|_| !x.op.is_shared());
        for (i, y) in own[..rows * cols].chunks_exact_mut(cols).enumerate() {
            let normal = &mut normal[i * cols..][..cols];
            kernels::normalise(
                &before[x.row_at(i)..][..cols],
                by.epsilon,
                is_centred,
                normal,
                &mut rates[i],
            );
            kernels::times(y, normal, by.gain.of(self.w));
            if let Some(bias) = by.bias {
                kernels::add_to(y, bias.of(self.w));
            }
            let Some(shifts) = shifts else { continue };
            let owner = owners.of(i, indices);
            if let Some(gain) = shifts.of(by.gain, owner) {
                kernels::add_times(y, normal, gain);
            }
            if let Some(bias) = by.bias.and_then(|bias| shifts.of(bias, owner)) {
                kernels::add_to(y, bias);
            }
        }
        let y = Var { op: self.tape.next_op().shared(x.op.is_shared()), at: place.y as u32, ..x };
        self.tape.record(Op::Norm(Norm { x, by, at: at as u32, y }), place.y);
        y
    }
}

impl Norm {
    /// The gain and the bias, except on shared rows, which belong to no input.
    pub(crate) fn params(&self, is_small: bool) -> impl Iterator<Item = Param> {
        let params = [Some(self.by.gain), self.by.bias].into_iter().flatten();
        params.filter(move |_| !(is_small && self.y.op.is_shared()))
    }

    /// `dgain += Σ_rows dy ∘ x̂`, `dbias += Σ_rows dy`, and with `dx̂ = dy ∘ gain`
    /// `dx += rate (dx̂ − mean dx̂ − x̂ · mean (dx̂ ∘ x̂))`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Norm { x, by, at, y } = *self;
        let (rows, cols) = (x.rows as usize, x.cols as usize);
        let place = Places::new(at as usize, rows, cols);
        let is_centred = by.kind == NormKind::Layer;
        let gain_moves = pass.moves(by.gain) && self.params(pass.is_small()).next().is_some();
        let wants_x = pass.wants(x);
        let (values, w) = (pass.values, pass.w);
        for i in 0..rows {
            let normal = &values[at as usize + i * cols..][..cols];
            let shift = pass.shift(by.gain, y, i);
            let (before, own) = pass.grads.split_at_mut(at as usize);
            let (dgains, own) = own.split_at_mut(place.spare - at as usize);
            let (dnormal, dys) = own.split_at_mut(cols);
            let dy = &dys[i * cols..][..cols];
            if gain_moves {
                kernels::times(&mut dgains[i * cols..][..cols], dy, normal);
            }
            if wants_x {
                kernels::times(dnormal, dy, by.gain.of(w));
                if let Some(gain) = shift {
                    kernels::add_times(dnormal, dy, gain);
                }
                let dx = &mut before[x.row_at(i)..][..cols];
                let rate = values[place.rates + i];
                kernels::normalise_backward(normal, dnormal, rate, is_centred, dx);
            }
        }
        if gain_moves {
            pass.note_bias(by.gain, Var { at, ..y });
        }
        if let Some(bias) = by.bias.filter(|_| !(pass.is_small() && y.op.is_shared())) {
            pass.note_bias(bias, y);
        }
    }
}
