//! Additive attention (Bahdanau et al. 2015) as one operation: scores, softmax and context.
//!
//! ```text
//! score_s = v · tanh(q + key_s)          over the S positions of the row's input
//! α       = softmax(score)
//! context = Σ_s α_s · value_s            (M)
//! ```
//!
//! Queries and keys arrive projected, `A` wide: keys once for a whole input, a query at every step.
//! Keys and values are time-major, row `s · B + b` for position `s` of input `b`; each query row
//! says which input it looks at, so the hypotheses of a beam share one.
//!
//! The squashed sums are computed again by the backward pass: to keep `S · A` floats for every step
//! would cost more in memory traffic than it saves.

use crate::kernels;
use crate::layout::Param;
use crate::tape::{Backward, Graph, Op, Var};

/// What a decoder attends to: `B` encoded inputs.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// `(S·B, A)`.
    pub keys: Var,
    /// `(S·B, M)`.
    pub values: Var,
    /// How many positions each input has, `(1, B)`.
    pub lengths: Var,
}

pub(crate) struct Attention {
    pub(crate) query: Var,
    pub(crate) memory: Memory,
    pub(crate) v: Param,
    /// Which input each row looks at, in the tape's indices.
    inputs: u32,
    /// Weights `(R, S)`; the gradients of `q` and of `v`, each `(R, A)`; `(A)` to spare; then the
    /// context `(R, M)`, into which gradients flow.
    at: u32,
}

/// Where the pieces lie.
#[derive(Clone, Copy)]
struct Places {
    weights: usize,
    dquery: usize,
    dv: usize,
    spare: usize,
    context: usize,
}

impl Attention {
    fn new(query: Var, memory: Memory, v: Param, inputs: u32, at: u32) -> Self {
        let Memory { keys, values, lengths } = memory;
        assert!(query.cols == keys.cols && query.cols == v.cols, "width of queries and keys");
        assert!(keys.rows == values.rows && keys.rows % lengths.cols == 0, "rows of a memory");
        Attention { query, memory, v, inputs, at }
    }

    /// `S`, the positions there is room for.
    fn positions(&self) -> usize {
        (self.memory.keys.rows / self.memory.lengths.cols) as usize
    }

    fn places(&self) -> Places {
        let (rows, width) = (self.query.rows as usize, self.query.cols as usize);
        let weights = self.at as usize;
        let dquery = weights + rows * self.positions();
        let spare = dquery + 2 * rows * width;
        Places { weights, dquery, dv: dquery + rows * width, spare, context: spare + width }
    }

    /// Where position `s` of input `b` lies in a matrix of the memory.
    fn row(&self, of: Var, s: usize, b: usize) -> usize {
        of.row_at(s * self.memory.lengths.cols as usize + b)
    }
}

impl Graph<'_> {
    /// The context `(R, M)` for each query `(R, A)`; row `i` looks at input `inputs[i]`.
    pub fn attention(&mut self, query: Var, memory: Memory, v: Param, inputs: &[u32]) -> Var {
        let (rows, width) = (query.rows as usize, query.cols as usize);
        assert!(inputs.len() == rows, "{} inputs for {rows} queries", inputs.len());
        let kept = self.tape.indices.len() as u32;
        self.tape.indices.extend_from_slice(inputs);
        let mut op = Attention::new(query, memory, v, kept, 0);
        let size = memory.values.cols as usize;
        op.at = self.tape.open(op.places().context + rows * size) as u32;
        let at = op.places();
        let positions = op.positions();
        let (before, own) = self.tape.split(at.weights);
        let (weights, own) = own.split_at_mut(at.dquery - at.weights);
        let (spare, contexts) = own.split_at_mut(at.context - at.dquery);
        let v = v.of(self.w);
        for (i, &b) in inputs.iter().enumerate() {
            let b = b as usize;
            let length = before[memory.lengths.at as usize + b] as usize;
            let q = &before[query.row_at(i)..][..width];
            let weights = &mut weights[i * positions..][..length];
            for (s, score) in weights.iter_mut().enumerate() {
                let key = &before[op.row(memory.keys, s, b)..][..width];
                kernels::additive_score(q, key, v, &mut spare[..width], score);
            }
            kernels::softmax(weights);
            let context = &mut contexts[i * size..(i + 1) * size];
            context.fill(0.0);
            for (s, &weight) in weights.iter().enumerate() {
                let value = &before[op.row(memory.values, s, b)..][..size];
                kernels::add_scaled(context, weight, value);
            }
        }
        let context = Var {
            op: self.tape.next_op(),
            at: at.context as u32,
            rows: rows as u32,
            cols: size as u32,
        };
        self.tape.record(Op::Attention(op), at.context);
        context
    }
}

impl Attention {
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Var> {
        [self.query, self.memory.keys, self.memory.values].into_iter()
    }

    /// `dα = dcontext · value`, `dscore = α (dα − Σ α dα)`, and from there as the formulas say.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Attention { query, memory: Memory { keys, values: memory, lengths }, v, .. } = *self;
        let (at, positions) = (self.places(), self.positions());
        let (width, size) = (query.cols as usize, memory.cols as usize);
        let wants_query = pass.wants(query);
        let (wants_keys, wants_values) = (pass.wants(keys), pass.wants(memory));
        let (values, indices) = (pass.values, pass.indices);
        let weight_of_v = v.of(pass.w);
        for i in 0..query.rows as usize {
            let b = indices[self.inputs as usize + i] as usize;
            let length = values[lengths.at as usize + b] as usize;
            let q = &values[query.row_at(i)..][..width];
            let weights = &values[at.weights + i * positions..][..length];
            let (before, own) = pass.grads.split_at_mut(at.weights);
            let (dscores, own) = own.split_at_mut(at.dquery - at.weights);
            let (dqueries, own) = own.split_at_mut(at.dv - at.dquery);
            let (dvs, own) = own.split_at_mut(at.spare - at.dv);
            let (spare, dcontexts) = own.split_at_mut(width);
            let dcontext = &dcontexts[i * size..(i + 1) * size];
            let (dq, dv) = (&mut dqueries[i * width..][..width], &mut dvs[i * width..][..width]);
            dq.fill(0.0);
            dv.fill(0.0);

            let dscores = &mut dscores[i * positions..][..length];
            for (s, dscore) in dscores.iter_mut().enumerate() {
                let value = &values[self.row(memory, s, b)..][..size];
                *dscore = kernels::dot(dcontext, value);
                if wants_values {
                    let dvalue = &mut before[self.row(memory, s, b)..][..size];
                    kernels::add_scaled(dvalue, weights[s], dcontext);
                }
            }
            let mean: f32 = weights.iter().zip(dscores.iter()).map(|(a, d)| a * d).sum();
            for (s, (dscore, &weight)) in dscores.iter_mut().zip(weights).enumerate() {
                *dscore = weight * (*dscore - mean);
                let key = &values[self.row(keys, s, b)..][..width];
                let dkey = match wants_keys {
                    true => &mut before[self.row(keys, s, b)..][..width],
                    false => &mut *spare,
                };
                kernels::additive_score_backward(q, key, weight_of_v, *dscore, dq, dkey, dv);
            }
            if wants_query {
                kernels::add_to(&mut before[query.row_at(i)..][..width], dq);
            }
            pass.note_lookup(v, 0, at.dv + i * width);
        }
    }
}
