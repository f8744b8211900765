//! Inner loops of layer norm and RMS norm, one row at a time.

use super::activation::{flush, fold};
use super::attention::dot_with;
use super::{Arithmetic, widest};

widest! {
    /// `out ← (x − m) / √(mean (x − m)² + ε)` with `m = mean x`, or 0 unless `is_centred`. Writes the
    /// factor `1 / √…` to `rate`.
    pub fn normalise(x: &[f32], epsilon: f32, is_centred: bool, out: &mut [f32], rate: &mut f32)
        = normalise_body
}

#[inline(always)]
fn normalise_body<A: Arithmetic>(
    x: &[f32],
    epsilon: f32,
    is_centred: bool,
    out: &mut [f32],
    rate: &mut f32,
) {
    let n = x.len();
    assert!(out.len() == n);
    let mean = if is_centred { fold(x, 0.0, |a, b| a + b) / n as f32 } else { 0.0 };
    for j in 0..n {
        out[j] = x[j] - mean;
    }
    let variance = dot_with::<A>(out, out) / n as f32;
    *rate = 1.0 / (variance + epsilon).sqrt();
    for j in 0..n {
        out[j] = flush(out[j] * *rate);
    }
}

widest! {
    /// Backward pass of [`normalise`]: given the normalised row, `dout` and the rate, `dx += rate
    /// (dout − mean dout − x̂ · mean (dout ∘ x̂))`; the second term only if `is_centred`.
    pub fn normalise_backward(
        normal: &[f32],
        dout: &[f32],
        rate: f32,
        is_centred: bool,
        dx: &mut [f32],
    ) = normalise_backward_body
}

#[inline(always)]
fn normalise_backward_body<A: Arithmetic>(
    normal: &[f32],
    dout: &[f32],
    rate: f32,
    is_centred: bool,
    dx: &mut [f32],
) {
    let n = normal.len();
    assert!(dout.len() == n && dx.len() == n);
    let mean = if is_centred { fold(dout, 0.0, |a, b| a + b) / n as f32 } else { 0.0 };
    let along = dot_with::<A>(dout, normal) / n as f32;
    for j in 0..n {
        dx[j] += flush(rate * A::mul_add(-along, normal[j], dout[j] - mean));
    }
}

widest! {
    /// `y ← a ∘ b`.
    pub fn times(y: &mut [f32], a: &[f32], b: &[f32]) = times_body
}

#[inline(always)]
fn times_body<A: Arithmetic>(y: &mut [f32], a: &[f32], b: &[f32]) {
    let n = y.len();
    assert!(a.len() == n && b.len() == n);
    for j in 0..n {
        y[j] = flush(a[j] * b[j]);
    }
}

widest! {
    /// `y += a ∘ b`.
    pub fn add_times(y: &mut [f32], a: &[f32], b: &[f32]) = add_times_body
}

#[inline(always)]
fn add_times_body<A: Arithmetic>(y: &mut [f32], a: &[f32], b: &[f32]) {
    let n = y.len();
    assert!(a.len() == n && b.len() == n);
    for j in 0..n {
        y[j] += flush(a[j] * b[j]);
    }
}
