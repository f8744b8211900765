//! Inner loops of additive attention, one key at a time.

use super::activation::{exp_with, flush, fold, tanh_with};
use super::{Arithmetic, LANES, multiversion, widest};

widest! {
    /// `score = v · tanh(q + key)`; `squashed` is scratch. All vectors have width `A`.
    pub fn additive_score(q: &[f32], key: &[f32], v: &[f32], squashed: &mut [f32], score: &mut f32)
        = additive_score_body
}

#[inline(always)]
fn additive_score_body<A: Arithmetic>(
    q: &[f32],
    key: &[f32],
    v: &[f32],
    squashed: &mut [f32],
    score: &mut f32,
) {
    let n = q.len();
    assert!(key.len() == n && v.len() == n && squashed.len() == n);
    for j in 0..n {
        squashed[j] = v[j] * tanh_with::<A>(q[j] + key[j]);
    }
    *score = fold(squashed, 0.0, |a, b| a + b);
}

widest! {
    /// Backward pass of [`additive_score`]: accumulates the gradients of query, key and `v`.
    pub fn additive_score_backward(
        q: &[f32],
        key: &[f32],
        v: &[f32],
        dscore: f32,
        dq: &mut [f32],
        dkey: &mut [f32],
        dv: &mut [f32],
    ) = additive_score_backward_body
}

#[inline(always)]
fn additive_score_backward_body<A: Arithmetic>(
    q: &[f32],
    key: &[f32],
    v: &[f32],
    dscore: f32,
    dq: &mut [f32],
    dkey: &mut [f32],
    dv: &mut [f32],
) {
    let n = q.len();
    assert!(key.len() == n && v.len() == n && dq.len() == n && dkey.len() == n && dv.len() == n);
    let dscore = flush(dscore);
    for j in 0..n {
        let squashed = tanh_with::<A>(q[j] + key[j]);
        let d = flush(dscore * v[j] * A::mul_add(-squashed, squashed, 1.0));
        dq[j] += d;
        dkey[j] += d;
        dv[j] = A::mul_add(dscore, squashed, dv[j]);
    }
}

multiversion! {
    /// `x ← e^x / Σ e^x`.
    pub fn softmax(x: &mut [f32]) = softmax_body
}

#[inline(always)]
fn softmax_body<A: Arithmetic>(x: &mut [f32]) {
    let max = fold(x, f32::NEG_INFINITY, |a, b| if a < b { b } else { a });
    x.iter_mut().for_each(|x| *x = exp_with::<A>(*x - max));
    let scale = 1.0 / fold(x, 0.0, |a, b| a + b);
    x.iter_mut().for_each(|x| *x = flush(*x * scale));
}

multiversion! {
    /// `y += factor · x`.
    pub fn add_scaled(y: &mut [f32], factor: f32, x: &[f32]) = add_scaled_body
}

#[inline(always)]
fn add_scaled_body<A: Arithmetic>(y: &mut [f32], factor: f32, x: &[f32]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = A::mul_add(factor, x, *y);
    }
}

/// `x · y`.
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut sum = 0.0;
    dot_into(x, y, &mut sum);
    sum
}

multiversion! {
    fn dot_into(x: &[f32], y: &[f32], sum: &mut f32) = dot_body
}

#[inline(always)]
fn dot_body<A: Arithmetic>(x: &[f32], y: &[f32], sum: &mut f32) {
    *sum = dot_with::<A>(x, y);
}

/// `x · y`, within another kernel.
#[inline(always)]
pub(super) fn dot_with<A: Arithmetic>(x: &[f32], y: &[f32]) -> f32 {
    assert!(x.len() == y.len());
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ys, y_rest) = y.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for (x, y) in xs.iter().zip(ys) {
        for l in 0..LANES {
            lanes[l] = A::mul_add(x[l], y[l], lanes[l]);
        }
    }
    x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum::<f32>() + lanes.iter().sum::<f32>()
}
