//! One step of an LSTM, from projected inputs to the new state, as one operation.
//!
//! ```text
//! z        = Σ inputs + h · W_h          (B, 4H)   gates in the order i, f, g, o
//! c'       = σ(f) ∘ c + σ(i) ∘ tanh(g)   (B, H)
//! h'       = σ(o) ∘ tanh(c')             (B, H)
//! ```
//!
//! Inputs arrive already multiplied by their weights, since that can be done once for many steps:
//! for a whole source sentence, for an embedding table, for a context that stays the same. Rows
//! whose sequence has ended keep their state.

use crate::backward::Backward;
use crate::kernels;
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

/// Projected inputs one step can add up.
const INPUTS: usize = 3;

/// Stands for "all rows are alive".
const ALL_ALIVE: u32 = u32::MAX;

pub(crate) struct Lstm {
    /// As many as `n_inputs`.
    inputs: [Var; INPUTS],
    n_inputs: u32,
    h_prev: Var,
    c_prev: Var,
    pub(crate) w_h: Param,
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
    /// The state `(h', c')` after `(h, c)`, each `(B, H)`, given projected inputs `(B, 4H)` or
    /// `(1, 4H)`, which then count for every row. Rows not `alive` keep their state.
    pub fn lstm(
        &mut self,
        inputs: &[Var],
        (h_prev, c_prev): (Var, Var),
        w_h: Param,
        alive: Option<&dyn Fn(usize) -> bool>,
    ) -> (Var, Var) {
        assert!(!inputs.is_empty() && inputs.len() <= INPUTS, "{} inputs", inputs.len());
        let (rows, hidden) = (h_prev.rows as usize, h_prev.cols as usize);
        assert!(w_h.rows as usize == hidden && w_h.cols as usize == 4 * hidden, "shape of W_h");
        assert!(c_prev.rows == h_prev.rows && c_prev.cols == h_prev.cols, "shape of c");
        let gates_at = self.tape.open(7 * rows * hidden);
        let at = Places::new(gates_at, rows, hidden);
        let Tape { values, halves, .. } = &mut *self.tape;
        let (before, own) = values.split_at_mut(gates_at);

        let (gates, own) = own[..7 * rows * hidden].split_at_mut(4 * rows * hidden);
        let mut kept = [inputs[0]; INPUTS];
        kept[..inputs.len()].copy_from_slice(inputs);
        for (j, &x) in inputs.iter().enumerate() {
            assert!(x.cols as usize == 4 * hidden, "an input of {} for {hidden} units", x.cols);
            assert!(x.rows == 1 || x.rows as usize == rows, "{} input rows for {rows}", x.rows);
            for (i, z) in gates.chunks_exact_mut(4 * hidden).enumerate() {
                let x = &before[x.row_at(i)..][..4 * hidden];
                if j == 0 { z.copy_from_slice(x) } else { kernels::add_to(z, x) }
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
        let (n_inputs, gates_at) = (inputs.len() as u32, gates_at as u32);
        let step = Lstm { inputs: kept, n_inputs, h_prev, c_prev, w_h, alive, gates_at };
        self.tape.record(Op::Lstm(step), at.c);
        (state(at.h), state(at.c))
    }
}

impl Lstm {
    fn projected(&self) -> &[Var] {
        &self.inputs[..self.n_inputs as usize]
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = Var> {
        self.projected().iter().copied().chain([self.h_prev, self.c_prev])
    }

    /// From `dh'`, `dc'` to `dz`; then `dinput += dz`, `dh += dz · W_hᵀ`, `dW_h += hᵀ · dz`.
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

        for &x in self.projected() {
            if pass.wants(x) {
                let (before, own) = pass.split(gates_at);
                for (i, dz) in own[..4 * rows * hidden].chunks_exact(4 * hidden).enumerate() {
                    kernels::add_to(&mut before[x.row_at(i)..][..4 * hidden], dz);
                }
            }
        }
        pass.note_product(w_h, h_prev, gates_at, rows);
        if wants_h {
            let weights = pass.weights(w_h, rows);
            let (before, own) = pass.grads.split_at_mut(gates_at);
            let (dh_prev, dz) = (&mut before[h_prev.range()], &own[..4 * rows * hidden]);
            weights.add_product_transposed(dh_prev, dz, hidden, 4 * hidden, pass.panel);
        }
    }
}
