//! An LSTM over a whole sequence as one operation, in either direction.
//!
//! See `lstm.rs` for the equations of one step. Inputs are projected for all time steps at once, so
//! one GEMM replaces many matvecs; only `h · W_h` remains in the loop.
//!
//! `T` time steps, `B` sequences; matrices are time-major: row `t · B + b`. A sequence shorter than
//! the longest keeps its state past its end; read backwards, it begins there.
//!
//! With highway connections (Srivastava et al. 2015, as in He et al. 2017) a fifth gate `t` mixes
//! in `k`, a linear function of the input, so that deep stacks train:
//!
//! ```text
//! h' = t ∘ o ∘ tanh(c') + (1 − t) ∘ k
//! ```

use serde::{Deserialize, Serialize};

use crate::backward::Backward;
use crate::kernels;
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

/// Reading direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first element to the last.
    Forward,
    /// From the last element to the first.
    Backward,
}

/// The output of an LSTM over a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Every hidden state, `(T·B, H)`.
    pub h: Var,
    /// The final state `h` and `c`, each `(B, H)`.
    pub last: (Var, Var),
}

/// The kind of cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// LSTM cells.
    Lstm,
    /// LSTM cells with highway connections.
    Highway,
}

impl CellKind {
    /// Number of blocks of `H` columns in `W_h`: one per gate.
    pub fn gates(self) -> usize {
        match self {
            CellKind::Lstm => 4,
            CellKind::Highway => 5,
        }
    }

    /// Number of blocks of `H` columns in a projected input: the gates, plus `k` for a highway.
    pub fn inputs(self) -> usize {
        match self {
            CellKind::Lstm => 4,
            CellKind::Highway => 6,
        }
    }
}

pub(crate) struct LstmLayer {
    pub(crate) x: Var,
    pub(crate) w_h: Param,
    cell: CellKind,
    direction: Direction,
    batch: u32,
    /// Whether recurrent dropout applies to `h`.
    drops: bool,
    /// Offset of the sequence lengths in the tape's indices.
    lengths: u32,
    /// Where [`Places`] begins.
    gates_at: u32,
}

/// Offsets of the parts: gates `(T·B, G·H)` and `tanh c (T·B, H)`; with dropout, the mask `(B, H)`
/// and `h ∘ mask (T·B, H)`, indexed by the time it is used; then `c` and `h`, each `(T·B + B, H)`
/// including the zero initial state; then copies of the final `c` and `h`, each `(B, H)`. Gradients
/// flow in from `c` on. Gradients of the final state arrive separately, so that the summation order
/// is the same for the longest sequence of a batch and for shorter ones, whose final state is
/// copied along to the end.
#[derive(Clone, Copy)]
struct Places {
    gates: usize,
    tanh_c: usize,
    mask: usize,
    dropped: usize,
    c: usize,
    h: usize,
    last_c: usize,
    last_h: usize,
    end: usize,
    /// Floats in the `B` rows of one time step.
    block: usize,
    direction: Direction,
}

impl Places {
    fn new(layer: &LstmLayer, steps: usize, block: usize) -> Self {
        let gates = layer.gates_at as usize;
        let tanh_c = gates + layer.cell.gates() * steps * block;
        let mask = tanh_c + steps * block;
        let dropped = mask + if layer.drops { block } else { 0 };
        let c = dropped + if layer.drops { steps * block } else { 0 };
        let h = c + (steps + 1) * block;
        let last_c = h + (steps + 1) * block;
        let (last_h, end, direction) = (last_c + block, last_c + 2 * block, layer.direction);
        Places { gates, tanh_c, mask, dropped, c, h, last_c, last_h, end, block, direction }
    }

    /// Offset into `c` and `h` of the final state.
    fn last(&self, steps: usize) -> usize {
        match self.direction {
            Direction::Forward => steps * self.block,
            Direction::Backward => 0,
        }
    }

    /// Offsets into `c` and `h` of the state before and after reading time `t`.
    fn states(&self, t: usize) -> (usize, usize) {
        match self.direction {
            Direction::Forward => (t * self.block, (t + 1) * self.block),
            Direction::Backward => ((t + 1) * self.block, t * self.block),
        }
    }
}

/// Time steps in reading order.
fn order(steps: usize, direction: Direction) -> impl DoubleEndedIterator<Item = usize> {
    (0..steps).map(move |i| match direction {
        Direction::Forward => i,
        Direction::Backward => steps - 1 - i,
    })
}

impl Graph<'_> {
    /// Reads `x`, the projected inputs of `B` sequences of these lengths, from a zero state.
    /// `x (T·B, 4H)` and `W_h (H, 4H)`, or with highway connections `x (T·B, 6H)` and
    /// `W_h (H, 5H)`. In training, applies recurrent dropout to `h` with probability `dropout`, one
    /// mask per sequence.
    pub fn lstm_layer(
        &mut self,
        cell: CellKind,
        x: Var,
        w_h: Param,
        lengths: impl ExactSizeIterator<Item = usize>,
        direction: Direction,
        dropout: f32,
    ) -> Layer {
        let (batch, hidden) = (lengths.len(), w_h.rows as usize);
        let steps = x.rows as usize / batch.max(1);
        assert!(x.rows as usize == steps * batch, "{} rows for {batch} sequences", x.rows);
        assert!(x.cols as usize == cell.inputs() * hidden, "inputs have the wrong shape");
        assert!(w_h.cols as usize == cell.gates() * hidden, "W_h has the wrong shape");
        let kept = self.tape.indices.len() as u32;
        self.tape.indices.extend(lengths.map(|length| length as u32));
        let block = batch * hidden;
        let (drops, batch) = (0.0 < dropout && self.random.is_some(), batch as u32);
        let mut layer =
            LstmLayer { x, w_h, cell, direction, batch, drops, lengths: kept, gates_at: 0 };
        layer.gates_at = self.tape.open(Places::new(&layer, steps, block).end) as u32;
        let at = Places::new(&layer, steps, block);
        if let Some(random) = self.random.as_mut().filter(|_| drops) {
            let mask = &mut self.tape.values[at.mask..at.dropped];
            mask.iter_mut().for_each(|mask| *mask = random.keeps(dropout));
        }
        layer.forward(self.w, self.tape, &at, steps);

        let op = self.tape.next_op();
        let first = match direction {
            Direction::Forward => block,
            Direction::Backward => 0,
        };
        let cols = hidden as u32;
        let var = |at: usize, rows: u32| Var { op, at: at as u32, rows, cols };
        let read = Layer {
            h: var(at.h + first, x.rows),
            last: (var(at.last_h, batch), var(at.last_c, batch)),
        };
        self.tape.record(Op::LstmLayer(layer), at.c);
        read
    }
}

impl LstmLayer {
    /// Fills the region of the arena opened for this layer.
    fn forward(&self, w: &[f32], tape: &mut Tape, at: &Places, steps: usize) {
        let LstmLayer { x, w_h, cell, direction, .. } = *self;
        let (hidden, block) = (w_h.rows as usize, at.block);
        let width = cell.gates() * hidden;
        let Tape { values, indices, halves, .. } = tape;
        let lengths = &indices[self.lengths as usize..][..self.batch as usize];
        let weights = halves.of(w_h, w, self.batch as usize);
        let (before, own) = values.split_at_mut(at.gates);
        let (gates, own) = own.split_at_mut(at.tanh_c - at.gates);
        let (tanh_c, own) = own.split_at_mut(at.mask - at.tanh_c);
        let (mask, own) = own.split_at_mut(at.dropped - at.mask);
        let (dropped, own) = own.split_at_mut(at.c - at.dropped);
        let (c, own) = own.split_at_mut(at.h - at.c);
        let (h, last) = own.split_at_mut(at.last_c - at.h);
        let inputs = || before[x.range()].chunks_exact(cell.inputs() * hidden); // (6H) or (4H)
        for (gates, x) in gates.chunks_exact_mut(width).zip(inputs()) {
            gates.copy_from_slice(&x[..width]);
        }
        let start = if direction == Direction::Forward { 0 } else { steps * block };
        c[start..start + block].fill(0.0);
        h[start..start + block].fill(0.0);
        for t in order(steps, direction) {
            let (from, to) = at.states(t);
            let (h_prev, h) = two(h, from, to, block);
            let (c_prev, c) = two(c, from, to, block);
            let gates =
                &mut gates[t * self.batch as usize * width..][..self.batch as usize * width];
            let said = match self.drops {
                false => &*h_prev,
                true => {
                    let dropped = &mut dropped[t * block..(t + 1) * block];
                    dropped.iter_mut().zip(&*h_prev).zip(&*mask).for_each(|((d, h), m)| *d = h * m);
                    dropped
                }
            };
            // The initial state is zero and adds nothing.
            if from != start {
                weights.add_product(gates, said, hidden, width);
            }
            for (b, &length) in lengths.iter().enumerate() {
                let row = b * hidden..(b + 1) * hidden;
                if length as usize <= t {
                    c[row.clone()].copy_from_slice(&c_prev[row.clone()]);
                    h[row.clone()].copy_from_slice(&h_prev[row]);
                    continue;
                }
                let gates = &mut gates[b * width..(b + 1) * width];
                let tanh_c = &mut tanh_c[t * block..(t + 1) * block][row.clone()];
                let (c_prev, c, h) = (&c_prev[row.clone()], &mut c[row.clone()], &mut h[row]);
                match cell {
                    CellKind::Lstm => kernels::lstm(gates, c_prev, c, tanh_c, h),
                    CellKind::Highway => {
                        let k = &before[x.row_at(t * self.batch as usize + b) + width..][..hidden];
                        kernels::highway(gates, k, c_prev, c, tanh_c, h);
                    }
                }
            }
        }
        let (end, (last_c, last_h)) = (at.last(steps), last.split_at_mut(block));
        last_c.copy_from_slice(&c[end..end + block]);
        last_h[..block].copy_from_slice(&h[end..end + block]);
    }

    /// From `dh`, `dc` to `dz`, in reverse reading order; then `dx += dz`, `dW_h += hᵀ · dz`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let LstmLayer { x, w_h, cell, direction, .. } = *self;
        let (batch, hidden) = (self.batch as usize, w_h.rows as usize);
        let (steps, block) = (x.rows as usize / batch.max(1), batch * hidden);
        let width = cell.gates() * hidden;
        let at = Places::new(self, steps, block);
        let (wants_x, weights) = (pass.wants(x), pass.transposed(w_h, batch));
        let (own, last) = pass.grads.split_at_mut(at.last_c);
        let end = at.last(steps);
        kernels::add_to(&mut own[at.c + end..][..block], &last[..block]);
        kernels::add_to(&mut own[at.h + end..][..block], &last[block..2 * block]);
        // Trailing steps without any gradient so far, which can be skipped.
        let (mut is_silent, mut n_silent) = (true, 0);
        let first = order(steps, direction).next();
        for t in order(steps, direction).rev() {
            let (from, to) = at.states(t);
            let (own, dstates) = pass.grads[at.gates..at.last_c].split_at_mut(at.c - at.gates);
            let dgates = &mut own[t * batch * width..][..batch * width];
            let silent = |start: usize| dstates[start + to..][..block].iter().all(|d| *d == 0.0);
            is_silent = is_silent && silent(0) && silent(at.h - at.c);
            if is_silent {
                n_silent += 1;
                dgates.fill(0.0);
                continue;
            }
            self.gates_backward(pass, &at, t, wants_x);
            // The initial state is zero: it needs no gradient and contributes none to W_h.
            if Some(t) == first {
                continue;
            }
            let (own, dh) = pass.grads[at.gates..at.last_c].split_at_mut(at.h - at.gates);
            let (dgates, spare) = own.split_at_mut(at.tanh_c - at.gates);
            let dgates = &dgates[t * batch * width..][..batch * width];
            let dh_prev = &mut dh[from..from + block];
            if !self.drops {
                weights.add_product(dh_prev, dgates, (hidden, width), pass.panel);
                continue;
            }
            let dropped = &mut spare[at.dropped - at.tanh_c..][..block];
            dropped.fill(0.0);
            weights.add_product(dropped, dgates, (hidden, width), pass.panel);
            let mask = &pass.values[at.mask..at.dropped];
            dh_prev.iter_mut().zip(dropped).zip(mask).for_each(|((dh, d), m)| *dh += *d * m);
        }
        let silent = match direction {
            Direction::Forward => steps - n_silent..steps,
            Direction::Backward => 0..n_silent,
        };
        let read = (0..steps).filter(|t| Some(*t) != first && !silent.contains(t));
        self.note_uses(pass, &at, read);
        if wants_x {
            let (before, own) = pass.grads.split_at_mut(at.gates);
            let dx = before[x.range()].chunks_exact_mut(cell.inputs() * hidden);
            for (dx, dz) in dx.zip(own.chunks_exact(width)) {
                kernels::add_to(&mut dx[..width], dz);
            }
        }
    }

    /// From the gradients of the state after time `t` to those of its gates and of the state before.
    fn gates_backward(&self, pass: &mut Backward<'_>, at: &Places, t: usize, wants_x: bool) {
        let LstmLayer { x, w_h, cell, .. } = *self;
        let (batch, hidden, block) = (self.batch as usize, w_h.rows as usize, at.block);
        let width = cell.gates() * hidden;
        let (values, lengths) = (pass.values, &pass.indices[self.lengths as usize..][..batch]);
        let (from, to) = at.states(t);
        let (before, own) = pass.grads.split_at_mut(at.gates);
        let (dgates, own) = own.split_at_mut(at.tanh_c - at.gates);
        let (spare, own) = own.split_at_mut(at.c - at.tanh_c);
        let (dc, dh) = own.split_at_mut(at.h - at.c);
        let (dh_prev, dh) = two(&mut dh[..at.last_c - at.h], from, to, block);
        let (dc_prev, dc) = two(dc, from, to, block);
        let dgates = dgates[t * batch * width..].chunks_exact_mut(width);
        for (b, (&length, dz)) in lengths.iter().zip(dgates).enumerate() {
            let row = b * hidden..(b + 1) * hidden;
            if length as usize <= t {
                dz.fill(0.0);
                kernels::add_to(&mut dc_prev[row.clone()], &dc[row.clone()]);
                kernels::add_to(&mut dh_prev[row.clone()], &dh[row]);
                continue;
            }
            let gates = &values[at.gates + (t * batch + b) * width..][..width];
            let c_prev = &values[at.c + from + b * hidden..][..hidden];
            let tanh_c = &values[at.tanh_c + t * block + b * hidden..][..hidden];
            let (dh, dc) = (&dh[row.clone()], &dc[row.clone()]);
            let dc_prev = &mut dc_prev[row];
            match cell {
                CellKind::Lstm => {
                    kernels::lstm_backward(gates, c_prev, tanh_c, dh, dc, dz, dc_prev);
                }
                CellKind::Highway => {
                    let k_at = x.row_at(t * batch + b) + width;
                    let state = (&values[k_at..][..hidden], c_prev, tanh_c);
                    let dk = match wants_x {
                        true => &mut before[k_at..][..hidden],
                        false => &mut spare[..hidden],
                    };
                    kernels::highway_backward(gates, state, (dh, dc), dz, dk, dc_prev);
                }
            }
        }
    }

    /// Notes what `W_h` was multiplied with at these times.
    fn note_uses(&self, pass: &mut Backward<'_>, at: &Places, times: impl Iterator<Item = usize>) {
        let (batch, hidden) = (self.batch as usize, self.w_h.rows as usize);
        let width = self.cell.gates() * hidden;
        let lengths = &pass.indices[self.lengths as usize..][..batch];
        for t in times {
            let said = match self.drops {
                true => at.dropped + t * at.block,
                false => at.h + at.states(t).0,
            };
            for (b, _) in lengths.iter().enumerate().filter(|(_, length)| t < **length as usize) {
                pass.note_use(self.w_h, said + b * hidden, at.gates + (t * batch + b) * width);
            }
        }
    }
}

/// The blocks at `from`, to read, and at `to`, to write.
fn two(all: &mut [f32], from: usize, to: usize, block: usize) -> (&mut [f32], &mut [f32]) {
    if from < to {
        let (a, b) = all.split_at_mut(to);
        (&mut a[from..from + block], &mut b[..block])
    } else {
        let (a, b) = all.split_at_mut(from);
        (&mut b[..block], &mut a[to..to + block])
    }
}
