//! The backward pass: from blamed log-probabilities to the gradient of every weight that moves.
//!
//! Four things make it cheap on small recurrent networks, where general frameworks spend most of
//! their time:
//! - operations are coarse: a whole LSTM step is one entry of the recording;
//! - a product with a parameter only notes where its input and its output's gradient lie, and
//!   each parameter's gradient is one matrix product over all of its uses at the end;
//! - only operations that a marked log-probability depends on, and that depend on a parameter that
//!   moves, are walked: dead beams and frozen encoders cost nothing;
//! - levels of a network that do not depend on each other step by step are walked one after the
//!   other, so that what every step of one hands down to the next is handed down at once.

use cajole_core::Aligned;
use cajole_core::gradient::Gradient;
use cajole_core::model::Mark;

use crate::deferred::{Deferred, Matrix};
use crate::halves::{Halves, Weights};
use crate::kernels::{self, Panel};
use crate::layers::lstm::Input;
use crate::layout::{Layout, Param};
use crate::products;
use crate::tape::{Op, Tape, Var};

/// What backward passes need besides a recording, kept from one to the next.
#[derive(Default)]
pub(crate) struct WayBack {
    grads: Aligned,
    panel: Panel,
    reach: Reach,
    /// All operations, in the order they are walked.
    order: Vec<u32>,
    uses: Uses,
    deferred: Deferred,
}

/// Which operations the backward pass has to walk, and when.
#[derive(Default)]
struct Reach {
    /// Depends on a parameter that moves.
    needed: Vec<bool>,
    /// Something marked depends on it; its gradient has been cleared.
    live: Vec<bool>,
    /// At least that of everything it depends on.
    levels: Vec<u8>,
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
    /// `∇ ← ∂/∂w Σ cost · value at mark`, for every parameter of `layout` that moves.
    pub fn backward(
        &mut self,
        w: &[f32],
        layout: &Layout,
        blame: &[(Mark, f32)],
        grad: &mut Gradient,
    ) {
        let len = self.len();
        let Tape { values, ops, levels, inflows, indices, inputs, halves, way_back, .. } = self;
        let WayBack { grads, panel, reach, order, uses, deferred } = way_back;
        if grads.len() < len {
            grads.resize(len);
        }
        uses.clear(layout.entries().len());
        reach.begin(ops, levels, inputs, layout, grad);
        reach.sort(order);
        let mut pass = Backward {
            w,
            halves,
            values,
            grads,
            inflows,
            indices,
            inputs,
            panel,
            reach,
            uses,
            deferred,
        };
        for &(Mark(mark), cost) in blame {
            let (op, at) = ((mark >> 32) as u32, mark as u32 as usize);
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
                pass.deferred.settle(w, values, pass.grads, pass.panel);
            }
            match &ops[i] {
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

impl Op {
    /// Whether it has a parameter of which this holds.
    fn has_param(&self, inputs: &[Input], is: impl Fn(Param) -> bool) -> bool {
        match self {
            Op::Param(p) => is(*p),
            Op::Embedding(op) => is(op.table),
            Op::Affine(op) => op.params().any(is),
            Op::Lstm(op) => op.params(inputs).any(is),
            Op::LstmLayer(op) => is(op.w_h),
            Op::Attention(op) => is(op.v),
            Op::Leaf
            | Op::Mix(_)
            | Op::Concat(_)
            | Op::Sum(_)
            | Op::Rows(_)
            | Op::LogSoftmax(_)
            | Op::Dropout(_)
            | Op::Custom(_) => false,
        }
    }

    /// Shows every matrix it depends on.
    fn each_input(&self, inputs: &[Input], mut show: impl FnMut(Var)) {
        match self {
            Op::Leaf | Op::Param(_) | Op::Embedding(_) => {}
            Op::Affine(op) => op.inputs().for_each(show),
            Op::Lstm(op) => op.each_input(inputs, show),
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

impl Reach {
    /// One sweep forward: an operation is needed if a moving parameter or a needed input feeds it.
    fn begin(
        &mut self,
        ops: &[Op],
        declared: &[u8],
        inputs: &[Input],
        layout: &Layout,
        grad: &Gradient,
    ) {
        let Reach { needed, live, levels } = self;
        live.clear();
        live.resize(ops.len(), false);
        needed.clear();
        levels.clear();
        let moves = |p: Param| grad.moves(&layout.entries()[p.id as usize].param.range());
        for (op, &declared) in ops.iter().zip(declared) {
            let (mut is_needed, mut level) = (op.has_param(inputs, moves), declared);
            op.each_input(inputs, |v| {
                is_needed |= needed[v.op as usize];
                level = level.max(levels[v.op as usize]);
            });
            needed.push(is_needed);
            levels.push(level);
        }
    }

    /// Operations by level, the highest first, and in each the last first. So all that depends on an
    /// operation comes before it.
    fn sort(&self, order: &mut Vec<u32>) {
        let mut ends = [0; 1 << u8::BITS];
        self.levels.iter().for_each(|level| ends[*level as usize] += 1);
        let mut before = 0;
        for end in ends.iter_mut().rev() {
            before += *end;
            *end = before;
        }
        order.clear();
        order.resize(self.levels.len(), 0);
        for (i, level) in self.levels.iter().enumerate() {
            ends[*level as usize] -= 1;
            order[ends[*level as usize]] = i as u32;
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
    pub(crate) inputs: &'a [Input],
    pub(crate) panel: &'a mut Panel,
    reach: &'a mut Reach,
    uses: &'a mut Uses,
    deferred: &'a mut Deferred,
}

/// An operation with as many rows gains nothing from waiting for others.
const MANY: u32 = 16;

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

    /// Back through `y = x · M`: `dx += dy · Mᵀ` and `dM += xᵀ · dy`, at once or when there is more
    /// of the kind.
    pub(crate) fn through_product(&mut self, x: Var, m: Matrix, y: Var) {
        if self.wants(x) {
            match self.can_wait(x, y) {
                true => self.rows(x, y, |deferred, at, dy_at| deferred.input(m, at, dy_at)),
                false => self.add_to_input(x, m, y),
            }
        }
        match m {
            Matrix::Param(w) => {
                for i in 0..y.rows as usize {
                    self.note_use(w, x.row_at(i), y.row_at(i));
                }
            }
            Matrix::Var(m) if self.wants(m) => match self.can_wait(m, y) {
                true => self.rows(x, y, |deferred, at, dy_at| deferred.matrix(m, at, dy_at)),
                false => self.add_to_matrix(x, m, y),
            },
            Matrix::Var(_) => {}
        }
    }

    /// Whether the gradient of `x` can wait until all that is on the level of `y` has been walked.
    fn can_wait(&self, x: Var, y: Var) -> bool {
        let levels = &self.reach.levels;
        y.rows < MANY && levels[x.op as usize] < levels[y.op as usize]
    }

    /// Lets each row wait: where `x` starts, and where `dy` does.
    fn rows(&mut self, x: Var, y: Var, mut wait: impl FnMut(&mut Deferred, usize, usize)) {
        for i in 0..y.rows as usize {
            wait(self.deferred, x.row_at(i), y.row_at(i));
        }
    }

    /// `dx += dy · Mᵀ`.
    fn add_to_input(&mut self, x: Var, m: Matrix, y: Var) {
        let (k, n) = (x.cols as usize, y.cols as usize);
        let weights = match m {
            Matrix::Param(w) => self.weights(w, y.rows as usize),
            Matrix::Var(m) => Weights::Single(&self.values[m.range()]),
        };
        let (before, dy) = self.grads.split_at_mut(y.at as usize);
        let (dx, dy) = (&mut before[x.range()], &dy[..y.rows as usize * n]);
        weights.add_product_transposed(dx, dy, k, n, self.panel);
    }

    /// `dM += xᵀ · dy`.
    fn add_to_matrix(&mut self, x: Var, m: Var, y: Var) {
        let (k, n) = (x.cols as usize, y.cols as usize);
        let (before, dy) = self.grads.split_at_mut(y.at as usize);
        for (i, dy) in dy[..y.rows as usize * n].chunks_exact(n).enumerate() {
            let x = &self.values[x.row_at(i)..][..k];
            for (&x, dm) in x.iter().zip(before[m.range()].chunks_exact_mut(n)) {
                kernels::add_scaled(dm, x, dy);
            }
        }
    }

    /// Notes that the gradient of a bias is that of every row of `y`.
    pub(crate) fn note_bias(&mut self, b: Param, y: Var) {
        for i in 0..y.rows as usize {
            self.note_lookup(b, 0, y.row_at(i));
        }
    }

    /// Notes one row of `y = x · W`, by where it starts in the values and in the gradients, for the
    /// gradient of `W`.
    pub(crate) fn note_use(&mut self, w: Param, x_at: usize, dy_at: usize) {
        self.uses.products[w.id as usize].push((x_at as u32, dy_at as u32));
    }

    /// Notes that the gradient of row `row` of `table` lies at `dy_at`.
    pub(crate) fn note_lookup(&mut self, table: Param, row: u32, dy_at: usize) {
        self.uses.lookups[table.id as usize].push((row, dy_at as u32));
    }
}
