//! One LSTM step, from its inputs to the new state, as one operation.
//!
//! ```text
//! z        = Σ inputs + h · W_h          (B, 4H)   gates in the order i, f, g, o
//! c'       = σ(f) ∘ c + σ(i) ∘ tanh(g)   (B, H)
//! h'       = σ(o) ∘ tanh(c')             (B, H)
//! ```
//!
//! Inputs that can be multiplied by their weights once for many steps arrive projected: a whole
//! source sentence, an embedding table, a constant context. Others are multiplied here, directly
//! into the gates, whose gradient they share. Finished rows keep their state.

use crate::backward::Backward;
use crate::deferred::Matrix;
use crate::kernels;
use crate::layers::attention::Seen;
use crate::layout::Param;
use crate::tape::{Graph, Op, Origin, Tape, Var};

/// A summand of the gates, `(B, 4H)`.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// Added as is; a single row broadcasts.
    Projected(Var),
    /// Added to every row, `(4H)`.
    Bias(Param),
    /// A per-input shift of a bias that a table of projected symbols already contains. It
    /// accompanies such a table, and is free unless biases are nudged per input.
    Shift(Param),
    /// `x (B, K)` times `W (K, 4H)`.
    Times(Var, Param),
    /// Attention over projected values.
    Seen(Seen),
}

impl From<Var> for Input {
    fn from(x: Var) -> Self {
        Input::Projected(x)
    }
}

impl Input {
    /// The parameter used here; shifts count only if biases are per input.
    fn param(&self, is_small: bool) -> Option<Param> {
        match *self {
            Input::Bias(p) | Input::Times(_, p) => Some(p),
            Input::Shift(p) => is_small.then_some(p),
            Input::Projected(_) | Input::Seen(_) => None,
        }
    }
}

/// Sentinel: all rows are alive.
const ALL_ALIVE: u32 = u32::MAX;

pub(crate) struct Lstm {
    /// Range of its inputs among the tape's.
    inputs: u32,
    n_inputs: u32,
    op: Origin,
    h_prev: Var,
    c_prev: Var,
    w_h: Param,
    /// Offset of one flag per row in the tape's indices, if some rows may have finished.
    alive: u32,
    /// Gates `(B, 4H)`, then `c`, `tanh c` and `h`, each `(B, H)`, contiguous in the arena.
    /// Gradients flow in from `c` on; `backward` writes those of the gates.
    gates_at: u32,
}

/// Offsets of the parts of a step.
#[derive(Clone, Copy)]
struct Places {
    gates: usize,
    c: usize,
    tanh_c: usize,
    h: usize,
}

impl Places {
    fn new(gates: usize, rows: usize, hidden: usize) -> Self {
        let c = gates + 4 * rows * hidden;
        Places { gates, c, tanh_c: c + rows * hidden, h: c + 2 * rows * hidden }
    }
}

impl Graph<'_> {
    /// The state `(h', c')` after `(h, c)`, each `(B, H)`. Inputs are summed in order; the first
    /// must be projected or a bias. Rows not `alive` keep their state.
    pub fn lstm(
        &mut self,
        inputs: &[Input],
        (h_prev, c_prev): (Var, Var),
        w_h: Param,
        alive: Option<&dyn Fn(usize) -> bool>,
    ) -> (Var, Var) {
        let starts = matches!(inputs.first(), Some(Input::Projected(_) | Input::Bias(_)));
        assert!(starts, "the first input must be projected or a bias");
        let (rows, hidden) = (h_prev.rows as usize, h_prev.cols as usize);
        assert!(
            w_h.rows as usize == hidden && w_h.cols as usize == 4 * hidden,
            "W_h has the wrong shape"
        );
        assert!(c_prev.rows == h_prev.rows && c_prev.cols == h_prev.cols, "c has the wrong shape");
        let gates_at = self.tape.open(7 * rows * hidden);
        let at = Places::new(gates_at, rows, hidden);
        self.sum_inputs(inputs, gates_at, (rows, hidden));
        let Tape { values, halves, .. } = &mut *self.tape;
        let (before, own) = values.split_at_mut(gates_at);
        let (gates, state) = own[..7 * rows * hidden].split_at_mut(4 * rows * hidden);
        let h_before = &before[h_prev.range()];
        halves.of(w_h, self.w, rows).add_product(gates, h_before, hidden, 4 * hidden);
        update(gates, state, before, (h_prev, c_prev), alive);

        let alive = alive.map_or(ALL_ALIVE, |alive| {
            let kept = self.tape.indices.len() as u32;
            self.tape.indices.extend((0..rows).map(|i| u32::from(alive(i))));
            kept
        });
        let op = self.tape.next_op();
        let (rows, cols) = (rows as u32, hidden as u32);
        let state = |at: usize| Var { op, at: at as u32, rows, cols };
        let (kept, n_inputs) = (self.tape.inputs.len() as u32, inputs.len() as u32);
        self.tape.inputs.extend_from_slice(inputs);
        let gates_at = gates_at as u32;
        let step = Lstm { inputs: kept, n_inputs, op, h_prev, c_prev, w_h, alive, gates_at };
        self.tape.record(Op::Lstm(step), at.c);
        (state(at.h), state(at.c))
    }

    /// Writes the sum of the inputs to the gates `(B, 4H)` at `gates_at`.
    fn sum_inputs(&mut self, inputs: &[Input], gates_at: usize, (rows, hidden): (usize, usize)) {
        let Tape { values, indices, halves, owners, .. } = &mut *self.tape;
        let (before, own) = values.split_at_mut(gates_at);
        let gates = &mut own[..4 * rows * hidden];
        let put = |z: &mut [f32], x: &[f32], is_first: bool| match is_first {
            true => z.copy_from_slice(x),
            false => kernels::add_to(z, x),
        };
        for (j, &input) in inputs.iter().enumerate() {
            let columns = match input {
                Input::Projected(x) => x.cols,
                Input::Seen(seen) => seen.values.cols,
                Input::Bias(p) | Input::Shift(p) | Input::Times(_, p) => p.cols,
            };
            assert!(columns as usize == 4 * hidden, "{columns} input columns for {hidden} units");
            match input {
                Input::Projected(x) => {
                    assert!(x.rows == 1 || x.rows as usize == rows, "{} rows of {rows}", x.rows);
                    for (i, z) in gates.chunks_exact_mut(4 * hidden).enumerate() {
                        put(z, &before[x.row_at(i)..][..4 * hidden], j == 0);
                    }
                }
                Input::Bias(b) => {
                    let rows = gates.chunks_exact_mut(4 * hidden);
                    rows.for_each(|z| put(z, b.of(self.w), j == 0));
                    if let Some(shifts) = self.shifts {
                        shifts.add_to(b, gates, |row| owners.of(row, indices));
                    }
                }
                Input::Shift(b) => {
                    if let Some(shifts) = self.shifts {
                        shifts.add_to(b, gates, |row| owners.of(row, indices));
                    }
                }
                Input::Times(x, w) => {
                    let (k, x) = (w.rows as usize, &before[x.range()]);
                    halves.of(w, self.w, rows).add_product(gates, x, k, 4 * hidden);
                }
                Input::Seen(seen) => seen.add_to(gates, before, indices),
            }
        }
    }
}

/// The state `(c, tanh c, h)` after `(h, c)`, from the gates. Rows not `alive` keep theirs.
fn update(
    gates: &mut [f32],
    state: &mut [f32],
    before: &[f32],
    (h_prev, c_prev): (Var, Var),
    alive: Option<&dyn Fn(usize) -> bool>,
) {
    let (rows, hidden) = (h_prev.rows as usize, h_prev.cols as usize);
    let (c, state) = state.split_at_mut(rows * hidden);
    let (tanh_c, h) = state.split_at_mut(rows * hidden);
    for i in 0..rows {
        let own = i * hidden..(i + 1) * hidden;
        if alive.is_some_and(|alive| !alive(i)) {
            c[own.clone()].copy_from_slice(&before[c_prev.row_at(i)..][..hidden]);
            h[own].copy_from_slice(&before[h_prev.row_at(i)..][..hidden]);
            continue;
        }
        kernels::lstm(
            &mut gates[4 * i * hidden..4 * (i + 1) * hidden],
            &before[c_prev.row_at(i)..][..hidden],
            &mut c[own.clone()],
            &mut tanh_c[own.clone()],
            &mut h[own],
        );
    }
}

impl Lstm {
    /// Its inputs, out of all of the tape's.
    fn summed<'t>(&self, all: &'t [Input]) -> &'t [Input] {
        &all[self.inputs as usize..][..self.n_inputs as usize]
    }

    /// Calls `show` for every matrix this step depends on.
    pub(crate) fn each_input(&self, all: &[Input], mut show: impl FnMut(Var)) {
        show(self.h_prev);
        show(self.c_prev);
        for input in self.summed(all) {
            match input {
                Input::Projected(x) | Input::Times(x, _) => show(*x),
                Input::Bias(_) | Input::Shift(_) => {}
                Input::Seen(seen) => seen.inputs().for_each(&mut show),
            }
        }
    }

    pub(crate) fn params(&self, all: &[Input], is_small: bool) -> impl Iterator<Item = Param> {
        let inputs = self.summed(all).iter();
        inputs.filter_map(move |input| input.param(is_small)).chain([self.w_h])
    }

    /// From `dh'`, `dc'` to `dz`; then back through each input, with `dh += dz · W_hᵀ` and
    /// `dW_h += hᵀ · dz`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Lstm { h_prev, w_h, op, gates_at, .. } = *self;
        let z = Var { op, at: gates_at, rows: h_prev.rows, cols: 4 * h_prev.cols }; // (B, 4H)
        self.gates_backward(pass);
        for &input in self.summed(pass.inputs) {
            match input {
                Input::Projected(x) => {
                    if pass.wants(x) {
                        let (before, own) = pass.split(gates_at as usize);
                        let width = z.cols as usize;
                        for (i, dz) in own.chunks_exact(width).take(z.rows as usize).enumerate() {
                            kernels::add_to(&mut before[x.row_at(i)..][..width], dz);
                        }
                    }
                }
                Input::Bias(b) => pass.note_bias(b, z),
                Input::Shift(b) if pass.is_small() => pass.note_bias(b, z),
                Input::Shift(_) => {}
                Input::Times(x, w) => pass.through_product(x, Matrix::Param(w), z),
                Input::Seen(seen) => seen.backward(pass, z),
            }
        }
        pass.through_product(h_prev, Matrix::Param(w_h), z);
    }

    /// From `dh'` and `dc'` to the gradients of the gates and of the cell before.
    fn gates_backward(&self, pass: &mut Backward<'_>) {
        let Lstm { h_prev, c_prev, alive, .. } = *self;
        let (rows, hidden) = (h_prev.rows as usize, h_prev.cols as usize);
        let gates_at = self.gates_at as usize;
        let at = Places::new(gates_at, rows, hidden);
        let (wants_h, wants_c) = (pass.wants(h_prev), pass.wants(c_prev));
        let (values, indices) = (pass.values, pass.indices);

        let (before, own) = pass.split(gates_at);
        let (dgates, own) = own.split_at_mut(4 * rows * hidden);
        let (dc, own) = own.split_at_mut(rows * hidden);
        let (spare, dh) = own.split_at_mut(rows * hidden); // tanh c receives no outside gradient
        for i in 0..rows {
            let row = i * hidden..(i + 1) * hidden;
            if alive != ALL_ALIVE && indices[alive as usize + i] == 0 {
                // Forward copied the state.
                dgates[4 * i * hidden..4 * (i + 1) * hidden].fill(0.0);
                if wants_c {
                    kernels::add_to(&mut before[c_prev.row_at(i)..][..hidden], &dc[row.clone()]);
                }
                if wants_h {
                    kernels::add_to(&mut before[h_prev.row_at(i)..][..hidden], &dh[row]);
                }
                continue;
            }
            let is_zero = |d: &[f32]| 1 < rows && kernels::is_zero(&d[row.clone()]);
            if is_zero(dh) && is_zero(dc) {
                dgates[4 * i * hidden..4 * (i + 1) * hidden].fill(0.0);
                continue;
            }
            let dc_prev = match wants_c {
                true => &mut before[c_prev.row_at(i)..][..hidden],
                false => &mut spare[row.clone()],
            };
            kernels::lstm_backward(
                &values[at.gates + 4 * i * hidden..][..4 * hidden],
                &values[c_prev.row_at(i)..][..hidden],
                &values[at.tanh_c + i * hidden..][..hidden],
                &dh[row.clone()],
                &dc[row],
                &mut dgates[4 * i * hidden..][..4 * hidden],
                dc_prev,
            );
        }
    }
}
