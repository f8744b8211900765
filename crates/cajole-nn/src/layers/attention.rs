//! Additive attention (Bahdanau et al. 2015) in two operations: the weights, and the weighted sum.
//!
//! ```text
//! score_s = v · tanh(q + key_s)          over the S positions of the row's input
//! α       = softmax(score)               (S)
//! seen    = Σ_s α_s · value_s            (M)
//! ```
//!
//! Queries and keys arrive projected to width `A`: keys once per input, a query at every step.
//! Values may be projected before mixing too: `(Σ α_s value_s) · W` equals `Σ α_s (value_s · W)`,
//! and the `S` products on the right are computed once for all steps.
//!
//! Keys and values are time-major, row `s · B + b` for position `s` of input `b`. Each query row
//! names its input, so the hypotheses of a beam share one.
//!
//! The backward pass recomputes the tanh: storing `S · A` floats per step would cost more in memory
//! traffic than it saves.

use crate::backward::Backward;
use crate::deferred::Matrix;
use crate::kernels::{self, Mixture};
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

/// The keys that queries are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// `(S·B, A)`.
    pub keys: Var,
    /// How many positions each input has, `(1, B)`.
    pub lengths: Var,
}

impl Keys {
    /// `B`.
    fn n_inputs(&self) -> usize {
        self.lengths.cols as usize
    }

    /// `S`, including padding.
    fn positions(&self) -> usize {
        self.keys.rows as usize / self.n_inputs()
    }

    /// Number of positions of input `b`.
    fn length(&self, values: &[f32], b: usize) -> usize {
        values[self.lengths.at as usize + b] as usize
    }
}

pub(crate) struct Attention {
    pub(crate) query: Var,
    pub(crate) memory: Keys,
    pub(crate) v: Param,
    /// Offset of each row's input in the tape's indices.
    inputs: u32,
    /// The gradients of `q` and `v`, each `(R, A)`; `(A)` scratch; then the weights `(R, S)`, which
    /// receive gradients.
    at: u32,
}

/// Offsets of the parts.
#[derive(Clone, Copy)]
struct Places {
    dquery: usize,
    dv: usize,
    spare: usize,
    weights: usize,
}

impl Attention {
    fn places(&self) -> Places {
        let (rows, width) = (self.query.rows as usize, self.query.cols as usize);
        let dquery = self.at as usize;
        let spare = dquery + 2 * rows * width;
        Places { dquery, dv: dquery + rows * width, spare, weights: spare + width }
    }

    /// Offset of the first key of input `b`.
    fn keys_of(&self, b: usize) -> usize {
        self.memory.keys.at as usize + b * self.memory.keys.cols as usize
    }

    /// Distance between the keys of successive positions.
    fn stride(&self) -> usize {
        self.memory.n_inputs() * self.memory.keys.cols as usize
    }
}

impl Graph<'_> {
    /// The weights `α (R, S)` of each query `(R, A)`; row `i` attends to input `inputs[i]`.
    /// Positions past the end of an input are never read.
    pub fn attention(&mut self, query: Var, memory: Keys, v: Param, inputs: &[u32]) -> Var {
        let (rows, width) = (query.rows as usize, query.cols as usize);
        assert!(inputs.len() == rows, "{} inputs for {rows} queries", inputs.len());
        assert!(
            query.cols == memory.keys.cols && query.cols == v.cols,
            "queries, keys and v differ in width"
        );
        let kept = self.tape.indices.len() as u32;
        self.tape.indices.extend_from_slice(inputs);
        let mut op = Attention { query, memory, v, inputs: kept, at: 0 };
        let positions = memory.positions();
        op.at = self.tape.open(op.places().weights + rows * positions) as u32;
        let at = op.places();
        let (before, own) = self.tape.split(at.dquery);
        let (spare, weights) = own.split_at_mut(at.weights - at.dquery);
        let v = v.of(self.w);
        for (i, &b) in inputs.iter().enumerate() {
            let b = b as usize;
            let q = &before[query.row_at(i)..][..width];
            let weights = &mut weights[i * positions..][..memory.length(before, b)];
            let keys = &before[op.keys_of(b)..];
            kernels::additive_scores(q, keys, op.stride(), v, &mut spare[..width], weights);
            kernels::softmax(weights);
        }
        let weights = Var {
            op: self.tape.next_op(),
            at: at.weights as u32,
            rows: rows as u32,
            cols: positions as u32,
        };
        self.tape.record(Op::Attention(op), at.weights);
        weights
    }
}

impl Attention {
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Var> {
        [self.query, self.memory.keys].into_iter()
    }

    /// `dscore = α (dα − Σ α dα)`, then the chain rule through `v · tanh(q + key)`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Attention { query, memory, v, .. } = *self;
        let (at, positions, width) = (self.places(), memory.positions(), query.cols as usize);
        let (wants_query, wants_keys) = (pass.wants(query), pass.wants(memory.keys));
        let (values, indices) = (pass.values, pass.indices);
        let v_values = v.of(pass.w);
        for i in 0..query.rows as usize {
            let b = indices[self.inputs as usize + i] as usize;
            let length = memory.length(values, b);
            let q = &values[query.row_at(i)..][..width];
            let weights = &values[at.weights + i * positions..][..length];
            let (before, own) = pass.grads.split_at_mut(at.dquery);
            let (dqueries, own) = own.split_at_mut(at.dv - at.dquery);
            let (dvs, own) = own.split_at_mut(at.spare - at.dv);
            let (spare, dweights) = own.split_at_mut(width);
            let (dq, dv) = (&mut dqueries[i * width..][..width], &mut dvs[i * width..][..width]);
            dq.fill(0.0);
            dv.fill(0.0);
            // The gradients of the scores take the place of those of the weights.
            let dscores = &mut dweights[i * positions..][..length];
            if kernels::is_zero(dscores) {
                continue;
            }
            let mean: f32 = weights.iter().zip(&*dscores).map(|(a, d)| a * d).sum();
            dscores.iter_mut().zip(weights).for_each(|(d, weight)| *d = weight * (*d - mean));
            let keys = (&values[self.keys_of(b)..], self.stride());
            let dkeys = match wants_keys {
                true => (&mut before[self.keys_of(b)..], self.stride()),
                false => (&mut *spare, 0),
            };
            let query_and_v = (q, v_values);
            kernels::additive_scores_backward(query_and_v, keys, dscores, (&mut *dq, dv), dkeys);
            if wants_query {
                kernels::add_to(&mut before[query.row_at(i)..][..width], dq);
            }
            pass.note_lookup(v, 0, at.dv + i * width);
        }
    }
}

/// An attention sum over values `(S·B, M)` with weights `(R, S)`, for another operation to add.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub(crate) weights: Var,
    pub(crate) values: Var,
    lengths: Var,
    /// Offset of each row's input in the tape's indices.
    inputs: u32,
}

impl Seen {
    /// Offset of the first value of input `b`.
    fn values_of(&self, b: usize) -> usize {
        self.values.at as usize + b * self.values.cols as usize
    }

    /// Distance between the values of successive positions.
    fn stride(&self) -> usize {
        (self.lengths.cols * self.values.cols) as usize
    }

    fn length(&self, values: &[f32], b: usize) -> usize {
        values[self.lengths.at as usize + b] as usize
    }

    /// A single input has no padding, so mixing is a product: `Y = α · values`.
    fn is_product(&self) -> bool {
        self.lengths.cols == 1
    }

    /// `Y (R, M) += Σ_s α_s · value_s`.
    pub(crate) fn add_to(&self, y: &mut [f32], values: &[f32], indices: &[u32]) {
        let (weights, size) = (self.weights, self.values.cols as usize);
        if self.is_product() {
            let (weights, seen) = (&values[weights.range()], &values[self.values.range()]);
            return kernels::add_product(y, weights, seen, self.weights.cols as usize, size);
        }
        let (rows, mut done) = (y.len() / size, 0);
        let inputs = &indices[self.inputs as usize..][..rows];
        for same in inputs.chunk_by(|a, b| a == b) {
            let (b, from) = (same[0] as usize, done);
            done += same.len();
            let mixture = Mixture {
                weights: &values[weights.row_at(from)..],
                positions: weights.cols as usize,
                length: self.length(values, b),
                values: &values[self.values_of(b)..],
                stride: self.stride(),
            };
            kernels::add_mixed(&mut y[from * size..done * size], same.len(), mixture);
        }
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = Var> {
        [self.weights, self.values].into_iter()
    }

    /// `dα_s += dy · value_s`, `dvalue_s += α_s dy`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>, y: Var) {
        // The summation order must not depend on the number of inputs in the lane.
        if self.is_product() && !pass.is_small() {
            return pass.through_product(self.weights, Matrix::Var(self.values), y);
        }
        let (weights, size) = (self.weights, self.values.cols as usize);
        let (wants_weights, wants_values) = (pass.wants(weights), pass.wants(self.values));
        let (values, indices) = (pass.values, pass.indices);
        let (before, dys) = pass.grads.split_at_mut(y.at as usize);
        for i in 0..y.rows as usize {
            let b = indices[self.inputs as usize + i] as usize;
            let dy = &dys[i * size..(i + 1) * size];
            if kernels::is_zero(dy) {
                continue;
            }
            let length = self.length(values, b);
            let (first, stride) = (self.values_of(b), self.stride());
            if wants_weights {
                let dweights = &mut before[weights.row_at(i)..][..length];
                kernels::add_dots(dweights, dy, &values[first..], stride);
            }
            if wants_values {
                let weights = &values[weights.row_at(i)..][..length];
                kernels::add_shares(&mut before[first..], stride, weights, dy);
            }
        }
    }
}

pub(crate) struct Mix {
    pub(crate) seen: Seen,
    y: Var,
}

impl Graph<'_> {
    /// The attention sum over `values (S·B, M)` with weights `(R, S)`; row `i` attends to input
    /// `inputs[i]`.
    pub fn seen(&mut self, weights: Var, values: Var, lengths: Var, inputs: &[u32]) -> Seen {
        assert!(inputs.len() == weights.rows as usize, "{} rows of weights", weights.rows);
        let kept = self.tape.indices.len() as u32;
        self.tape.indices.extend_from_slice(inputs);
        Seen { weights, values, lengths, inputs: kept }
    }

    /// The attention sum as a matrix `(R, M)`.
    pub fn mix(&mut self, seen: Seen) -> Var {
        let (rows, cols) = (seen.weights.rows, seen.values.cols);
        let at = self.tape.open((rows * cols) as usize);
        let y = Var { op: self.tape.next_op(), at: at as u32, rows, cols };
        let Tape { values, indices, .. } = &mut *self.tape;
        let (before, own) = values.split_at_mut(at);
        let own = &mut own[..(rows * cols) as usize];
        own.fill(0.0);
        seen.add_to(own, before, indices);
        self.tape.record(Op::Mix(Mix { seen, y }), at);
        y
    }
}

impl Mix {
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        self.seen.backward(pass, self.y);
    }
}
