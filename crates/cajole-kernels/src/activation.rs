//! Sigmoid, tanh, LSTM gates and softmax.

use super::{Arithmetic, LANES, multiversion, widest};

/// `eˣ` to about 1e-7, branch-free: 2ⁿ from the exponent bits, the rest from a polynomial.
///
/// Arguments are clamped to the range with a normal result; NaN stays NaN.
#[inline(always)]
pub(crate) fn exp_with<A: Arithmetic>(x: f32) -> f32 {
    /// Adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts, so that subtracting n·ln 2 loses no precision.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = A::mul_add(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = A::mul_add(n, -LN2_LOW, A::mul_add(n, -LN2_HIGH, x));
    // Horner in r² over pairs of terms halves the dependency chain, which an LSTM step waits for
    // twice.
    let r2 = r * r;
    let high = A::mul_add(1.987_569_1e-4, r, 1.398_199_9e-3);
    let middle = A::mul_add(8.333_452e-3, r, 4.166_579_6e-2);
    let low = A::mul_add(1.666_666_5e-1, r, 0.5);
    let p = A::mul_add(A::mul_add(high, r2, middle), r2, low);
    let e = A::mul_add(p, r2, r) + 1.0;
    f32::from_bits(e.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// Smaller magnitudes are flushed to zero. The product of two values that are kept is a normal float.
const TINY: f32 = 1e-18;

/// `x`, or zero if it is tiny.
///
/// Arithmetic on subnormal floats can take a hundred times as long. They arise where gates shut,
/// attention ignores a position or gradients vanish, and would spread from there through every
/// product. Flushing them here gives the same values on every processor; its own flush-to-zero mode
/// is not used, because compiled Rust assumes the default mode.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    if x.abs() < TINY { 0.0 } else { x }
}

#[inline(always)]
fn sigmoid_with<A: Arithmetic>(x: f32) -> f32 {
    flush(1.0 / (1.0 + exp_with::<A>(-x)))
}

#[inline(always)]
pub(crate) fn tanh_with<A: Arithmetic>(x: f32) -> f32 {
    1.0 - 2.0 / (1.0 + exp_with::<A>(2.0 * x))
}

multiversion! {
    /// `v ← 1 / (1 + e⁻ᵛ)`, for custom operations.
    pub fn sigmoid(v: &mut [f32]) = sigmoid_body
}

#[inline(always)]
fn sigmoid_body<A: Arithmetic>(v: &mut [f32]) {
    v.iter_mut().for_each(|v| *v = sigmoid_with::<A>(*v));
}

multiversion! {
    /// `v ← tanh v`, for custom operations.
    pub fn tanh(v: &mut [f32]) = tanh_body
}

#[inline(always)]
fn tanh_body<A: Arithmetic>(v: &mut [f32]) {
    v.iter_mut().for_each(|v| *v = tanh_with::<A>(*v));
}

widest! {
    /// One LSTM step of one row, from gate pre-activations to the new state.
    ///
    /// Applies the activations to `gates (4·H)`, in the order `i, f, g, o`, in place. Writes the
    /// cell `c = f ∘ c_prev + i ∘ g`, `tanh c`, which the backward pass needs, and the hidden state
    /// `h = o ∘ tanh c`, each `(H)`.
    pub fn lstm(
        gates: &mut [f32],
        c_prev: &[f32],
        c: &mut [f32],
        tanh_c: &mut [f32],
        h: &mut [f32],
    ) = lstm_body
}

#[inline(always)]
fn lstm_body<A: Arithmetic>(
    gates: &mut [f32],
    c_prev: &[f32],
    c: &mut [f32],
    tanh_c: &mut [f32],
    h: &mut [f32],
) {
    let n = h.len();
    assert!(gates.len() == 4 * n && c_prev.len() == n && c.len() == n && tanh_c.len() == n);
    let (sigmoids, rest) = gates.split_at_mut(2 * n);
    let (g, o) = rest.split_at_mut(n);
    tanh_body::<A>(g);
    sigmoid_body::<A>(sigmoids);
    let (i, f) = sigmoids.split_at(n);
    for j in 0..n {
        c[j] = flush(A::mul_add(f[j], c_prev[j], i[j] * g[j]));
        tanh_c[j] = tanh_with::<A>(c[j]);
    }
    // The output gate comes last, so that it overlaps with tanh c.
    sigmoid_body::<A>(o);
    for j in 0..n {
        h[j] = flush(o[j] * tanh_c[j]);
    }
}

widest! {
    /// Backward pass of [`lstm`]: from `dh` and `dc` to the gate pre-activations and the previous
    /// cell.
    ///
    /// `dc` is the gradient reaching the cell from later steps; `dc_prev` is accumulated into.
    pub fn lstm_backward(
        gates: &[f32],
        c_prev: &[f32],
        tanh_c: &[f32],
        dh: &[f32],
        dc: &[f32],
        dgates: &mut [f32],
        dc_prev: &mut [f32],
    ) = lstm_backward_body
}

#[inline(always)]
fn lstm_backward_body<A: Arithmetic>(
    gates: &[f32],
    c_prev: &[f32],
    tanh_c: &[f32],
    dh: &[f32],
    dc: &[f32],
    dgates: &mut [f32],
    dc_prev: &mut [f32],
) {
    let n = dh.len();
    assert!(gates.len() == 4 * n && dgates.len() == 4 * n);
    assert!(c_prev.len() == n && tanh_c.len() == n && dc.len() == n && dc_prev.len() == n);
    let [i, f, g, o] = quarters(gates, n);
    let (di, rest) = dgates.split_at_mut(n);
    let (df, rest) = rest.split_at_mut(n);
    let (dg, d_o) = rest.split_at_mut(n);
    for j in 0..n {
        let dc_total = A::mul_add(dh[j] * o[j], 1.0 - tanh_c[j] * tanh_c[j], dc[j]);
        di[j] = flush(dc_total * g[j] * i[j] * (1.0 - i[j]));
        df[j] = flush(dc_total * c_prev[j] * f[j] * (1.0 - f[j]));
        dg[j] = flush(dc_total * i[j] * (1.0 - g[j] * g[j]));
        d_o[j] = flush(dh[j] * tanh_c[j] * o[j] * (1.0 - o[j]));
        dc_prev[j] = flush(A::mul_add(dc_total, f[j], dc_prev[j]));
    }
}

widest! {
    /// One step of an LSTM with a highway connection, for one row: [`lstm`] with a fifth gate `t`.
    ///
    /// Applies the activations to `gates (5·H)`, in the order `i, f, g, o, t`, in place. The hidden
    /// state is `h = t ∘ o ∘ tanh c + (1 − t) ∘ k`, with `k (H)` a linear function of the input.
    pub fn highway(
        gates: &mut [f32],
        k: &[f32],
        c_prev: &[f32],
        c: &mut [f32],
        tanh_c: &mut [f32],
        h: &mut [f32],
    ) = highway_body
}

#[inline(always)]
fn highway_body<A: Arithmetic>(
    gates: &mut [f32],
    k: &[f32],
    c_prev: &[f32],
    c: &mut [f32],
    tanh_c: &mut [f32],
    h: &mut [f32],
) {
    let n = h.len();
    assert!(gates.len() == 5 * n && k.len() == n);
    let (lstm, t) = gates.split_at_mut(4 * n);
    lstm_body::<A>(lstm, c_prev, c, tanh_c, h);
    sigmoid_body::<A>(t);
    for j in 0..n {
        h[j] = flush(A::mul_add(t[j], h[j] - k[j], k[j]));
    }
}

widest! {
    /// Backward pass of [`highway`], given the saved `k`, `c_prev` and `tanh c` and the gradients
    /// `dh` and `dc`. Accumulates into `dk` and `dc_prev`.
    pub fn highway_backward(
        gates: &[f32],
        state: (&[f32], &[f32], &[f32]),
        arriving: (&[f32], &[f32]),
        dgates: &mut [f32],
        dk: &mut [f32],
        dc_prev: &mut [f32],
    ) = highway_backward_body
}

#[inline(always)]
fn highway_backward_body<A: Arithmetic>(
    gates: &[f32],
    (k, c_prev, tanh_c): (&[f32], &[f32], &[f32]),
    (dh, dc): (&[f32], &[f32]),
    dgates: &mut [f32],
    dk: &mut [f32],
    dc_prev: &mut [f32],
) {
    let n = dh.len();
    assert!(gates.len() == 5 * n && dgates.len() == 5 * n && k.len() == n && dk.len() == n);
    let (lstm, t) = gates.split_at(4 * n);
    let (dlstm, dt) = dgates.split_at_mut(4 * n);
    // The gradient of o ∘ tanh c, kept in dt until the real dt overwrites it.
    for j in 0..n {
        dt[j] = flush(dh[j] * t[j]);
    }
    lstm_backward_body::<A>(lstm, c_prev, tanh_c, dt, dc, dlstm, dc_prev);
    let o = &lstm[3 * n..];
    for j in 0..n {
        dt[j] = flush(dh[j] * A::mul_add(o[j], tanh_c[j], -k[j]) * t[j] * (1.0 - t[j]));
        dk[j] = flush(A::mul_add(dh[j], 1.0 - t[j], dk[j]));
    }
}

#[inline(always)]
fn quarters(gates: &[f32], n: usize) -> [&[f32]; 4] {
    std::array::from_fn(|q| &gates[q * n..(q + 1) * n])
}

multiversion! {
    /// `out ← x − log Σ eˣ` for one row.
    pub fn log_softmax(x: &[f32], out: &mut [f32]) = log_softmax_body
}

#[inline(always)]
fn log_softmax_body<A: Arithmetic>(x: &[f32], out: &mut [f32]) {
    assert!(x.len() == out.len());
    let max = fold(x, f32::NEG_INFINITY, |a, b| if a < b { b } else { a });
    for (out, &x) in out.iter_mut().zip(x) {
        *out = exp_with::<A>(x - max);
    }
    let log_sum = fold(out, 0.0, |a, b| a + b).ln();
    for (out, &x) in out.iter_mut().zip(x) {
        *out = (x - max) - log_sum;
    }
}

/// Folds `x` with eight accumulators, since a single one would be a serial dependency chain.
#[inline(always)]
pub(crate) fn fold(x: &[f32], start: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = f(lanes[l], chunk[l]);
        }
    }
    let lanes: &[f32] = if chunks.is_empty() { &[] } else { &lanes };
    rest.iter().chain(lanes).fold(start, |a, &b| f(a, b))
}

multiversion! {
    /// Backward pass of [`log_softmax`]: `dx += dout − p Σ dout`, with `p = e^out`.
    pub fn log_softmax_backward(out: &[f32], dout: &[f32], dx: &mut [f32])
        = log_softmax_backward_body
}

#[inline(always)]
fn log_softmax_backward_body<A: Arithmetic>(out: &[f32], dout: &[f32], dx: &mut [f32]) {
    assert!(out.len() == dout.len() && out.len() == dx.len());
    let total = flush(fold(dout, 0.0, |a, b| a + b));
    for j in 0..out.len() {
        dx[j] += flush(A::mul_add(-total, exp_with::<A>(out[j]), dout[j]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fused, Plain};

    /// Steps through [-limit, limit] and compares with the standard library in f64.
    fn check(limit: f32, fast: fn(f32) -> f32, exact: fn(f64) -> f64, relative: bool) {
        let mut x = -limit;
        while x < limit {
            let want = exact(f64::from(x));
            let error = (f64::from(fast(x)) - want).abs();
            let error = if relative { error / want.abs() } else { error };
            assert!(error < 3e-7, "at {x}: {} is not {want}", fast(x));
            x += 0.003_7;
        }
    }

    #[test]
    fn activations_agree_with_the_standard_library() {
        check(80.0, exp_with::<Fused>, f64::exp, true);
        check(80.0, exp_with::<Plain>, f64::exp, true);
        check(40.0, sigmoid_with::<Fused>, |x| 1.0 / (1.0 + (-x).exp()), false);
        check(40.0, tanh_with::<Plain>, f64::tanh, false);
    }

    /// The gates of one unit with all pre-activations `x`: σ for all but the third, which is tanh.
    fn gates<A: Arithmetic>(x: f32) -> [f32; 4] {
        let mut gates = [x; 4];
        lstm_body::<A>(&mut gates, &[0.5], &mut [0.0], &mut [0.0], &mut [0.0]);
        gates
    }

    #[test]
    fn gates_agree_with_the_standard_library_and_saturate() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        check(40.0, |x| gates::<Fused>(x)[0], sigmoid, false);
        check(40.0, |x| gates::<Plain>(x)[3], sigmoid, false);
        check(40.0, |x| gates::<Fused>(x)[2], f64::tanh, false);
        for far in [1e30, f32::INFINITY] {
            assert_eq!(gates::<Fused>(far), [1.0; 4]);
            let [i, f, g, o] = gates::<Fused>(-far);
            assert!(g == -1.0 && [i, f, o].iter().all(|&shut| shut < 1e-16));
        }
        assert!(gates::<Fused>(f32::NAN).iter().all(|gate| gate.is_nan()));
    }

    #[test]
    fn extremes_saturate_and_nan_survives() {
        assert_eq!(sigmoid_with::<Fused>(1e30), 1.0);
        assert!(sigmoid_with::<Fused>(-1e30) < 1e-30);
        assert_eq!(tanh_with::<Fused>(f32::INFINITY), 1.0);
        assert_eq!(tanh_with::<Fused>(f32::NEG_INFINITY), -1.0);
        assert!(tanh_with::<Fused>(f32::NAN).is_nan());
    }

    #[test]
    fn a_softmax_sums_to_one() {
        let x = [3.0, -1.0, 0.5, 100.0, 99.0, 2.0, 2.0, 2.0, -50.0];
        let mut out = [0.0; 9];
        log_softmax(&x, &mut out);
        let sum: f32 = out.iter().map(|p| p.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        assert!((out[3] - (-0.313_261_7)).abs() < 1e-6, "log σ(1) is -0.3132617, got {}", out[3]);
    }
}
