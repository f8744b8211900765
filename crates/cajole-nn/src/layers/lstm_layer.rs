//! An LSTM over a whole sequence as one operation, in either direction.
//!
//! The equations are those of one step, see `lstm.rs`. Inputs are projected for all time steps at
//! once, so one product with many rows replaces many with one; only `h · W_h` remains in the loop.
//!
//! `T` time steps, `B` sequences; matrices are time-major: row `t · B + b`. A sequence that is
//! shorter than the longest keeps its state after its end; read backwards, it begins there.

use crate::kernels;
use crate::layout::Param;
use crate::tape::{Backward, Graph, Op, Var};

/// Which way a sequence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first element to the last.
    Forward,
    /// From the last element to the first.
    Backward,
}

/// What an LSTM makes of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Every hidden state, `(T·B, H)`.
    pub h: Var,
    /// The state after the last element read, `h` and `c`, each `(B, H)`.
    pub last: (Var, Var),
}

pub(crate) struct LstmLayer {
    pub(crate) x: Var,
    pub(crate) w_h: Param,
    direction: Direction,
    batch: u32,
    /// Where the lengths of the sequences lie in the tape's indices.
    lengths: u32,
    /// Gates `(T·B, 4H)`, `tanh c (T·B, H)`, then `c` and `h`, each `(T·B + B, H)` with the zero
    /// state before the first element read; gradients flow in from `c` on.
    gates_at: u32,
}

/// Where the pieces lie, and which block of `B` rows of `c` and `h` belongs to which time.
#[derive(Clone, Copy)]
struct Places {
    gates: usize,
    tanh_c: usize,
    c: usize,
    h: usize,
    /// Floats in the `B` rows of one time step.
    block: usize,
    direction: Direction,
}

impl Places {
    fn new(gates: usize, steps: usize, block: usize, direction: Direction) -> Self {
        let tanh_c = gates + 4 * steps * block;
        let c = tanh_c + steps * block;
        Places { gates, tanh_c, c, h: c + (steps + 1) * block, block, direction }
    }

    /// The end of the whole stretch.
    fn end(&self, steps: usize) -> usize {
        self.h + (steps + 1) * self.block
    }

    /// Offsets into `c` and `h` of the state before time `t` is read, and after.
    fn states(&self, t: usize) -> (usize, usize) {
        match self.direction {
            Direction::Forward => (t * self.block, (t + 1) * self.block),
            Direction::Backward => ((t + 1) * self.block, t * self.block),
        }
    }
}

/// Time steps in the order they are read.
fn order(steps: usize, direction: Direction) -> impl DoubleEndedIterator<Item = usize> {
    (0..steps).map(move |i| match direction {
        Direction::Forward => i,
        Direction::Backward => steps - 1 - i,
    })
}

impl Graph<'_> {
    /// Reads `x (T·B, 4H)`, projected inputs of `B` sequences of these lengths, from a zero state.
    pub fn lstm_layer(
        &mut self,
        x: Var,
        w_h: Param,
        lengths: impl ExactSizeIterator<Item = usize>,
        direction: Direction,
    ) -> Layer {
        let (batch, hidden) = (lengths.len(), w_h.rows as usize);
        let steps = x.rows as usize / batch.max(1);
        assert!(x.rows as usize == steps * batch && x.cols == w_h.cols, "shape of the inputs");
        assert!(w_h.cols as usize == 4 * hidden, "shape of W_h");
        let kept = self.tape.indices.len();
        self.tape.indices.extend(lengths.map(|length| length as u32));
        let block = batch * hidden;
        let gates_at = self.tape.open(Places::new(0, steps, block, direction).end(steps));
        let at = Places::new(gates_at, steps, block, direction);
        let (before, own) = self.tape.values.split_at_mut(gates_at);
        let lengths = &self.tape.indices[kept..];

        let (gates, own) = own.split_at_mut(at.tanh_c - at.gates);
        let (tanh_c, own) = own.split_at_mut(at.c - at.tanh_c);
        let (c, h) = own.split_at_mut(at.h - at.c);
        gates.copy_from_slice(&before[x.range()]);
        let start = if direction == Direction::Forward { 0 } else { steps * block };
        c[start..start + block].fill(0.0);
        h[start..start + block].fill(0.0);
        for t in order(steps, direction) {
            let (from, to) = at.states(t);
            let (h_prev, h) = two(h, from, to, block);
            let (c_prev, c) = two(c, from, to, block);
            let gates = &mut gates[4 * t * block..4 * (t + 1) * block];
            kernels::add_product(gates, h_prev, w_h.of(self.w), hidden, 4 * hidden);
            for (b, &length) in lengths.iter().enumerate() {
                let row = b * hidden..(b + 1) * hidden;
                if length as usize <= t {
                    c[row.clone()].copy_from_slice(&c_prev[row.clone()]);
                    h[row.clone()].copy_from_slice(&h_prev[row]);
                    continue;
                }
                kernels::lstm(
                    &mut gates[4 * b * hidden..4 * (b + 1) * hidden],
                    &c_prev[row.clone()],
                    &mut c[row.clone()],
                    &mut tanh_c[t * block..(t + 1) * block][row.clone()],
                    &mut h[row],
                );
            }
        }

        let op = self.tape.next_op();
        let var = |at: usize, rows: usize| Var {
            op,
            at: at as u32,
            rows: rows as u32,
            cols: hidden as u32,
        };
        let (first, last) = match direction {
            Direction::Forward => (block, steps * block),
            Direction::Backward => (0, 0),
        };
        let layer = Layer {
            h: var(at.h + first, steps * batch),
            last: (var(at.h + last, batch), var(at.c + last, batch)),
        };
        let (batch, lengths, gates_at) = (batch as u32, kept as u32, gates_at as u32);
        let record = LstmLayer { x, w_h, direction, batch, lengths, gates_at };
        self.tape.record(Op::LstmLayer(record), at.c);
        layer
    }
}

/// The blocks that start at `from`, to read, and at `to`, to write.
fn two(all: &mut [f32], from: usize, to: usize, block: usize) -> (&mut [f32], &mut [f32]) {
    if from < to {
        let (a, b) = all.split_at_mut(to);
        (&mut a[from..from + block], &mut b[..block])
    } else {
        let (a, b) = all.split_at_mut(from);
        (&mut b[..block], &mut a[to..to + block])
    }
}

impl LstmLayer {
    /// From `dh`, `dc` to `dz`, last read first; then `dx += dz`, `dW_h += hᵀ · dz`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let LstmLayer { x, w_h, direction, .. } = *self;
        let (batch, hidden) = (self.batch as usize, w_h.rows as usize);
        let (steps, block) = (x.rows as usize / batch.max(1), batch * hidden);
        let at = Places::new(self.gates_at as usize, steps, block, direction);
        let (values, lengths) = (pass.values, &pass.indices[self.lengths as usize..][..batch]);
        for t in order(steps, direction).rev() {
            let (from, to) = at.states(t);
            let (_, own) = pass.grads.split_at_mut(at.gates);
            let (dgates, own) = own.split_at_mut(at.c - at.gates);
            let (dc, dh) = own.split_at_mut(at.h - at.c);
            let dgates = &mut dgates[4 * t * block..4 * (t + 1) * block];
            let (dh_prev, dh) = two(dh, from, to, block);
            let (dc_prev, dc) = two(dc, from, to, block);
            for (b, &length) in lengths.iter().enumerate() {
                let row = b * hidden..(b + 1) * hidden;
                let dz = &mut dgates[4 * b * hidden..4 * (b + 1) * hidden];
                if length as usize <= t {
                    dz.fill(0.0);
                    kernels::add_to(&mut dc_prev[row.clone()], &dc[row.clone()]);
                    kernels::add_to(&mut dh_prev[row.clone()], &dh[row]);
                    continue;
                }
                kernels::lstm_backward(
                    &values[at.gates + 4 * (t * block + b * hidden)..][..4 * hidden],
                    &values[at.c + from + b * hidden..][..hidden],
                    &values[at.tanh_c + t * block + b * hidden..][..hidden],
                    &dh[row.clone()],
                    &dc[row.clone()],
                    dz,
                    &mut dc_prev[row],
                );
            }
            let w = w_h.of(pass.w);
            kernels::add_product_transposed(dh_prev, dgates, w, hidden, 4 * hidden, pass.panel);
        }
        // The state before the first element is zero: that product says nothing of W_h.
        let first = order(steps, direction).next();
        for t in (0..steps).filter(|&t| Some(t) != first) {
            for (b, _) in lengths.iter().enumerate().filter(|(_, length)| t < **length as usize) {
                let (from, _) = at.states(t);
                let (h, dz) = (at.h + from + b * hidden, at.gates + 4 * (t * block + b * hidden));
                pass.note_use(w_h, h, dz);
            }
        }
        if pass.wants(x) {
            let (before, own) = pass.grads.split_at_mut(at.gates);
            kernels::add_to(&mut before[x.range()], &own[..4 * steps * block]);
        }
    }
}
