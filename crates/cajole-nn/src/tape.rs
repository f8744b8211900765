//! A define-by-run tape of a few coarse operations over two arenas.
//!
//! Decoding *is* recording: every operation appends its result to one arena of values and one
//! entry to the list of operations. The backward pass walks the list in reverse with a second
//! arena of gradients laid out like the first. Both arenas are kept between inputs, so after the
//! first few nothing is allocated.
//!
//! Three things make the backward pass cheap on small recurrent networks, where general frameworks
//! spend most of their time:
//! - operations are coarse: a whole LSTM step is one entry;
//! - a product with a parameter only notes where its input and its output's gradient lie, and
//!   each parameter's gradient is one matrix product over all of its uses at the end;
//! - only operations that a marked log-probability depends on, and that depend on a parameter that
//!   moves, are walked: dead beams and frozen encoders cost nothing.
//!
//! A [`Var`] is a matrix `(rows, cols)` in the arena; rows are sequences of a batch or hypotheses
//! of a beam, and one row when a single input is repaired. Each operation lives in its own file
//! under `layers/`, forward beside backward.

use cajole::Aligned;
use cajole::gradient::Gradient;
use cajole::model::Mark;

use crate::halves::{Halves, Weights};
use crate::kernels::{self, Panel};
use crate::layers::{
    affine, attention, concat, custom, dropout, embedding, lstm, lstm_layer, rows, softmax, sum,
};
use crate::layout::{Layout, Param};
use crate::products;
use crate::random::Random;

/// Floats in a cache line; every operation's stretch of the arena starts on one.
const LINE: usize = 16;

/// A matrix `(rows, cols)` on the tape; its rows are contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var {
    pub(crate) op: u32,
    pub(crate) at: u32,
    /// Sequences or hypotheses.
    pub rows: u32,
    /// Dimension of each.
    pub cols: u32,
}

impl Var {
    /// One row, for free.
    pub fn row(self, i: usize) -> Var {
        self.slice(i, 1)
    }

    /// `rows` rows from the `i`-th on, for free.
    pub fn slice(self, i: usize, rows: usize) -> Var {
        assert!(i + rows <= self.rows as usize, "rows {i}..{} of {}", i + rows, self.rows);
        Var { at: self.at + i as u32 * self.cols, rows: rows as u32, ..self }
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.rows * self.cols) as usize
    }

    /// Where row `i` starts; a single row stands for every `i`.
    pub(crate) fn row_at(self, i: usize) -> usize {
        if self.rows == 1 { self.at as usize } else { self.at as usize + i * self.cols as usize }
    }
}

/// What was computed, with what the backward pass needs.
pub(crate) enum Op {
    Leaf,
    Param(Param),
    Affine(affine::Affine),
    Attention(attention::Attention),
    Concat(concat::Concat),
    Embedding(embedding::Embedding),
    Rows(rows::Rows),
    Lstm(lstm::Lstm),
    LstmLayer(lstm_layer::LstmLayer),
    Mix(attention::Mix),
    LogSoftmax(softmax::LogSoftmax),
    Dropout(dropout::Dropout),
    Sum(sum::Sum),
    Custom(custom::Record),
}

/// The record of one pass, reused for the next.
#[derive(Default)]
pub struct Tape {
    /// The arena; what lies beyond `len` is left over from longer recordings.
    pub(crate) values: Aligned,
    len: usize,
    grads: Aligned,
    ops: Vec<Op>,
    /// The stretch of the arena into which gradients flow, for each operation.
    inflows: Vec<(u32, u32)>,
    /// Symbols, row numbers and the like that operations refer to.
    pub(crate) indices: Vec<u32>,
    /// Weights as products with one row read them.
    pub(crate) halves: Halves,
    panel: Panel,
    reach: Reach,
    uses: Uses,
}

/// A point in a recording.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    len: usize,
    ops: usize,
    indices: usize,
}

/// Which operations the backward pass has to walk.
#[derive(Default)]
struct Reach {
    /// Depends on a parameter that moves.
    needed: Vec<bool>,
    /// Something marked depends on it; its gradient has been cleared.
    live: Vec<bool>,
}

/// Where each parameter was used, collected by the backward pass.
#[derive(Default)]
struct Uses {
    /// Per parameter: starts of `x` in the values and of `dy` in the gradients, row by row.
    products: Vec<Vec<(u32, u32)>>,
    /// Per parameter: row of the parameter and start of its gradient, for look-ups and biases.
    lookups: Vec<Vec<(u32, u32)>>,
}

impl Tape {
    /// Starts a new recording.
    pub fn clear(&mut self) {
        self.len = 0;
        self.ops.clear();
        self.inflows.clear();
        self.indices.clear();
        self.halves.clear();
    }

    /// How far the recording has come, to [go back](Tape::rewind) to.
    pub(crate) fn position(&self) -> Position {
        Position { len: self.len, ops: self.ops.len(), indices: self.indices.len() }
    }

    /// Forgets everything recorded after `position`.
    pub(crate) fn rewind(&mut self, position: Position) {
        self.len = position.len;
        self.ops.truncate(position.ops);
        self.inflows.truncate(position.ops);
        self.indices.truncate(position.indices);
    }

    /// The values of `v`, `(rows, cols)`.
    pub fn value(&self, v: Var) -> &[f32] {
        &self.values[v.range()]
    }

    /// How many floats the current recording holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A mark at element `j` of row `i` of `v`.
    pub fn mark(&self, v: Var, i: usize, j: usize) -> Mark {
        assert!(i < v.rows as usize && j < v.cols as usize);
        Mark(u64::from(v.op) << 32 | (v.row_at(i) + j) as u64)
    }

    /// Opens a stretch of `len` floats for the next operation and returns where it starts. What
    /// is in it is left over: the operation has to write all that is ever read.
    pub(crate) fn open(&mut self, len: usize) -> usize {
        let at = self.len.next_multiple_of(LINE);
        self.len = at + len;
        if self.values.len() < self.len {
            assert!(u32::try_from(self.len).is_ok(), "a recording of more than 2³² floats");
            self.values.resize(self.len);
        }
        at
    }

    /// The values before `at`, to read, and those of the stretch just opened there, to write.
    pub(crate) fn split(&mut self, at: usize) -> (&[f32], &mut [f32]) {
        let (before, own) = self.values[..self.len].split_at_mut(at);
        (before, own)
    }

    /// Records `op`, whose gradients flow into everything from `inflow` on, and returns its number.
    pub(crate) fn record(&mut self, op: Op, inflow: usize) -> u32 {
        self.ops.push(op);
        self.inflows.push((inflow as u32, self.len as u32));
        self.ops.len() as u32 - 1
    }

    /// The number that the next operation will get.
    pub(crate) fn next_op(&self) -> u32 {
        self.ops.len() as u32
    }

    /// `∇ ← ∂/∂w Σ cost · value at mark`, for every parameter of `layout` that moves.
    pub fn backward(
        &mut self,
        w: &[f32],
        layout: &Layout,
        blame: &[(Mark, f32)],
        grad: &mut Gradient,
    ) {
        let Tape { values, len, grads, ops, inflows, indices, halves, panel, reach, uses } = self;
        if grads.len() < *len {
            grads.resize(*len);
        }
        uses.clear(layout.entries().len());
        reach.begin(ops, layout, grad);
        let mut pass = Backward { w, halves, values, grads, inflows, indices, panel, reach, uses };
        for &(Mark(mark), cost) in blame {
            let (op, at) = ((mark >> 32) as u32, mark as u32 as usize);
            if pass.awaken(op) {
                pass.grads[at] += cost;
            }
        }
        for (i, op) in ops.iter().enumerate().rev() {
            if !pass.reach.live[i] {
                continue;
            }
            match op {
                Op::Leaf => {}
                Op::Param(p) => {
                    for row in 0..p.rows {
                        pass.note_lookup(*p, row, (pass.inflows[i].0 + row * p.cols) as usize);
                    }
                }
                Op::Affine(op) => op.backward(&mut pass),
                Op::Attention(op) => op.backward(&mut pass),
                Op::Concat(op) => op.backward(&mut pass),
                Op::Embedding(op) => op.backward(&mut pass),
                Op::Rows(op) => op.backward(&mut pass),
                Op::Lstm(op) => op.backward(&mut pass),
                Op::LstmLayer(op) => op.backward(&mut pass),
                Op::Mix(op) => op.backward(&mut pass),
                Op::LogSoftmax(op) => op.backward(&mut pass),
                Op::Dropout(op) => op.backward(&mut pass),
                Op::Sum(op) => op.backward(&mut pass),
                Op::Custom(op) => op.backward(&mut pass),
            }
        }
        uses.gather(layout, values, grads, panel, grad);
    }
}

impl Reach {
    /// One sweep forward: an operation is needed if a moving parameter or a needed input feeds it.
    fn begin(&mut self, ops: &[Op], layout: &Layout, grad: &Gradient) {
        self.live.clear();
        self.live.resize(ops.len(), false);
        self.needed.clear();
        let moves = |p: &Param| grad.moves(&layout.entries()[p.id as usize].param.range());
        for op in ops {
            let needs = |v: &Var| self.needed[v.op as usize];
            let needed = match op {
                Op::Leaf => false,
                Op::Param(p) => moves(p),
                Op::Embedding(op) => moves(&op.table),
                Op::Affine(op) => op.params().any(|p| moves(&p)) || op.inputs().any(|v| needs(&v)),
                Op::Lstm(op) => moves(&op.w_h) || op.inputs().any(|v| needs(&v)),
                Op::LstmLayer(op) => moves(&op.w_h) || needs(&op.x),
                Op::Attention(op) => moves(&op.v) || op.inputs().any(|v| needs(&v)),
                Op::Mix(op) => needs(&op.weights) || needs(&op.values),
                Op::Concat(op) => op.parts().iter().any(needs),
                Op::Sum(op) => op.terms.iter().any(needs),
                Op::Rows(op) => needs(&op.x),
                Op::LogSoftmax(op) => needs(&op.x),
                Op::Dropout(op) => needs(&op.x),
                Op::Custom(op) => op.inputs().iter().any(needs),
            };
            self.needed.push(needed);
        }
    }
}

impl Uses {
    fn clear(&mut self, params: usize) {
        for lists in [&mut self.products, &mut self.lookups] {
            lists.resize_with(params, Vec::new);
            lists.iter_mut().for_each(Vec::clear);
        }
    }

    /// Turns the collected uses into the gradient: one product per matrix.
    fn gather(
        &mut self,
        layout: &Layout,
        values: &[f32],
        grads: &[f32],
        panel: &mut Panel,
        grad: &mut Gradient,
    ) {
        grad.clear();
        for (entry, (products, lookups)) in
            layout.entries().iter().zip(self.products.iter().zip(&mut self.lookups))
        {
            let p = entry.param;
            let (rows, cols) = (p.rows as usize, p.cols as usize);
            if !grad.moves(&p.range()) {
                continue;
            }
            if !products.is_empty() {
                let uses =
                    kernels::Uses { shape: (rows, cols), xs: values, dys: grads, rows: products };
                if lookups.is_empty() && products::keep(grad, p.range(), &uses) {
                    continue;
                }
                let dw = grad.touch(p.range());
                kernels::outer_sum(dw, &uses, panel);
                for &(row, dy_at) in lookups.iter() {
                    let dw = &mut dw[row as usize * cols..][..cols];
                    kernels::add_to(dw, &grads[dy_at as usize..][..cols]);
                }
                continue;
            }
            // Look-ups touch only their rows: a large embedding stays as it is elsewhere.
            lookups.sort_unstable();
            for same in lookups.chunk_by(|a, b| a.0 == b.0) {
                let start = p.at as usize + same[0].0 as usize * cols;
                let dw = grad.touch(start..start + cols);
                dw.copy_from_slice(&grads[same[0].1 as usize..][..cols]);
                for &(_, dy_at) in &same[1..] {
                    kernels::add_to(dw, &grads[dy_at as usize..][..cols]);
                }
            }
        }
    }
}

/// The backward pass under way: what an operation may read and write.
pub(crate) struct Backward<'a> {
    pub(crate) w: &'a [f32],
    halves: &'a Halves,
    pub(crate) values: &'a [f32],
    pub(crate) grads: &'a mut [f32],
    inflows: &'a [(u32, u32)],
    pub(crate) indices: &'a [u32],
    pub(crate) panel: &'a mut Panel,
    reach: &'a mut Reach,
    uses: &'a mut Uses,
}

impl<'a> Backward<'a> {
    /// `p` as the product with so many rows read it.
    pub(crate) fn weights(&self, p: Param, rows: usize) -> Weights<'a> {
        self.halves.again(p, self.w, rows)
    }

    /// Makes the gradient of operation `op` ready to be added to; false if nothing needs it.
    fn awaken(&mut self, op: u32) -> bool {
        let i = op as usize;
        if !self.reach.needed[i] {
            return false;
        }
        if !self.reach.live[i] {
            self.reach.live[i] = true;
            let (start, end) = self.inflows[i];
            self.grads[start as usize..end as usize].fill(0.0);
        }
        true
    }

    /// Whether `v` wants a gradient; if so it is ready to be added to.
    pub(crate) fn wants(&mut self, v: Var) -> bool {
        self.awaken(v.op)
    }

    /// The gradients before `at`, to add to, and from `at` on, to read: inputs precede outputs.
    pub(crate) fn split(&mut self, at: usize) -> (&mut [f32], &mut [f32]) {
        self.grads.split_at_mut(at)
    }

    /// Notes `y = x · W` for `rows` rows, for the gradient of `W`.
    pub(crate) fn note_product(&mut self, w: Param, x: Var, dy_at: usize, rows: usize) {
        for i in 0..rows {
            self.note_use(w, x.row_at(i), dy_at + i * w.cols as usize);
        }
    }

    /// Notes one row of such a product, by where it starts in the values and in the gradients.
    pub(crate) fn note_use(&mut self, w: Param, x_at: usize, dy_at: usize) {
        self.uses.products[w.id as usize].push((x_at as u32, dy_at as u32));
    }

    /// Notes that the gradient of row `row` of `table` lies at `dy_at`.
    pub(crate) fn note_lookup(&mut self, table: Param, row: u32, dy_at: usize) {
        self.uses.lookups[table.id as usize].push((row, dy_at as u32));
    }
}

/// A pass under given weights, as a network sees it: its methods are the operations.
pub struct Graph<'a> {
    /// The weights of this pass, `W` or a private `W_λ`.
    pub w: &'a [f32],
    /// Where it is recorded.
    pub tape: &'a mut Tape,
    /// The source of dropout masks; none outside training.
    pub random: Option<Random>,
}

impl<'a> Graph<'a> {
    /// A pass of inference under `w`, continuing the recording on `tape`.
    pub fn new(w: &'a [f32], tape: &'a mut Tape) -> Self {
        Graph { w, tape, random: None }
    }

    /// A constant matrix of zeros `(rows, cols)`.
    pub fn zeros(&mut self, rows: usize, cols: usize) -> Var {
        let at = self.tape.open(rows * cols);
        self.tape.split(at).1.fill(0.0);
        let op = self.tape.record(Op::Leaf, at);
        Var { op, at: at as u32, rows: rows as u32, cols: cols as u32 }
    }

    /// A constant matrix `(rows, cols)` with these values.
    pub fn constant(&mut self, values: &[f32], cols: usize) -> Var {
        let v = self.zeros(values.len() / cols, cols);
        self.tape.values[v.range()].copy_from_slice(values);
        v
    }

    /// Writes `values` over the constant `v`.
    pub(crate) fn fill(&mut self, v: Var, values: impl Iterator<Item = f32>) {
        self.tape.values[v.range()].iter_mut().zip(values).for_each(|(v, value)| *v = value);
    }

    /// A parameter as a matrix on the tape, for operations between parameters.
    pub fn param(&mut self, p: Param) -> Var {
        let values = p.of(self.w);
        let at = self.tape.open(values.len());
        self.tape.split(at).1.copy_from_slice(values);
        let op = self.tape.record(Op::Param(p), at);
        Var { op, at: at as u32, rows: p.rows, cols: p.cols }
    }
}
