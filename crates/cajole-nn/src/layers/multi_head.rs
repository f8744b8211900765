//! Multi-head attention (Vaswani et al. 2017) over sequences of a batch.
//!
//! ```text
//! α = softmax(scale · q · kᵀ + bias)     (Tq, Tk), per head
//! y = α · v                              (Tq, d)
//! ```
//!
//! Rows of all sequences lie one after another without padding; a [`Span`] says which queries attend
//! to which keys. Each head of a span is gathered into a small matrix, so that all of its work is
//! matrix products. Heads are independent of each other and of other spans, so a sequence gets the
//! same bits alone and in a batch.
//!
//! With a causal mask, query `i` of `Tq` sees the keys up to `i + Tk − Tq`. Weights of keys that it
//! does not see are zero and add nothing, so a query gets the same bits whether later keys exist.
//!
//! `H` heads of size `d`.

use std::ops::Range;

use crate::backward::Backward;
use crate::kernels::{self, Panel};
use crate::layers::positions::Buckets;
use crate::tape::{Graph, Op, Tape, Var};

/// The size of the heads, and what they see.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// `H`.
    pub n: usize,
    /// `d`.
    pub size: usize,
    /// The factor of the products of queries and keys.
    pub scale: f32,
    /// Whether a query sees only keys up to its own position.
    pub is_causal: bool,
}

impl Heads {
    /// `H d`.
    pub fn width(&self) -> usize {
        self.n * self.size
    }
}

/// Columns of a matrix, from `from` on.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The matrix.
    pub of: Var,
    /// The first column.
    pub from: usize,
}

/// Queries, keys and values, each of `H d` columns.
#[derive(Clone, Copy, Debug)]
pub struct Sources {
    /// `(Σ Tq, …)`.
    pub q: Columns,
    /// `(Σ Tk, …)`.
    pub k: Columns,
    /// `(Σ Tk, …)`.
    pub v: Columns,
}

/// Rows of queries, and the rows of keys and values they attend to.
#[derive(Clone, Debug)]
pub struct Span {
    /// Rows of the matrix of queries.
    pub queries: Range<usize>,
    /// Rows of the matrices of keys and values.
    pub keys: Range<usize>,
}

/// Spans kept on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    at: u32,
    n: u32,
}

impl Spans {
    fn get(self, indices: &[u32], i: usize) -> Span {
        let [q, tq, k, tk] =
            std::array::from_fn(|j| indices[self.at as usize + 4 * i + j] as usize);
        Span { queries: q..q + tq, keys: k..k + tk }
    }

    fn iter(self, indices: &[u32]) -> impl Iterator<Item = Span> {
        (0..self.n as usize).map(move |i| self.get(indices, i))
    }
}

/// A bias for each distance between query and key, and for each head.
#[derive(Clone, Debug)]
pub struct Relative {
    /// `(buckets, H)`.
    pub table: Var,
    /// The row for each distance.
    pub buckets: Buckets,
}

pub(crate) struct MultiHead {
    from: Sources,
    heads: Heads,
    spans: Spans,
    relative: Option<Relative>,
    /// For each span its heads of `q`, `k`, `v` and `α`; then scratch, then `y`.
    at: u32,
    y: Var,
}

/// Offsets of a span's parts, relative to the span's first.
#[derive(Clone, Copy)]
struct Parts {
    tq: usize,
    tk: usize,
    k: usize,
    v: usize,
    weights: usize,
    end: usize,
}

impl Parts {
    fn new(span: &Span, heads: Heads) -> Self {
        let (tq, tk) = (span.queries.len(), span.keys.len());
        let k = tq * heads.width();
        let v = k + tk * heads.width();
        let weights = v + tk * heads.width();
        Parts { tq, tk, k, v, weights, end: weights + heads.n * tq * tk }
    }

    /// Scratch that a head needs: `(Tq, d)` and `(Tk, Tq)`.
    fn spare(&self, heads: Heads) -> usize {
        self.tq * heads.size + self.tq * self.tk
    }
}

/// One head of a span.
pub(crate) struct Head<'a> {
    /// `(Tq, d)`, scaled.
    pub(crate) q: &'a [f32],
    /// `(Tk, d)`.
    pub(crate) k: &'a [f32],
    /// `(Tk, d)`.
    pub(crate) v: &'a [f32],
    /// `d`.
    pub(crate) size: usize,
    pub(crate) is_causal: bool,
}

impl Head<'_> {
    /// `y (Tq, d)` and the weights `(Tq, Tk)`, which hold the bias at first.
    pub(crate) fn attend(&self, weights: &mut [f32], y: &mut [f32], panel: &mut Panel) {
        let (tq, tk) = (self.q.len() / self.size, self.k.len() / self.size);
        kernels::add_product_transposed(weights, self.q, self.k, tk, self.size, panel);
        for (i, weights) in weights.chunks_exact_mut(tk).enumerate() {
            let n_seen = if self.is_causal { i + 1 + tk - tq } else { tk };
            let (seen, hidden) = weights.split_at_mut(n_seen);
            kernels::softmax(seen);
            hidden.fill(0.0);
        }
        y.fill(0.0);
        kernels::add_product(y, weights, self.v, tk, self.size);
    }
}

/// The bias of one head at every pair of a query and a key, with queries from position `first` on.
pub(crate) fn fill_bias(
    weights: &mut [f32],
    tk: usize,
    first: usize,
    bias: Option<(&Buckets, impl Fn(usize) -> f32)>,
) {
    let Some((buckets, of)) = bias else { return weights.fill(0.0) };
    for (i, weights) in weights.chunks_exact_mut(tk).enumerate() {
        for (j, weight) in weights.iter_mut().enumerate() {
            *weight = of(buckets.of(first + i, j));
        }
    }
}

impl Graph<'_> {
    /// Keeps spans on the tape. Every query must be in one.
    pub fn spans(&mut self, spans: impl Iterator<Item = Span>) -> Spans {
        let (at, mut n) = (self.tape.indices.len() as u32, 0);
        for Span { queries, keys } in spans {
            let parts = [queries.start, queries.len(), keys.start, keys.len()];
            self.tape.indices.extend(parts.map(|part| part as u32));
            n += 1;
        }
        Spans { at, n }
    }

    /// `y (Σ Tq, H d)`: what every query sees.
    pub fn multi_head(
        &mut self,
        from: Sources,
        heads: Heads,
        spans: Spans,
        relative: Option<Relative>,
    ) -> Var {
        let (rows, width) = (from.q.of.rows as usize, heads.width());
        let parts = || spans.iter(&self.tape.indices).map(|span| Parts::new(&span, heads));
        let kept: usize = parts().map(|parts| parts.end).sum();
        let spare = parts().map(|parts| parts.spare(heads)).max().unwrap_or(0);
        let at = self.tape.open(kept + spare + rows * width);
        let y_at = at + kept + spare;
        let Tape { values, indices, way_back, .. } = &mut *self.tape;
        let (before, own) = values.split_at_mut(at);
        let (mut own, rest) = own.split_at_mut(kept);
        let (spare, y) = rest.split_at_mut(spare);
        y[..rows * width].fill(0.0);
        for span in spans.iter(indices) {
            let parts = Parts::new(&span, heads);
            let (this, others) = own.split_at_mut(parts.end);
            own = others;
            let work = Forward { from, heads, span, parts, relative: relative.as_ref() };
            work.run(before, this, spare, y, &mut way_back.panel);
        }
        let op = self.tape.next_op();
        let y = Var { op, at: y_at as u32, rows: rows as u32, cols: width as u32 };
        let record = MultiHead { from, heads, spans, relative, at: at as u32, y };
        let kept = self.tape.heads.len() as u32;
        self.tape.heads.push(record);
        self.tape.record(Op::MultiHead(kept), y_at);
        y
    }
}

/// The forward pass of one span.
struct Forward<'a> {
    from: Sources,
    heads: Heads,
    span: Span,
    parts: Parts,
    relative: Option<&'a Relative>,
}

impl Forward<'_> {
    fn run(
        &self,
        before: &[f32],
        own: &mut [f32],
        spare: &mut [f32],
        y: &mut [f32],
        panel: &mut Panel,
    ) {
        let Forward { from, heads, ref span, parts, relative } = *self;
        let Parts { tq, tk, .. } = parts;
        if tq == 0 || tk == 0 {
            return;
        }
        let (size, width) = (heads.size, heads.width());
        for h in 0..heads.n {
            let columns = |part: Columns, rows: &Range<usize>, head: &mut [f32], factor: f32| {
                let cols = part.of.cols as usize;
                let rows = &before[part.of.row_at(rows.start)..][..rows.len() * cols];
                kernels::gather_head(head, rows, cols, part.from + h * size, size, factor);
            };
            let (q, others) = own.split_at_mut(parts.k);
            let (k, others) = others.split_at_mut(parts.v - parts.k);
            let (v, weights) = others.split_at_mut(parts.weights - parts.v);
            let q = &mut q[h * tq * size..][..tq * size]; // (Tq, d)
            let k = &mut k[h * tk * size..][..tk * size]; // (Tk, d)
            let v = &mut v[h * tk * size..][..tk * size]; // (Tk, d)
            let weights = &mut weights[h * tq * tk..][..tq * tk]; // (Tq, Tk)
            columns(from.q, &span.queries, q, heads.scale);
            columns(from.k, &span.keys, k, 1.0);
            columns(from.v, &span.keys, v, 1.0);
            let bias = relative.map(|Relative { table, buckets }| {
                (buckets, |bucket: usize| before[table.row_at(bucket) + h])
            });
            fill_bias(weights, tk, 0, bias);
            let out = &mut spare[..tq * size]; // (Tq, d)
            Head { q, k, v, size, is_causal: heads.is_causal }.attend(weights, out, panel);
            let rows = &mut y[span.queries.start * width..span.queries.end * width];
            kernels::scatter_head(rows, out, width, h * size, size, 1.0);
        }
    }
}

impl MultiHead {
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Var> {
        let Sources { q, k, v } = self.from;
        [q.of, k.of, v.of].into_iter().chain(self.relative.as_ref().map(|r| r.table))
    }

    /// With `dα = dy · vᵀ` and `ds = α ∘ (dα − Σ α ∘ dα)`: `dv += αᵀ · dy`, `dq += scale · ds · k`,
    /// `dk += scale · dsᵀ · q`, and `ds` adds to the bias of its distance.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Sources { q, k, v } = self.from;
        let wants = [q, k, v].map(|part| pass.wants(part.of));
        let wants_bias = self.relative.as_ref().is_some_and(|r| pass.wants(r.table));
        let (mut at, indices) = (self.at as usize, pass.indices);
        let kept: usize =
            self.spans.iter(indices).map(|span| Parts::new(&span, self.heads).end).sum();
        let spare = self.at as usize + kept;
        for span in self.spans.iter(indices) {
            let parts = Parts::new(&span, self.heads);
            if 0 < parts.tq && 0 < parts.tk {
                for h in 0..self.heads.n {
                    let back = Back { of: self, span: &span, parts, h, at, spare };
                    back.run(pass, wants, wants_bias);
                }
            }
            at += parts.end;
        }
    }
}

/// The backward pass of one head of one span.
struct Back<'a> {
    of: &'a MultiHead,
    span: &'a Span,
    parts: Parts,
    h: usize,
    /// Offset of the span.
    at: usize,
    /// Offset of the scratch.
    spare: usize,
}

impl Back<'_> {
    fn run(&self, pass: &mut Backward<'_>, wants: [bool; 3], wants_bias: bool) {
        let Back { of, span, parts, h, at, spare } = *self;
        let MultiHead { heads, y, .. } = *of;
        let (Parts { tq, tk, .. }, size, width) = (parts, heads.size, heads.width());
        let values = &pass.values[at..at + parts.end];
        let q = &values[h * tq * size..][..tq * size]; // (Tq, d), scaled
        let k = &values[parts.k + h * tk * size..][..tk * size]; // (Tk, d)
        let v = &values[parts.v + h * tk * size..][..tk * size]; // (Tk, d)
        let weights = &values[parts.weights + h * tq * tk..][..tq * tk]; // (Tq, Tk)
        let panel = &mut *pass.panel;

        let (before, own) = pass.grads.split_at_mut(of.at as usize);
        let (own, dys) = own.split_at_mut(y.at as usize - of.at as usize);
        let (own, spare) = own.split_at_mut(spare - of.at as usize);
        let own = &mut own[at - of.at as usize..][..parts.end];
        let (dhead, own) = own.split_at_mut(parts.weights);
        let dweights = &mut own[h * tq * tk..][..tq * tk]; // (Tq, Tk)
        let (dy, turned) = spare.split_at_mut(tq * size); // (Tq, d)
        let turned = &mut turned[..tq * tk]; // (Tk, Tq)
        let rows = &dys[span.queries.start * width..span.queries.end * width];
        kernels::gather_head(dy, rows, width, h * size, size, 1.0);

        let mut add = |part: Columns, rows: &Range<usize>, head: &[f32], factor: f32| {
            let cols = part.of.cols as usize;
            let rows = &mut before[part.of.row_at(rows.start)..][..rows.len() * cols];
            kernels::scatter_head(rows, head, cols, part.from + h * size, size, factor);
        };
        if wants[2] {
            let dv = &mut dhead[..tk * size]; // (Tk, d)
            dv.fill(0.0);
            kernels::transpose(weights, turned, tk);
            kernels::add_product(dv, turned, dy, tq, size);
            add(of.from.v, &span.keys, dv, 1.0);
        }
        if !(wants[0] || wants[1] || wants_bias) {
            return;
        }
        dweights.fill(0.0);
        kernels::add_product_transposed(dweights, dy, v, tk, size, panel);
        for (weights, dscores) in weights.chunks_exact(tk).zip(dweights.chunks_exact_mut(tk)) {
            kernels::softmax_backward(weights, dscores);
        }
        if wants[0] {
            let dq = &mut dhead[..tq * size]; // (Tq, d)
            dq.fill(0.0);
            kernels::add_product(dq, dweights, k, tk, size);
            add(of.from.q, &span.queries, dq, heads.scale);
        }
        if wants[1] {
            let dk = &mut dhead[..tk * size]; // (Tk, d)
            dk.fill(0.0);
            kernels::transpose(dweights, turned, tk);
            kernels::add_product(dk, turned, q, tq, size); // the scale is in q
            add(of.from.k, &span.keys, dk, 1.0);
        }
        if let Some(relative) = of.relative.as_ref().filter(|_| wants_bias) {
            relative.add_gradient(before, dweights, tk, h);
        }
    }
}

impl Relative {
    /// Adds the gradients `(Tq, Tk)` of the scores of head `h` to those of the table.
    fn add_gradient(&self, grads: &mut [f32], dscores: &[f32], tk: usize, h: usize) {
        for (i, dscores) in dscores.chunks_exact(tk).enumerate() {
            for (j, dscore) in dscores.iter().enumerate() {
                grads[self.table.row_at(self.buckets.of(i, j)) + h] += dscore;
            }
        }
    }
}
