//! Inner loops of multi-head attention: copies between rows and heads, and the softmax's backward.
//!
//! A head of a sequence is a small matrix `(T, d)`. Rows of activations hold all heads side by side,
//! so heads are gathered before their products and scattered after them.

use super::activation::flush;
use super::attention::dot_with;
use super::{Arithmetic, widest};

widest! {
    /// `head (T, d) ← factor · rows`, the `d` columns at `from` of `T` rows of `cols` columns.
    pub fn gather_head(head: &mut [f32], rows: &[f32], cols: usize, from: usize, size: usize, factor: f32)
        = gather_head_body
}

#[inline(always)]
fn gather_head_body<A: Arithmetic>(
    head: &mut [f32],
    rows: &[f32],
    cols: usize,
    from: usize,
    size: usize,
    factor: f32,
) {
    for (head, row) in head.chunks_exact_mut(size).zip(rows.chunks_exact(cols)) {
        for (head, &x) in head.iter_mut().zip(&row[from..from + size]) {
            *head = factor * x;
        }
    }
}

widest! {
    /// The columns at `from` of `rows` `+= factor · head (T, d)`.
    pub fn scatter_head(rows: &mut [f32], head: &[f32], cols: usize, from: usize, size: usize, factor: f32)
        = scatter_head_body
}

#[inline(always)]
fn scatter_head_body<A: Arithmetic>(
    rows: &mut [f32],
    head: &[f32],
    cols: usize,
    from: usize,
    size: usize,
    factor: f32,
) {
    for (head, row) in head.chunks_exact(size).zip(rows.chunks_exact_mut(cols)) {
        for (&head, x) in head.iter().zip(&mut row[from..from + size]) {
            *x = A::mul_add(factor, head, *x);
        }
    }
}

widest! {
    /// Backward pass of a softmax, in place: `d ← p ∘ (d − p · d)`.
    pub fn softmax_backward(p: &[f32], d: &mut [f32]) = softmax_backward_body
}

#[inline(always)]
fn softmax_backward_body<A: Arithmetic>(p: &[f32], d: &mut [f32]) {
    let n = d.len();
    assert!(p.len() == n);
    let mean = dot_with::<A>(p, d);
    for j in 0..n {
        d[j] = flush(p[j] * (d[j] - mean));
    }
}

/// `b (N, M) ← aᵀ` for `a (M, N)`, in blocks that fit the inner cache.
pub fn transpose(a: &[f32], b: &mut [f32], n: usize) {
    const BLOCK: usize = 16;
    let m = a.len() / n;
    assert!(a.len() == m * n && b.len() == a.len());
    for i0 in (0..m).step_by(BLOCK) {
        for j0 in (0..n).step_by(BLOCK) {
            for i in i0..(i0 + BLOCK).min(m) {
                for j in j0..(j0 + BLOCK).min(n) {
                    b[j * m + i] = a[i * n + j];
                }
            }
        }
    }
}
