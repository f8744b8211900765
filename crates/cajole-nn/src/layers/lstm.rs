//! One step of an LSTM, from its inputs to the new state, as one operation.
//!
//! ```text
//! z        = Σ inputs + h · W_h          (B, 4H)   gates in the order i, f, g, o
//! c'       = σ(f) ∘ c + σ(i) ∘ tanh(g)   (B, H)
//! h'       = σ(o) ∘ tanh(c')             (B, H)
//! ```
//!
//! Inputs arrive already multiplied by their weights, where that can be done once for many steps:
//! for a whole source sentence, for an embedding table, for a context that stays the same. Others
//! are multiplied here, straight into the gates, and the gradient of the gates is theirs. Rows whose
//! sequence has ended keep their state.

use crate::backward::Backward;
use crate::deferred::Matrix;
use crate::kernels;
use crate::layers::attention::Seen;
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

/// Something that is added to the gates, `(B, 4H)`.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// As it is; one row counts for every row.
    Projected(Var),
    /// The same for every row, `(4H)`.
    Bias(Param),
    /// `x (B, K)` times `W (K, 4H)`.
    Times(Var, Param),
    /// What is seen of projected values.
    Seen(Seen),
}

impl From<Var> for Input {
    fn from(x: Var) -> Self {
        Input::Projected(x)
    }
}

impl Input {
    fn param(&self) -> Option<Param> {
        match *self {
            Input::Bias(p) | Input::Times(_, p) => Some(p),
            Input::Projected(_) | Input::Seen(_) => None,
        }
    }
}

/// Stands for "all rows are alive".
const ALL_ALIVE: u32 = u32::MAX;

pub(crate) struct Lstm {
    /// Where its inputs lie among the tape's, and how many.
    inputs: u32,
    n_inputs: u32,
    op: u32,
    h_prev: Var,
    c_prev: Var,
    w_h: Param,
    /// Where one flag per row lies in the tape's indices, if some rows may have ended.
    alive: u32,
    /// Gates `(B, 4H)`, then `c`, `tanh c` and `h`, each `(B, H)`, in one stretch of the arena.
    /// Gradients flow in from `c` on; those of the gates are written by `backward`.
    gates_at: u32,
}

/// Where the pieces of a step lie.
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
    /// The state `(h', c')` after `(h, c)`, each `(B, H)`, given inputs, which are added up in order;
    /// products do not come first. Rows not `alive` keep their state.
    pub fn lstm(
        &mut self,
        inputs: &[Input],
        (h_prev, c_prev): (Var, Var),
        w_h: Param,
        alive: Option<&dyn Fn(usize) -> bool>,
    ) -> (Var, Var) {
        let starts = matches!(inputs.first(), Some(Input::Projected(_) | Input::Bias(_)));
        assert!(starts, "a step's inputs start with one that is projected, or a bias");
        let (rows, hidden) = (h_prev.rows as usize, h_prev.cols as usize);
        assert!(w_h.rows as usize == hidden && w_h.cols as usize == 4 * hidden, "shape of W_h");
        assert!(c_prev.rows == h_prev.rows && c_prev.cols == h_prev.cols, "shape of c");
        let gates_at = self.tape.open(7 * rows * hidden);
        let at = Places::new(gates_at, rows, hidden);
        let Tape { values, indices, halves, .. } = &mut *self.tape;
        let (before, own) = values.split_at_mut(gates_at);

        let (gates, own) = own[..7 * rows * hidden].split_at_mut(4 * rows * hidden);
        let put = |z: &mut [f32], x: &[f32], is_first: bool| match is_first {
            true => z.copy_from_slice(x),
            false => kernels::add_to(z, x),
        };
        for (j, &input) in inputs.iter().enumerate() {
            let columns = match input {
                Input::Projected(x) => x.cols,
                Input::Seen(seen) => seen.values.cols,
                Input::Bias(p) | Input::Times(_, p) => p.cols,
            };
            assert!(columns as usize == 4 * hidden, "an input of {columns} for {hidden} units");
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
                }
                Input::Times(x, w) => {
                    let (k, x) = (w.rows as usize, &before[x.range()]);
                    halves.of(w, self.w, rows).add_product(gates, x, k, 4 * hidden);
                }
                Input::Seen(seen) => seen.add_to(gates, before, indices),
            }
        }
        let h_before = &before[h_prev.range()];
        halves.of(w_h, self.w, rows).add_product(gates, h_before, hidden, 4 * hidden);

        let (c, own) = own.split_at_mut(rows * hidden);
        let (tanh_c, h) = own.split_at_mut(rows * hidden);
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

        let alive = alive.map_or(ALL_ALIVE, |alive| {
            let kept = self.tape.indices.len() as u32;
            self.tape.indices.extend((0..rows).map(|i| u32::from(alive(i))));
            kept
        });
        let op = self.tape.next_op();
        let state = |at: usize| Var { op, at: at as u32, rows: rows as u32, cols: hidden as u32 };
        let (kept, n_inputs) = (self.tape.inputs.len() as u32, inputs.len() as u32);
        self.tape.inputs.extend_from_slice(inputs);
        let gates_at = gates_at as u32;
        let step = Lstm { inputs: kept, n_inputs, op, h_prev, c_prev, w_h, alive, gates_at };
        self.tape.record(Op::Lstm(step), at.c);
        (state(at.h), state(at.c))
    }
}

impl Lstm {
    /// Its inputs among all of the tape's.
    fn summed<'t>(&self, all: &'t [Input]) -> &'t [Input] {
        &all[self.inputs as usize..][..self.n_inputs as usize]
    }

    /// Shows every matrix it depends on.
    pub(crate) fn each_input(&self, all: &[Input], mut show: impl FnMut(Var)) {
        show(self.h_prev);
        show(self.c_prev);
        for input in self.summed(all) {
            match input {
                Input::Projected(x) | Input::Times(x, _) => show(*x),
                Input::Bias(_) => {}
                Input::Seen(seen) => seen.inputs().for_each(&mut show),
            }
        }
    }

    pub(crate) fn params(&self, all: &[Input]) -> impl Iterator<Item = Param> {
        self.summed(all).iter().filter_map(Input::param).chain([self.w_h])
    }

    /// From `dh'`, `dc'` to `dz`; then back through each input, `dh += dz · W_hᵀ`, `dW_h += hᵀ · dz`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Lstm { h_prev, c_prev, w_h, alive, .. } = *self;
        let (rows, hidden) = (h_prev.rows as usize, h_prev.cols as usize);
        let gates_at = self.gates_at as usize;
        let at = Places::new(gates_at, rows, hidden);
        let (wants_h, wants_c) = (pass.wants(h_prev), pass.wants(c_prev));
        let (values, indices) = (pass.values, pass.indices);

        let (before, own) = pass.split(gates_at);
        let (dgates, own) = own.split_at_mut(4 * rows * hidden);
        let (dc, own) = own.split_at_mut(rows * hidden);
        let (spare, dh) = own.split_at_mut(rows * hidden); // nothing flows into tanh c from outside
        for i in 0..rows {
            let row = i * hidden..(i + 1) * hidden;
            if alive != ALL_ALIVE && indices[alive as usize + i] == 0 {
                // The state was copied.
                dgates[4 * i * hidden..4 * (i + 1) * hidden].fill(0.0);
                if wants_c {
                    kernels::add_to(&mut before[c_prev.row_at(i)..][..hidden], &dc[row.clone()]);
                }
                if wants_h {
                    kernels::add_to(&mut before[h_prev.row_at(i)..][..hidden], &dh[row]);
                }
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

        let (at, cols) = (self.gates_at, 4 * hidden as u32);
        let z = Var { op: self.op, at, rows: rows as u32, cols };
        for &input in self.summed(pass.inputs) {
            match input {
                Input::Projected(x) => {
                    if pass.wants(x) {
                        let (before, own) = pass.split(gates_at);
                        for (i, dz) in own[..4 * rows * hidden].chunks_exact(4 * hidden).enumerate()
                        {
                            kernels::add_to(&mut before[x.row_at(i)..][..4 * hidden], dz);
                        }
                    }
                }
                Input::Bias(b) => pass.note_bias(b, z),
                Input::Times(x, w) => pass.through_product(x, Matrix::Param(w), z),
                Input::Seen(seen) => seen.backward(pass, z),
            }
        }
        pass.through_product(h_prev, Matrix::Param(w_h), z);
    }
}
