//! Inner loops of additive attention, over all positions of one input.

use super::activation::{exp_with, flush, fold, tanh_with};
use super::{Arithmetic, LANES, WIDE, multiversion, prefetch, widest};

widest! {
    /// `score_s = v · tanh(q + key_s)` for every position `s` of an input, whose keys start `stride`
    /// floats apart. `squashed` is scratch. All vectors have width `A`.
    pub fn additive_scores(
        q: &[f32],
        keys: &[f32],
        stride: usize,
        v: &[f32],
        squashed: &mut [f32],
        scores: &mut [f32],
    ) = additive_scores_body
}

#[inline(always)]
fn additive_scores_body<A: Arithmetic>(
    q: &[f32],
    keys: &[f32],
    stride: usize,
    v: &[f32],
    squashed: &mut [f32],
    scores: &mut [f32],
) {
    let n = q.len();
    assert!(v.len() == n && squashed.len() == n);
    for (s, score) in scores.iter_mut().enumerate() {
        let key = &keys[s * stride..][..n];
        for j in 0..n {
            squashed[j] = v[j] * tanh_with::<A>(q[j] + key[j]);
        }
        *score = fold(squashed, 0.0, |a, b| a + b);
    }
}

widest! {
    /// Backward pass of [`additive_scores`], given `q` and `v`, and keys with their stride:
    /// accumulates the gradients of `q` and `v`, and of keys, which have a stride of their own.
    pub fn additive_scores_backward(
        query: (&[f32], &[f32]),
        keys: (&[f32], usize),
        dscores: &[f32],
        dquery: (&mut [f32], &mut [f32]),
        dkeys: (&mut [f32], usize),
    ) = additive_scores_backward_body
}

#[inline(always)]
fn additive_scores_backward_body<A: Arithmetic>(
    (q, v): (&[f32], &[f32]),
    (keys, stride): (&[f32], usize),
    dscores: &[f32],
    (dq, dv): (&mut [f32], &mut [f32]),
    (dkeys, dstride): (&mut [f32], usize),
) {
    let n = q.len();
    assert!(v.len() == n && dq.len() == n && dv.len() == n);
    for (s, &dscore) in dscores.iter().enumerate() {
        let (key, dkey) = (&keys[s * stride..][..n], &mut dkeys[s * dstride..][..n]);
        let dscore = flush(dscore);
        for j in 0..n {
            let squashed = tanh_with::<A>(q[j] + key[j]);
            let d = flush(dscore * v[j] * A::mul_add(-squashed, squashed, 1.0));
            dq[j] += d;
            dkey[j] += d;
            dv[j] = A::mul_add(dscore, squashed, dv[j]);
        }
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

/// Weights over the values of one input.
#[derive(Clone, Copy)]
pub struct Mixture<'a> {
    /// `α (R, S)`, rows `positions` floats apart.
    pub weights: &'a [f32],
    /// The distance between rows of weights.
    pub positions: usize,
    /// `S`.
    pub length: usize,
    /// `(S, M)`, rows `stride` floats apart.
    pub values: &'a [f32],
    /// The distance between values.
    pub stride: usize,
}

widest! {
    /// `Y (R, M) += α · values`, for rows that attend to the same input.
    pub fn add_mixed(y: &mut [f32], rows: usize, of: Mixture<'_>) = add_mixed_body
}

/// Rows of `Y` that share what is read of the values.
const ABREAST: usize = 4;

#[inline(always)]
fn add_mixed_body<A: Arithmetic>(y: &mut [f32], rows: usize, of: Mixture<'_>) {
    let m = y.len() / rows.max(1);
    assert!(y.len() == rows * m, "{} floats are not {rows} rows", y.len());
    let mut weights = of.weights;
    for y in y.chunks_mut(ABREAST * m) {
        let mixture = Mixture { weights, ..of };
        match y.len() / m {
            ABREAST => mix_rows::<A, ABREAST>(y, &mixture),
            3 => mix_rows::<A, 3>(y, &mixture),
            2 => mix_rows::<A, 2>(y, &mixture),
            _ => mix_rows::<A, 1>(y, &mixture),
        }
        weights = weights.get(ABREAST * of.positions..).unwrap_or_default();
    }
}

#[inline(always)]
fn mix_rows<A: Arithmetic, const R: usize>(y: &mut [f32], of: &Mixture<'_>) {
    let m = y.len() / R;
    let j = if A::IS_WIDE { mix_strips::<A, R, 4>(y, of, 0) } else { 0 };
    let j = mix_strips::<A, R, 1>(y, of, j);
    for (r, y) in y.chunks_exact_mut(m).enumerate() {
        for s in 0..of.length {
            let weight = of.weights[r * of.positions + s];
            for (y, &value) in y[j..].iter_mut().zip(&of.values[s * of.stride + j..]) {
                *y = A::mul_add(weight, value, *y);
            }
        }
    }
}

/// Columns from `j` on, `16 V` at a time. Returns the first column not done.
#[inline(always)]
fn mix_strips<A: Arithmetic, const R: usize, const V: usize>(
    y: &mut [f32],
    of: &Mixture<'_>,
    mut j: usize,
) -> usize {
    let m = y.len() / R;
    let weights: [&[f32]; R] =
        std::array::from_fn(|r| &of.weights[r * of.positions..][..of.length]);
    while j + V * WIDE <= m {
        let mut sums = [[A::splat_wide(0.0); V]; R];
        for r in 0..R {
            let y = y[r * m + j..][..V * WIDE].as_chunks::<WIDE>().0;
            for v in 0..V {
                sums[r][v] = A::load_wide(&y[v]);
            }
        }
        for s in 0..of.length {
            let at = s * of.stride + j;
            let values = of.values[at..][..V * WIDE].as_chunks::<WIDE>().0;
            for v in 0..V {
                // The values of many inputs fit no inner cache.
                prefetch(of.values, at + (V + v) * WIDE);
                let value = A::load_wide(&values[v]);
                for r in 0..R {
                    sums[r][v] = A::mul_add_wide(A::splat_wide(weights[r][s]), value, sums[r][v]);
                }
            }
        }
        for r in 0..R {
            let y = y[r * m + j..][..V * WIDE].as_chunks_mut::<WIDE>().0;
            for v in 0..V {
                A::store_wide(sums[r][v], &mut y[v]);
            }
        }
        j += V * WIDE;
    }
    j
}

multiversion! {
    /// Backward pass of [`add_mixed`] for the weights: `dα_s += dy · value_s`.
    pub fn add_dots(dweights: &mut [f32], dy: &[f32], values: &[f32], stride: usize) = add_dots_body
}

#[inline(always)]
fn add_dots_body<A: Arithmetic>(dweights: &mut [f32], dy: &[f32], values: &[f32], stride: usize) {
    for (s, dweight) in dweights.iter_mut().enumerate() {
        *dweight += dot_with::<A>(dy, &values[s * stride..][..dy.len()]);
    }
}

multiversion! {
    /// Backward pass of [`add_mixed`] for the values: `dvalue_s += α_s · dy`.
    pub fn add_shares(dvalues: &mut [f32], stride: usize, weights: &[f32], dy: &[f32])
        = add_shares_body
}

#[inline(always)]
fn add_shares_body<A: Arithmetic>(dvalues: &mut [f32], stride: usize, weights: &[f32], dy: &[f32]) {
    for (s, &weight) in weights.iter().enumerate() {
        add_scaled_body::<A>(&mut dvalues[s * stride..][..dy.len()], weight, dy);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use cajole_core::random::Random;

    fn draw(random: &mut Random, len: usize) -> Vec<f32> {
        (0..len).map(|_| random.uniform(-1.0, 1.0)).collect()
    }

    /// Every number of rows and odd widths, with values of other inputs in between.
    #[test]
    fn mixing_rows_together_gives_the_bits_of_a_row_alone() {
        let random = &mut Random::new(3);
        for (rows, m, length, n_inputs) in [(1, 512, 26, 3), (5, 75, 9, 2), (7, 130, 1, 4)] {
            let (positions, stride) = (length + 2, n_inputs * m);
            let weights = draw(random, rows * positions);
            let values = draw(random, length * stride);
            let of = Mixture { weights: &weights, positions, length, values: &values, stride };
            let before = draw(random, rows * m);
            let mut together = before.clone();
            add_mixed(&mut together, rows, of);
            for (r, (y, together)) in before.chunks(m).zip(together.chunks(m)).enumerate() {
                let weights = &weights[r * positions..][..length];
                let mut alone = y.to_vec();
                add_mixed(&mut alone, 1, Mixture { weights, ..of });
                assert_eq!(alone, together, "row {r} of {rows}");
                for j in 0..m {
                    let terms = (0..length)
                        .map(|s| f64::from(weights[s]) * f64::from(values[s * stride + j]));
                    let exact = f64::from(y[j]) + terms.sum::<f64>();
                    assert!((f64::from(alone[j]) - exact).abs() < 1e-4, "column {j} of row {r}");
                }
            }
        }
    }
}
