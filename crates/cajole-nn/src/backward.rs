//! The backward pass: from blamed log-probabilities to the gradient of every weight that moves.
//!
//! Four things make it cheap on small recurrent networks, where general frameworks are mostly
//! overhead:
//! - Operations are coarse: a whole LSTM step is one entry on the tape.
//! - A product with a parameter only records the offsets of its input and its output gradient. Each
//!   parameter's gradient is one matrix product over all its uses at the end.
//! - Only operations on a path from a moving parameter to a marked log-probability are walked: dead
//!   beams and frozen encoders cost nothing.
//! - Levels of a network that do not depend on each other step by step are walked one after the
//!   other, so that gradients flow to the next level for all steps at once.

use cajole_core::model::Mark;

use crate::Aligned;
use crate::deferred::{Deferred, Matrix, Rows};
use crate::gradient::Gradient;
use crate::halves::{Halves, Weights};
use crate::kernels::{self, Panel, Transposed};
use crate::layers::lstm::Input;
use crate::layers::multi_head::MultiHead;
use crate::layout::{Layout, Param};
use crate::reach::Reach;
use crate::tape::{Op, Owners, Tape, Var};
use crate::transposed::{Backwards, Copies};
use crate::uses::Uses;
use crate::vectors::{Shifts, Vectors};

/// State of the backward pass, reused from one recording to the next.
#[derive(Default)]
pub(crate) struct WayBack {
    grads: Aligned,
    pub(crate) panel: Panel,
    reach: Reach,
    /// All operations, in walking order.
    order: Vec<u32>,
    uses: Uses,
    deferred: Deferred,
    live: Rows,
}

/// What to differentiate with respect to.
pub(crate) enum Of<'a> {
    /// Weights that all rows share.
    Weights { layout: &'a Layout, grad: &'a Gradient },
    /// Per-input vectors: `sums (B, S)`.
    Vectors { of: &'a Vectors, sums: &'a mut [f32] },
}

impl Of<'_> {
    fn is_small(&self) -> bool {
        matches!(self, Of::Vectors { .. })
    }

    fn moves(&self, p: Param) -> bool {
        match self {
            Of::Weights { layout, grad } => {
                grad.moves(&layout.entries()[p.id as usize].param.range())
            }
            Of::Vectors { of, .. } => of.at(p).is_some(),
        }
    }
}

impl Tape {
    /// `∇ ← ∂/∂w Σ cost · value at mark`, for every parameter of `layout` that moves.
    pub fn backward(
        &mut self,
        w: &[f32],
        layout: &Layout,
        blame: &[(Mark, f32)],
        grad: &mut Gradient,
    ) {
        self.backward_with(w, layout, blame, None, grad);
    }

    /// The same, for weights `w` of which those that do not move have these transposed copies.
    pub(crate) fn backward_with(
        &mut self,
        w: &[f32],
        layout: &Layout,
        blame: &[(Mark, f32)],
        copies: Option<&Copies>,
        grad: &mut Gradient,
    ) {
        self.way_back.uses.clear(layout.entries().len());
        self.walk_back((w, copies), None, blame.iter().copied(), Of::Weights { layout, grad });
        let Tape { values, way_back, .. } = self;
        let WayBack { grads, panel, uses, .. } = way_back;
        uses.gather(layout, values, grads, panel, grad);
    }

    /// The same for per-input vectors, on a tape recorded with these shifts: adds to `sums (B, S)`.
    /// Each input's result is independent of the other inputs.
    pub(crate) fn backward_by_input(
        &mut self,
        (w, copies): (&[f32], &Copies),
        of: &Vectors,
        shifts: Option<&Shifts>,
        blame: impl Iterator<Item = (Mark, f32)>,
        sums: &mut [f32],
    ) {
        self.walk_back((w, Some(copies)), shifts, blame, Of::Vectors { of, sums });
    }

    /// The gradients of the last backward pass, those of dead operations left over from earlier ones.
    #[cfg(test)]
    pub(crate) fn gradients(&self) -> &[f32] {
        &self.way_back.grads[..self.len().min(self.way_back.grads.len())]
    }

    /// Propagates gradients from the blamed values to every parameter.
    fn walk_back(
        &mut self,
        (w, copies): (&[f32], Option<&Copies>),
        shifts: Option<&Shifts>,
        blame: impl Iterator<Item = (Mark, f32)>,
        of: Of<'_>,
    ) {
        let len = self.len();
        let Tape {
            values,
            ops,
            levels,
            inflows,
            indices,
            inputs,
            heads,
            halves,
            op_owners,
            way_back,
            ..
        } = self;
        let WayBack { grads, panel, reach, order, uses, deferred, live } = way_back;
        if grads.len() < len {
            grads.resize(len);
        }
        let refers = Refers { inputs, heads };
        reach.begin(ops, levels, refers, &of);
        reach.sort(order);
        let mut pass = Backward {
            w,
            copies,
            shifts,
            of,
            halves,
            values,
            grads,
            inflows,
            indices,
            inputs,
            heads,
            owners: op_owners,
            panel,
            reach,
            uses,
            deferred,
            live,
        };
        for (Mark(mark), cost) in blame.filter(|(_, cost)| *cost != 0.0) {
            let (op, at) = ((mark >> 32) as usize, mark as u32 as usize);
            if pass.awaken(op) {
                pass.grads[at] += cost;
            }
        }
        let mut level = u8::MAX;
        for &i in &*order {
            let i = i as usize;
            if !pass.reach.live[i] {
                continue;
            }
            if pass.reach.levels[i] < level {
                level = pass.reach.levels[i];
                let read = |p, rows| match kept(copies, &pass.of, p, w, rows) {
                    Some(copy) => Backwards::Kept(copy),
                    None => Backwards::InPlace(Weights::Single(p.of(w))),
                };
                pass.deferred.settle(read, values, pass.grads, pass.panel);
            }
            ops[i].walk_back(i, &mut pass);
        }
    }
}

impl Op {
    /// Adds the gradients of what operation `i` depends on.
    fn walk_back(&self, i: usize, pass: &mut Backward<'_>) {
        match self {
            Op::Leaf => {}
            Op::Param(p) => {
                for row in 0..p.rows {
                    pass.note_lookup(*p, row, (pass.inflows[i].0 + row * p.cols) as usize);
                }
            }
            Op::Activation(op) => op.backward(pass),
            Op::Affine(op) => op.backward(pass),
            Op::Attention(op) => op.backward(pass),
            Op::Concat(op) => op.backward(pass),
            Op::Embedding(op) => op.backward(pass),
            Op::Gated(op) => op.backward(pass),
            Op::MultiHead(kept) => pass.heads[*kept as usize].backward(pass),
            Op::Norm(op) => op.backward(pass),
            Op::Rows(op) => op.backward(pass),
            Op::Scale(op) => op.backward(pass),
            Op::Scores(op) => op.backward(pass),
            Op::Lstm(op) => op.backward(pass),
            Op::LstmLayer(op) => op.backward(pass),
            Op::Mix(op) => op.backward(pass),
            Op::LogSoftmax(op) => op.backward(pass),
            Op::Dropout(op) => op.backward(pass),
            Op::Sum(op) => op.backward(pass),
            Op::Custom(op) => op.backward(pass),
        }
    }

    /// Whether a parameter of this operation moves.
    pub(crate) fn has_moving(&self, inputs: &[Input], of: &Of<'_>) -> bool {
        let is = |p: Param| of.moves(p);
        match self {
            Op::Param(p) => is(*p) && !of.is_small(),
            Op::Embedding(op) => is(op.table),
            Op::Affine(op) => op.params(of.is_small()).any(is),
            Op::Norm(op) => op.params(of.is_small()).any(is),
            Op::Scores(op) => op.params().any(is),
            Op::Lstm(op) => op.params(inputs, of.is_small()).any(is),
            Op::LstmLayer(op) => is(op.w_h),
            Op::Attention(op) => is(op.v),
            Op::Leaf
            | Op::Activation(_)
            | Op::Gated(_)
            | Op::MultiHead(_)
            | Op::Scale(_)
            | Op::Mix(_)
            | Op::Concat(_)
            | Op::Sum(_)
            | Op::Rows(_)
            | Op::LogSoftmax(_)
            | Op::Dropout(_)
            | Op::Custom(_) => false,
        }
    }

    /// Calls `show` for every matrix this operation depends on.
    pub(crate) fn each_input(&self, refers: Refers<'_>, mut show: impl FnMut(Var)) {
        match self {
            Op::Leaf | Op::Param(_) | Op::Embedding(_) => {}
            Op::Activation(op) => show(op.x),
            Op::Affine(op) => op.inputs().for_each(show),
            Op::Gated(op) => show(op.x),
            Op::MultiHead(kept) => refers.heads[*kept as usize].inputs().for_each(show),
            Op::Norm(op) => show(op.x),
            Op::Scale(op) => show(op.x),
            Op::Scores(op) => show(op.x),
            Op::Lstm(op) => op.each_input(refers.inputs, show),
            Op::LstmLayer(op) => show(op.x),
            Op::Attention(op) => op.inputs().for_each(show),
            Op::Mix(op) => op.seen.inputs().for_each(show),
            Op::Concat(op) => op.parts().iter().copied().for_each(show),
            Op::Sum(op) => op.terms.into_iter().for_each(show),
            Op::Rows(op) => show(op.x),
            Op::LogSoftmax(op) => show(op.x),
            Op::Dropout(op) => show(op.x),
            Op::Custom(op) => op.inputs().iter().copied().for_each(show),
        }
    }
}

/// The transposed copy of `p`, if it has one and does not move.
fn kept<'a>(
    copies: Option<&'a Copies>,
    of: &Of<'_>,
    p: Param,
    w: &[f32],
    rows: usize,
) -> Option<&'a Transposed> {
    copies.filter(|_| !of.moves(p))?.of(p, w, rows)
}

/// What operations refer to by an index.
#[derive(Clone, Copy)]
pub(crate) struct Refers<'a> {
    pub(crate) inputs: &'a [Input],
    heads: &'a [MultiHead],
}

/// A backward pass in progress: what an operation may read and write.
pub(crate) struct Backward<'a> {
    pub(crate) w: &'a [f32],
    copies: Option<&'a Copies>,
    shifts: Option<&'a Shifts>,
    of: Of<'a>,
    halves: &'a Halves,
    pub(crate) values: &'a [f32],
    pub(crate) grads: &'a mut [f32],
    inflows: &'a [(u32, u32)],
    pub(crate) indices: &'a [u32],
    pub(crate) inputs: &'a [Input],
    heads: &'a [MultiHead],
    owners: &'a [Owners],
    pub(crate) panel: &'a mut Panel,
    reach: &'a mut Reach,
    uses: &'a mut Uses,
    deferred: &'a mut Deferred,
    /// The rows of a product that have a gradient.
    live: &'a mut Rows,
}

/// From this many rows on, deferring an operation gains nothing.
const MANY: u32 = 16;

impl<'a> Backward<'a> {
    /// `p` as the backward pass of a product with `rows` rows reads it: as the product did.
    pub(crate) fn transposed(&self, p: Param, rows: usize) -> Backwards<'a> {
        match kept(self.copies, &self.of, p, self.w, rows) {
            Some(copy) => Backwards::Kept(copy),
            None => Backwards::InPlace(self.halves.again(p, self.w, rows)),
        }
    }

    /// Whether `p` moves.
    pub(crate) fn moves(&self, p: Param) -> bool {
        self.of.moves(p)
    }

    /// What the owner of row `i` of `y` adds to the vector `p`.
    pub(crate) fn shift(&self, p: Param, y: Var, i: usize) -> Option<&'a [f32]> {
        let shifts = self.shifts.filter(|_| !y.op.is_shared())?;
        shifts.of(p, self.owners[y.op.index()].of(i, self.indices))
    }

    /// Whether only per-input vectors move.
    pub(crate) fn is_small(&self) -> bool {
        self.of.is_small()
    }

    /// Zeroes the gradient of operation `i` on first use. Returns false if nothing needs it.
    fn awaken(&mut self, i: usize) -> bool {
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

    /// Whether `v` needs a gradient; if so, it is ready to accumulate into.
    pub(crate) fn wants(&mut self, v: Var) -> bool {
        self.awaken(v.op.index())
    }

    /// The gradients before `at`, to accumulate into, and from `at` on, to read: inputs precede
    /// outputs.
    pub(crate) fn split(&mut self, at: usize) -> (&mut [f32], &mut [f32]) {
        self.grads.split_at_mut(at)
    }

    /// Backward of `y = x · M`: `dx += dy · Mᵀ` and `dM += xᵀ · dy`, now or deferred. Rows without
    /// any gradient, such as those of abandoned hypotheses, are left out.
    pub(crate) fn through_product(&mut self, x: Var, m: Matrix, y: Var) {
        self.live.clear();
        for i in 0..y.rows as usize {
            let dy_at = y.row_at(i);
            // A single row is walked because it has a gradient.
            if y.rows == 1 || !kernels::is_zero(&self.grads[dy_at..][..y.cols as usize]) {
                self.live.push((x.row_at(i) as u32, dy_at as u32));
            }
        }
        if self.wants(x) {
            match self.can_wait(x, y) {
                true => self.deferred.input(m, self.live),
                false => self.add_to_input(x, m, y),
            }
        }
        match m {
            Matrix::Param(_) if self.is_small() => {}
            Matrix::Param(w) => self.uses.products[w.id as usize].extend_from_slice(self.live),
            Matrix::Var(m) if self.wants(m) => match self.can_wait(m, y) {
                true => self.deferred.matrix(m, self.live),
                false => self.add_to_matrix(m, y),
            },
            Matrix::Var(_) => {}
        }
    }

    /// Whether the gradient of `x` can wait until the whole level of `y` has been walked.
    fn can_wait(&self, x: Var, y: Var) -> bool {
        let levels = &self.reach.levels;
        // Inputs in a shared lane need a summation order that does not depend on the number of
        // rows.
        let is_short = y.rows < MANY || self.is_small();
        is_short && levels[x.op.index()] < levels[y.op.index()]
    }

    /// `dx += dy · Mᵀ`, in the live rows.
    fn add_to_input(&mut self, x: Var, m: Matrix, y: Var) {
        let (k, n, n_live) = (x.cols as usize, y.cols as usize, self.live.len());
        let weights = match m {
            Matrix::Param(w) => self.transposed(w, y.rows as usize),
            Matrix::Var(m) => Backwards::InPlace(Weights::Single(&self.values[m.range()])),
        };
        if n_live == 0 {
            return;
        }
        if n_live < y.rows as usize {
            return self.deferred.add_now(weights, (k, n), self.live, self.grads, self.panel);
        }
        let (before, dy) = self.grads.split_at_mut(y.at as usize);
        let (dx, dy) = (&mut before[x.range()], &dy[..y.rows as usize * n]);
        weights.add_product(dx, dy, (k, n), self.panel);
    }

    /// `dM += xᵀ · dy`, over the live rows.
    fn add_to_matrix(&mut self, m: Var, y: Var) {
        let (k, n) = (m.rows as usize, y.cols as usize);
        let (before, dys) = self.grads.split_at_mut(y.at as usize);
        for &(x_at, dy_at) in &*self.live {
            let x = &self.values[x_at as usize..][..k];
            let dy = &dys[dy_at as usize - y.at as usize..][..n];
            for (&x, dm) in x.iter().zip(before[m.range()].chunks_exact_mut(n)) {
                kernels::add_scaled(dm, x, dy);
            }
        }
    }

    /// Adds the gradient of every row of `y` to that of the bias.
    pub(crate) fn note_bias(&mut self, b: Param, y: Var) {
        if let Of::Vectors { of, sums } = &mut self.of {
            let Some(at) = of.at(b) else { return };
            let owners = self.owners[y.op.index()];
            for i in 0..y.rows as usize {
                let sum = owners.of(i, self.indices) * of.len() + at;
                let dy = &self.grads[y.row_at(i)..][..y.cols as usize];
                kernels::add_to(&mut sums[sum..][..y.cols as usize], dy);
            }
            return;
        }
        for i in 0..y.rows as usize {
            self.note_lookup(b, 0, y.row_at(i));
        }
    }

    /// Records one row of `y = x · W` for the gradient of `W`, by its offsets in values and
    /// gradients.
    pub(crate) fn note_use(&mut self, w: Param, x_at: usize, dy_at: usize) {
        if self.is_small() {
            return; // matrices do not move
        }
        self.uses.products[w.id as usize].push((x_at as u32, dy_at as u32));
    }

    /// Records one row of `y = x · Wᵀ` for the gradient of `W`.
    pub(crate) fn note_transposed_use(&mut self, w: Param, x_at: usize, dy_at: usize) {
        if self.is_small() {
            return; // matrices do not move
        }
        self.uses.transposed[w.id as usize].push((dy_at as u32, x_at as u32));
    }

    /// Records that the gradient of row `row` of `table` is at `dy_at`.
    pub(crate) fn note_lookup(&mut self, table: Param, row: u32, dy_at: usize) {
        if self.is_small() {
            return; // nor do tables
        }
        self.uses.lookups[table.id as usize].push((row, dy_at as u32));
    }
}
