//! Activations of feed-forward layers: each writes its value and its slope, which share most of the
//! work, so that the backward pass is one multiplication.

use super::activation::{exp_with, flush, tanh_with};
use super::{Arithmetic, widest};

widest! {
    /// `y ← max(x, 0)`.
    pub fn relu(x: &[f32], y: &mut [f32], slope: &mut [f32]) = relu_body
}

#[inline(always)]
fn relu_body<A: Arithmetic>(x: &[f32], y: &mut [f32], slope: &mut [f32]) {
    each(x, y, slope, |x| if 0.0 < x { (x, 1.0) } else { (0.0, 0.0) });
}

widest! {
    /// `y ← x Φ(x)`, with `Φ` the normal distribution function.
    pub fn gelu(x: &[f32], y: &mut [f32], slope: &mut [f32]) = gelu_body
}

#[inline(always)]
fn gelu_body<A: Arithmetic>(x: &[f32], y: &mut [f32], slope: &mut [f32]) {
    each(x, y, slope, |x| {
        // Abramowitz and Stegun 7.1.26, to 1.5e-7; its exponential is also the density's.
        let t = 1.0 / A::mul_add(0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2, x.abs(), 1.0);
        let poly = A::mul_add(1.061_405_4, t, -1.453_152_1);
        let poly = A::mul_add(poly, t, 1.421_413_8);
        let poly = A::mul_add(poly, t, -0.284_496_72);
        let poly = A::mul_add(poly, t, 0.254_829_6) * t;
        let bell = exp_with::<A>(-0.5 * x * x);
        let tail = 0.5 * poly * bell; // 1 − Φ(|x|)
        let below = if x < 0.0 { tail } else { 1.0 - tail };
        (flush(x * below), flush(A::mul_add(x * 0.398_942_3, bell, below)))
    });
}

widest! {
    /// `y ← x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))`: GELU as T5 and GPT-2 approximate it.
    pub fn gelu_tanh(x: &[f32], y: &mut [f32], slope: &mut [f32]) = gelu_tanh_body
}

#[inline(always)]
fn gelu_tanh_body<A: Arithmetic>(x: &[f32], y: &mut [f32], slope: &mut [f32]) {
    const ROOT: f32 = 0.797_884_6;
    const CUBE: f32 = 0.044_715;
    each(x, y, slope, |x| {
        let square = x * x;
        let t = tanh_with::<A>(ROOT * x * A::mul_add(CUBE, square, 1.0));
        let half = A::mul_add(0.5, t, 0.5);
        let inner = ROOT * A::mul_add(3.0 * CUBE, square, 1.0);
        (flush(x * half), flush(A::mul_add(0.5 * x * inner, A::mul_add(-t, t, 1.0), half)))
    });
}

widest! {
    /// `y ← x / (1 + e⁻ˣ)`.
    pub fn silu(x: &[f32], y: &mut [f32], slope: &mut [f32]) = silu_body
}

#[inline(always)]
fn silu_body<A: Arithmetic>(x: &[f32], y: &mut [f32], slope: &mut [f32]) {
    each(x, y, slope, |x| {
        let s = 1.0 / (1.0 + exp_with::<A>(-x));
        (flush(x * s), flush(s * A::mul_add(x, 1.0 - s, 1.0)))
    });
}

#[inline(always)]
fn each(x: &[f32], y: &mut [f32], slope: &mut [f32], f: impl Fn(f32) -> (f32, f32)) {
    let n = x.len();
    assert!(y.len() == n && slope.len() == n);
    for j in 0..n {
        (y[j], slope[j]) = f(x[j]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `erf x` by its Taylor series in f64.
    fn erf(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    /// Compares values with `want` and slopes with its central differences.
    fn check(f: fn(&[f32], &mut [f32], &mut [f32]), want: fn(f64) -> f64) {
        let x: Vec<f32> = (-400..=400).map(|i| i as f32 * 0.012_5 + 0.001).collect();
        let (mut y, mut slope) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        f(&x, &mut y, &mut slope);
        for ((x, y), slope) in x.iter().map(|x| f64::from(*x)).zip(y).zip(slope) {
            let d = (want(x + 1e-5) - want(x - 1e-5)) / 2e-5;
            assert!((f64::from(y) - want(x)).abs() < 1e-6, "at {x}: {y} is not {}", want(x));
            assert!((f64::from(slope) - d).abs() < 2e-6, "slope at {x}: {slope} is not {d}");
        }
    }

    #[test]
    fn activations_agree_with_their_definitions() {
        check(relu, |x| x.max(0.0));
        check(gelu, |x| 0.5 * x * (1.0 + erf(x / 2f64.sqrt())));
        check(silu, |x| x / (1.0 + (-x).exp()));
        check(gelu_tanh, |x| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        });
    }

    #[test]
    fn far_from_zero_activations_are_linear_or_nothing() {
        for f in [relu, gelu, gelu_tanh, silu] {
            let (mut y, mut slope) = ([0.0; 2], [0.0; 2]);
            f(&[1e10, -1e10], &mut y, &mut slope);
            assert_eq!((y, slope), ([1e10, 0.0], [1.0, 0.0]));
        }
    }
}
