//! Products of activations and weights.
//!
//! Weights are read in place, without packing. One, two and four rows, as a single input or a beam
//! needs, have separate kernels, because in one function they would compete for registers. So does
//! a matrix too narrow to fill a vector. A single row streams a matrix that exceeds the inner
//! caches in memory order. Many rows are handled in `many.rs`.
//!
//! Accumulators live in arrays that are indexed only by constants once the loops are unrolled, so
//! the compiler keeps them in registers. Iterating over them or slicing them spills them to the
//! stack, at a tenth of the speed.

use super::many::{add_many_product, add_many_transposed};
use super::{Arithmetic, LANES, WIDE, multiversion, widest};

/// Scratch for partial sums and for gathered rows.
#[derive(Clone, Debug, Default)]
pub struct Panel(Vec<f32>);

impl Panel {
    /// Scratch pre-filled with NaN, to show that its contents do not matter.
    #[cfg(test)]
    pub(super) fn of_anything(len: usize) -> Self {
        Panel(vec![f32::NAN; len])
    }

    /// Two buffers of these lengths, with unspecified contents.
    pub(super) fn two(&mut self, a: usize, b: usize) -> (&mut [f32], &mut [f32]) {
        if self.0.len() < a + b {
            self.0.resize(a + b, 0.0);
        }
        self.0[..a + b].split_at_mut(a)
    }
}

/// `Y += X · W` with `Y (B, N)`, `X (B, K)`, `W (K, N)`; `B` follows from the slices.
pub fn add_product(y: &mut [f32], x: &[f32], w: &[f32], k: usize, n: usize) {
    let b = rows_of(x, k);
    assert!(x.len() == b * k && y.len() == b * n && w.len() == k * n, "mismatched product shapes");
    if MANY <= b && WIDE <= n {
        return add_many_product(y, x, w, b);
    }
    for (i, rows) in fours(b) {
        let (y, x) = (&mut y[i * n..(i + rows) * n], &x[i * k..(i + rows) * k]);
        match rows {
            4 => add_four_product(y, x, w),
            2 => add_two_product(y, x, w),
            _ if LARGE <= w.len() => add_streamed_product(y, x, w),
            _ => add_row_product(y, x, w),
        }
    }
}

/// From this many rows on, a weight is reused often enough to block over the matrix. Five are one
/// tile of it, and would otherwise read the matrix twice.
const MANY: usize = 5;

/// A matrix of this many weights exceeds the inner caches and is better streamed in memory order.
const LARGE: usize = 1 << 17;

multiversion! {
    /// `y (N) += x (K) · W (K, N)`, streaming `W` in memory order.
    fn add_streamed_product(y: &mut [f32], x: &[f32], w: &[f32]) = add_streamed_product_body
}

#[inline(always)]
fn add_streamed_product_body<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32]) {
    let n = y.len();
    let (fours, rest) = x.as_chunks::<4>();
    let (blocks, last) = w.split_at(fours.len() * 4 * n);
    for (x, block) in fours.iter().zip(blocks.chunks_exact(4 * n)) {
        let rows: [&[f32]; 4] = std::array::from_fn(|r| &block[r * n..(r + 1) * n]);
        for j in 0..n {
            let mut sum = y[j];
            for r in 0..4 {
                sum = A::mul_add(x[r], rows[r][j], sum);
            }
            y[j] = sum;
        }
    }
    for (&x, row) in rest.iter().zip(last.chunks_exact(n)) {
        for j in 0..n {
            y[j] = A::mul_add(x, row[j], y[j]);
        }
    }
}

/// Number of rows of `cols` columns in `m`. A single row, the usual case, avoids the division.
fn rows_of(m: &[f32], cols: usize) -> usize {
    if m.len() == cols { 1 } else { m.len() / cols }
}

/// Splits `b` rows into fours, then a two and a one, as `(start, rows)`.
fn fours(b: usize) -> impl Iterator<Item = (usize, usize)> {
    let (fours, twos) = (b - b % 4, b - b % 2);
    let two = (fours < twos).then_some((fours, 2));
    let one = (twos < b).then_some((twos, 1));
    (0..fours).step_by(4).map(|i| (i, 4)).chain(two).chain(one)
}

widest! {
    /// `y (N) += x (K) · W (K, N)`.
    fn add_row_product(y: &mut [f32], x: &[f32], w: &[f32]) = add_row_product_body
}

#[inline(always)]
fn add_row_product_body<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32]) {
    let j = match A::IS_WIDE {
        true => add_wide_strips::<A, 8>(y, x, w, 0),
        false => 0,
    };
    let j = add_wide_strips::<A, 4>(y, x, w, j);
    let j = add_strips::<A, 1, 4, LANES>(y, x, w, j);
    let j = add_strips::<A, 1, 1, LANES>(y, x, w, j);
    let j = add_strips::<A, 1, 1, 4>(y, x, w, j);
    add_strips::<A, 1, 1, 1>(y, x, w, j);
}

/// `y[j..] += x · W[.., j..]`, in strips of `16 V` columns. Returns the first column not done.
#[inline(always)]
fn add_wide_strips<A: Arithmetic, const V: usize>(
    y: &mut [f32],
    x: &[f32],
    w: &[f32],
    mut j: usize,
) -> usize {
    let n = y.len();
    while j + V * WIDE <= n {
        let y = y[j..][..V * WIDE].as_chunks_mut().0;
        let mut sums = [A::splat_wide(0.0); V];
        for v in 0..V {
            sums[v] = A::load_wide(&y[v]);
        }
        for (kk, &x) in x.iter().enumerate() {
            let (x, row) = (A::splat_wide(x), w[kk * n + j..][..V * WIDE].as_chunks().0);
            for v in 0..V {
                sums[v] = A::mul_add_wide(x, A::load_wide(&row[v]), sums[v]);
            }
        }
        for v in 0..V {
            A::store_wide(sums[v], &mut y[v]);
        }
        j += V * WIDE;
    }
    j
}

multiversion! {
    /// `Y (2, N) += X (2, K) · W (K, N)`.
    fn add_two_product(y: &mut [f32], x: &[f32], w: &[f32]) = add_two_product_body
}

#[inline(always)]
fn add_two_product_body<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32]) {
    let j = add_strips::<A, 2, 2, LANES>(y, x, w, 0);
    let j = add_strips::<A, 2, 1, LANES>(y, x, w, j);
    let j = add_strips::<A, 2, 1, 4>(y, x, w, j);
    add_strips::<A, 2, 1, 1>(y, x, w, j);
}

multiversion! {
    /// `Y (4, N) += X (4, K) · W (K, N)`.
    fn add_four_product(y: &mut [f32], x: &[f32], w: &[f32]) = add_four_product_body
}

#[inline(always)]
fn add_four_product_body<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32]) {
    let j = add_strips::<A, 4, 2, LANES>(y, x, w, 0);
    let j = add_strips::<A, 4, 1, LANES>(y, x, w, j);
    let j = add_strips::<A, 4, 1, 4>(y, x, w, j);
    add_strips::<A, 4, 1, 1>(y, x, w, j);
}

/// `Y[.., j..] += X · W[.., j..]` for `B` rows, in strips of `V` vectors of `L` columns. Returns
/// the first column not done.
///
/// Eight accumulators hide the FMA latency. They stay in registers along the strip: in memory, each
/// FMA would wait for the previous store.
#[inline(always)]
fn add_strips<A: Arithmetic, const B: usize, const V: usize, const L: usize>(
    y: &mut [f32],
    x: &[f32],
    w: &[f32],
    mut j: usize,
) -> usize {
    let (k, n) = (x.len() / B, y.len() / B);
    let x: [&[f32]; B] = std::array::from_fn(|b| &x[b * k..(b + 1) * k]);
    while j + V * L <= n {
        let mut sums = [[[0.0; L]; V]; B];
        for b in 0..B {
            sums[b].copy_from_slice(y[b * n + j..][..V * L].as_chunks().0);
        }
        for kk in 0..k {
            let row = w[kk * n + j..][..V * L].as_chunks::<L>().0;
            for b in 0..B {
                for v in 0..V {
                    for l in 0..L {
                        sums[b][v][l] = A::mul_add(x[b][kk], row[v][l], sums[b][v][l]);
                    }
                }
            }
        }
        for b in 0..B {
            y[b * n + j..][..V * L].as_chunks_mut().0.copy_from_slice(&sums[b]);
        }
        j += V * L;
    }
    j
}

/// `dX += dY · Wᵀ` with `dX (B, K)`, `dY (B, N)`, `W (K, N)`.
pub fn add_product_transposed(
    dx: &mut [f32],
    dy: &[f32],
    w: &[f32],
    k: usize,
    n: usize,
    panel: &mut Panel,
) {
    let b = rows_of(dy, n);
    assert!(
        dx.len() == b * k && dy.len() == b * n && w.len() == k * n,
        "mismatched product shapes"
    );
    if n < LANES {
        for i in 0..b {
            add_narrow_transposed(&mut dx[i * k..(i + 1) * k], &dy[i * n..(i + 1) * n], w);
        }
        return;
    }
    if 4 <= b {
        return add_many_transposed(dx, dy, w, b, panel);
    }
    for (i, rows) in fours(b) {
        let (dx, dy) = (&mut dx[i * k..(i + rows) * k], &dy[i * n..(i + rows) * n]);
        match rows {
            2 => add_two_transposed(dx, dy, w),
            _ => add_row_transposed(dx, dy, w),
        }
    }
}

multiversion! {
    /// `dx (K) += dy (N) · Wᵀ` with `8 ≤ N`.
    fn add_row_transposed(dx: &mut [f32], dy: &[f32], w: &[f32]) = add_row_transposed_body
}

#[inline(always)]
fn add_row_transposed_body<A: Arithmetic>(dx: &mut [f32], dy: &[f32], w: &[f32]) {
    let (eights, rest) = dx.as_chunks_mut::<LANES>();
    let (mut w, block) = (w, LANES * dy.len());
    for dx in eights {
        let [sums] = row_dots::<A, 1, LANES>([dy], &w[..block]);
        A::add_sums(sums, dx);
        w = &w[block..];
    }
    for dx in rest {
        let [[sum]] = row_dots::<A, 1, 1>([dy], &w[..dy.len()]);
        add_sum::<A>(sum, dx);
        w = &w[dy.len()..];
    }
}

/// Dot products of the rows `dY (B, N)` with the rows of `W (R, N)`, each as a vector of partial
/// sums. With eight of them, all stay in registers.
#[inline(always)]
fn row_dots<A: Arithmetic, const B: usize, const R: usize>(
    dy: [&[f32]; B],
    w: &[f32],
) -> [[A::Vector; R]; B] {
    let n = dy[0].len();
    let (whole, rest) = (n / LANES, n % LANES);
    let dys: [&[[f32; LANES]]; B] = std::array::from_fn(|b| &dy[b].as_chunks().0[..whole]);
    let rows: [&[f32]; R] = std::array::from_fn(|r| &w[r * n..(r + 1) * n]);
    let chunks: [&[[f32; LANES]]; R] = std::array::from_fn(|r| &rows[r].as_chunks().0[..whole]);
    let mut sums = [[A::splat(0.0); R]; B];
    for i in 0..whole {
        for b in 0..B {
            let dy = A::load(&dys[b][i]);
            for r in 0..R {
                sums[b][r] = A::mul_add_each(dy, A::load(&chunks[r][i]), sums[b][r]);
            }
        }
    }
    if 0 < rest {
        for b in 0..B {
            // The tail columns as a full vector, with zeros in the lanes already counted.
            let mut last = [0.0; LANES];
            last[LANES - rest..].copy_from_slice(&dy[b][n - rest..]);
            let last = A::load(&last);
            for r in 0..R {
                let row = rows[r].last_chunk().expect("a row has at least eight columns");
                sums[b][r] = A::mul_add_each(last, A::load(row), sums[b][r]);
            }
        }
    }
    sums
}

/// `to += Σ_l vector_l`, in the order of [`Arithmetic::add_sums`].
#[inline(always)]
pub(super) fn add_sum<A: Arithmetic>(vector: A::Vector, to: &mut f32) {
    let mut lanes = [0.0; LANES];
    A::store(vector, &mut lanes);
    let [a, b, c, d] = std::array::from_fn(|l| lanes[l] + lanes[l + LANES / 2]);
    *to += (a + b) + (c + d);
}

multiversion! {
    /// `dX (2, K) += dY (2, N) · Wᵀ` with `8 ≤ N`.
    fn add_two_transposed(dx: &mut [f32], dy: &[f32], w: &[f32]) = add_two_transposed_body
}

#[inline(always)]
fn add_two_transposed_body<A: Arithmetic>(dx: &mut [f32], dy: &[f32], w: &[f32]) {
    let (k, n) = (dx.len() / 2, dy.len() / 2);
    let (first, second) = dx.split_at_mut(k);
    let dy: [&[f32]; 2] = [&dy[..n], &dy[n..]];
    let mut kk = 0;
    while kk + 4 <= k {
        let [[a, b, c, d], [e, f, g, h]] = row_dots::<A, 2, 4>(dy, &w[kk * n..(kk + 4) * n]);
        let mut sums = [0.0; LANES];
        A::add_sums([a, b, c, d, e, f, g, h], &mut sums);
        for r in 0..4 {
            first[kk + r] += sums[r];
            second[kk + r] += sums[4 + r];
        }
        kk += 4;
    }
    for kk in kk..k {
        let [[a], [b]] = row_dots::<A, 2, 1>(dy, &w[kk * n..(kk + 1) * n]);
        add_sum::<A>(a, &mut first[kk]);
        add_sum::<A>(b, &mut second[kk]);
    }
}

/// `dx_i += Σ_l lanes_i,l` with `lanes (K, 8)`, in the order of [`Arithmetic::add_sums`].
#[inline(always)]
pub(super) fn add_lanes<A: Arithmetic>(dx: &mut [f32], lanes: &[[f32; LANES]]) {
    let (eights, rest) = dx.as_chunks_mut::<LANES>();
    let (blocks, last) = lanes.as_chunks::<LANES>();
    for (dx, block) in eights.iter_mut().zip(blocks) {
        let mut sums = [A::splat(0.0); LANES];
        for r in 0..LANES {
            sums[r] = A::load(&block[r]);
        }
        A::add_sums(sums, dx);
    }
    for (dx, lanes) in rest.iter_mut().zip(last) {
        add_sum::<A>(A::load(lanes), dx);
    }
}

multiversion! {
    /// `dx (K) += dy (N) · Wᵀ` with `N < 8`.
    fn add_narrow_transposed(dx: &mut [f32], dy: &[f32], w: &[f32]) = add_narrow_transposed_body
}

#[inline(always)]
fn add_narrow_transposed_body<A: Arithmetic>(dx: &mut [f32], dy: &[f32], w: &[f32]) {
    match dy.len() {
        1 => add_narrow_dots::<A, 1>(dx, dy, w),
        2 => add_narrow_dots::<A, 2>(dx, dy, w),
        3 => add_narrow_dots::<A, 3>(dx, dy, w),
        4 => add_narrow_dots::<A, 4>(dx, dy, w),
        5 => add_narrow_dots::<A, 5>(dx, dy, w),
        6 => add_narrow_dots::<A, 6>(dx, dy, w),
        7 => add_narrow_dots::<A, 7>(dx, dy, w),
        n => unreachable!("{n} columns are not a narrow matrix"),
    }
}

/// `N` is a compile-time constant, so the compiler vectorises over rows of `W`.
#[inline(always)]
fn add_narrow_dots<A: Arithmetic, const N: usize>(dx: &mut [f32], dy: &[f32], w: &[f32]) {
    let dy: [f32; N] = std::array::from_fn(|j| dy[j]);
    for (dx, row) in dx.iter_mut().zip(w.as_chunks::<N>().0) {
        for j in 0..N {
            *dx = A::mul_add(dy[j], row[j], *dx);
        }
    }
}

multiversion! {
    /// `y += x`, elementwise.
    pub fn add_to(y: &mut [f32], x: &[f32]) = add_to_body
}

#[inline(always)]
fn add_to_body<A: Arithmetic>(y: &mut [f32], x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += x;
    }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
