//! Products of activations and weights.

use super::{Arithmetic, LANES, multiversion};

/// Rows of the register tile: 6 × 2 vectors of sums fill twelve of sixteen registers.
const TILE_ROWS: usize = 6;
/// Columns of the register tile.
const TILE_COLS: usize = 2 * LANES;

/// Scratch into which a product copies one strip of a matrix, so that the tile reads it in order.
#[derive(Default)]
pub struct Panel(Vec<f32>);

multiversion! {
    /// `Y += X · W` with `Y (B, N)`, `X (B, K)`, `W (K, N)`; `B` follows from the slices.
    pub fn add_product(y: &mut [f32], x: &[f32], w: &[f32], k: usize, n: usize, panel: &mut Panel)
        = add_product_body
}

#[inline(always)]
fn add_product_body<A: Arithmetic>(
    y: &mut [f32],
    x: &[f32],
    w: &[f32],
    k: usize,
    n: usize,
    panel: &mut Panel,
) {
    let b = x.len() / k;
    assert!(x.len() == b * k && y.len() == b * n && w.len() == k * n, "shapes of a product");
    if b < 4 {
        // Too few rows to repay packing: one matrix-vector product per row.
        for (y, x) in y.chunks_exact_mut(n).zip(x.chunks_exact(k)) {
            let mut j = 0;
            j = add_strips::<A, 8>(y, x, w, j);
            j = add_strips::<A, 4>(y, x, w, j);
            j = add_strips::<A, 1>(y, x, w, j);
            add_columns::<A>(y, x, w, j);
        }
        return;
    }
    let full = n - n % TILE_COLS;
    panel.0.resize(k * TILE_COLS, 0.0);
    for j in (0..full).step_by(TILE_COLS) {
        let (strip, _) = panel.0.as_chunks_mut::<TILE_COLS>();
        for (packed, row) in strip.iter_mut().zip(w.chunks_exact(n)) {
            packed.copy_from_slice(&row[j..j + TILE_COLS]);
        }
        add_strip_product::<A>(y, x, strip, (k, n, j));
    }
    for (y, x) in y.chunks_exact_mut(n).zip(x.chunks_exact(k)) {
        let j = add_strips::<A, 1>(y, x, w, full);
        add_columns::<A>(y, x, w, j);
    }
}

/// `y[j..] += x · W[.., j..]` in strips of `V` vectors; returns the first column not done.
#[inline(always)]
fn add_strips<A: Arithmetic, const V: usize>(
    y: &mut [f32],
    x: &[f32],
    w: &[f32],
    mut j: usize,
) -> usize {
    let n = y.len();
    while j + V * LANES <= n {
        let mut sums = [[0.0; LANES]; V];
        for (sum, y) in sums.iter_mut().zip(y[j..j + V * LANES].as_chunks::<LANES>().0) {
            *sum = *y;
        }
        for (row, &x_k) in w.chunks_exact(n).zip(x) {
            let row = row[j..j + V * LANES].as_chunks::<LANES>().0;
            for v in 0..V {
                for l in 0..LANES {
                    sums[v][l] = A::mul_add(x_k, row[v][l], sums[v][l]);
                }
            }
        }
        y[j..j + V * LANES].as_chunks_mut::<LANES>().0.copy_from_slice(&sums);
        j += V * LANES;
    }
    j
}

/// The last few columns, one at a time.
#[inline(always)]
fn add_columns<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32], j: usize) {
    let n = y.len();
    let rest = &mut y[j..];
    for (row, &x_k) in w.chunks_exact(n).zip(x) {
        for (y, &w) in rest.iter_mut().zip(&row[j..]) {
            *y = A::mul_add(x_k, w, *y);
        }
    }
}

/// `Y[.., j..j+16] += X · strip` for a packed strip `(K, 16)`.
#[inline(always)]
fn add_strip_product<A: Arithmetic>(
    y: &mut [f32],
    x: &[f32],
    strip: &[[f32; TILE_COLS]],
    (k, n, j): (usize, usize, usize),
) {
    let b = x.len() / k;
    let mut i = 0;
    while i + TILE_ROWS <= b {
        add_tile::<A, TILE_ROWS>(&mut y[i * n..], &x[i * k..], strip, (k, n, j));
        i += TILE_ROWS;
    }
    let (y, x) = (&mut y[i * n..], &x[i * k..]);
    match b - i {
        1 => add_tile::<A, 1>(y, x, strip, (k, n, j)),
        2 => add_tile::<A, 2>(y, x, strip, (k, n, j)),
        3 => add_tile::<A, 3>(y, x, strip, (k, n, j)),
        4 => add_tile::<A, 4>(y, x, strip, (k, n, j)),
        5 => add_tile::<A, 5>(y, x, strip, (k, n, j)),
        _ => {}
    }
}

/// The register tile: `R` rows by two vectors of columns, summed over `K` in order.
#[inline(always)]
fn add_tile<A: Arithmetic, const R: usize>(
    y: &mut [f32],
    x: &[f32],
    strip: &[[f32; TILE_COLS]],
    (k, n, j): (usize, usize, usize),
) {
    let rows: [&[f32]; R] = std::array::from_fn(|r| &x[r * k..(r + 1) * k]);
    let mut sums = [[[0.0f32; LANES]; 2]; R];
    for r in 0..R {
        for v in 0..2 {
            sums[r][v].copy_from_slice(&y[r * n + j + v * LANES..][..LANES]);
        }
    }
    for (kk, w) in strip.iter().enumerate().take(k) {
        for r in 0..R {
            let x_k = rows[r][kk];
            for v in 0..2 {
                for l in 0..LANES {
                    sums[r][v][l] = A::mul_add(x_k, w[v * LANES + l], sums[r][v][l]);
                }
            }
        }
    }
    for r in 0..R {
        for v in 0..2 {
            y[r * n + j + v * LANES..][..LANES].copy_from_slice(&sums[r][v]);
        }
    }
}

multiversion! {
    /// `dX += dY · Wᵀ` with `dX (B, K)`, `dY (B, N)`, `W (K, N)`.
    pub fn add_product_transposed(
        dx: &mut [f32],
        dy: &[f32],
        w: &[f32],
        k: usize,
        n: usize,
        panel: &mut Panel,
    ) = add_product_transposed_body
}

#[inline(always)]
fn add_product_transposed_body<A: Arithmetic>(
    dx: &mut [f32],
    dy: &[f32],
    w: &[f32],
    k: usize,
    n: usize,
    panel: &mut Panel,
) {
    let b = dy.len() / n;
    assert!(dx.len() == b * k && dy.len() == b * n && w.len() == k * n, "shapes of a product");
    if b < 4 {
        for (dx, dy) in dx.chunks_exact_mut(k).zip(dy.chunks_exact(n)) {
            let mut rows = w.chunks_exact(4 * n);
            let (fours, rest) = dx.as_chunks_mut::<4>();
            for (dx, rows) in fours.iter_mut().zip(&mut rows) {
                let dots = four_dots::<A>(rows, dy);
                for r in 0..4 {
                    dx[r] += dots[r];
                }
            }
            for (dx, row) in rest.iter_mut().zip(rows.remainder().chunks_exact(n)) {
                *dx += row.iter().zip(dy).map(|(&w, &dy)| w * dy).sum::<f32>();
            }
        }
        return;
    }
    // Strips of sixteen rows of W, transposed while they are packed.
    panel.0.resize(n * TILE_COLS, 0.0);
    for kk in (0..k).step_by(TILE_COLS) {
        let width = TILE_COLS.min(k - kk);
        let (strip, _) = panel.0.as_chunks_mut::<TILE_COLS>();
        for (r, row) in w[kk * n..(kk + width) * n].chunks_exact(n).enumerate() {
            for (packed, &w) in strip.iter_mut().zip(row) {
                packed[r] = w;
            }
        }
        if width == TILE_COLS {
            add_strip_product::<A>(dx, dy, strip, (n, k, kk));
        } else {
            for (dx, dy) in dx.chunks_exact_mut(k).zip(dy.chunks_exact(n)) {
                for (packed, &dy) in strip.iter().zip(dy) {
                    for r in 0..width {
                        dx[kk + r] = A::mul_add(dy, packed[r], dx[kk + r]);
                    }
                }
            }
        }
    }
}

/// The dot products of four rows `(4, N)` with `dy (N)`.
#[inline(always)]
fn four_dots<A: Arithmetic>(rows: &[f32], dy: &[f32]) -> [f32; 4] {
    let n = dy.len();
    let (dy_chunks, dy_rest) = dy.as_chunks::<LANES>();
    let m = dy_chunks.len();
    let chunks: [&[[f32; LANES]]; 4] =
        std::array::from_fn(|r| &rows[r * n..(r + 1) * n].as_chunks::<LANES>().0[..m]);
    let mut sums = [[0.0f32; LANES]; 4];
    for i in 0..m {
        for r in 0..4 {
            let w = chunks[r][i];
            for l in 0..LANES {
                sums[r][l] = A::mul_add(dy_chunks[i][l], w[l], sums[r][l]);
            }
        }
    }
    // Add the lanes of all four rows at once: rows become lanes, so that this stays vectorised.
    let mut dots = [0.0f32; 4];
    for l in 0..LANES {
        for r in 0..4 {
            dots[r] += sums[r][l];
        }
    }
    for (j, &dy) in (m * LANES..).zip(dy_rest) {
        for r in 0..4 {
            dots[r] = A::mul_add(rows[r * n + j], dy, dots[r]);
        }
    }
    dots
}

multiversion! {
    /// `dW = Σ_t x_t ⊗ dy_t`: the gradient of a weight matrix `(K, N)` from all its uses.
    ///
    /// `rows` holds where each `x_t (K)` starts in `xs` and each `dy_t (N)` in `dys`.
    pub fn outer_sum(
        dw: &mut [f32],
        k: usize,
        n: usize,
        xs: &[f32],
        dys: &[f32],
        rows: &[(u32, u32)],
        panel: &mut Panel,
    ) = outer_sum_body
}

#[inline(always)]
fn outer_sum_body<A: Arithmetic>(
    dw: &mut [f32],
    k: usize,
    n: usize,
    xs: &[f32],
    dys: &[f32],
    rows: &[(u32, u32)],
    panel: &mut Panel,
) {
    assert!(dw.len() == k * n, "shape of a weight gradient");
    // The strip of all dy_t, then all x_t in rows of four, so that the tile reads both in order.
    let full_k = k - k % 4;
    let t = rows.len();
    panel.0.resize(t * (TILE_COLS + k), 0.0);
    let (strip, xs_packed) = panel.0.split_at_mut(t * TILE_COLS);
    for (i, x4) in xs_packed[..t * full_k].chunks_exact_mut(4 * t.max(1)).enumerate() {
        for (packed, &(x_at, _)) in x4.as_chunks_mut::<4>().0.iter_mut().zip(rows) {
            packed.copy_from_slice(&xs[x_at as usize + 4 * i..][..4]);
        }
    }
    let full_n = n - n % TILE_COLS;
    for j in (0..full_n).step_by(TILE_COLS) {
        let (strip, _) = strip.as_chunks_mut::<TILE_COLS>();
        for (packed, &(_, dy_at)) in strip.iter_mut().zip(rows) {
            packed.copy_from_slice(&dys[dy_at as usize + j..][..TILE_COLS]);
        }
        for i in (0..full_k).step_by(4) {
            let x4 = xs_packed[i * t..(i + 4) * t].as_chunks::<4>().0;
            let mut sums = [[[0.0f32; LANES]; 2]; 4];
            for (x, dy) in x4.iter().zip(strip.iter()) {
                for r in 0..4 {
                    for v in 0..2 {
                        for l in 0..LANES {
                            sums[r][v][l] = A::mul_add(x[r], dy[v * LANES + l], sums[r][v][l]);
                        }
                    }
                }
            }
            for r in 0..4 {
                for v in 0..2 {
                    dw[(i + r) * n + j + v * LANES..][..LANES].copy_from_slice(&sums[r][v]);
                }
            }
        }
    }
    // What the tiles do not cover: a few columns of every row, all columns of a few rows.
    for i in 0..k {
        let columns = if i < full_k { full_n..n } else { 0..n };
        let dw = &mut dw[i * n..][columns.clone()];
        dw.fill(0.0);
        if dw.is_empty() {
            continue;
        }
        for &(x_at, dy_at) in rows {
            let x = xs[x_at as usize + i];
            for (dw, &dy) in dw.iter_mut().zip(&dys[dy_at as usize..][columns.clone()]) {
                *dw = A::mul_add(x, dy, *dw);
            }
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
mod tests {
    use super::super::{Fused, Plain};
    use super::*;
    use crate::random::Random;

    /// Shapes around every edge of the tiles.
    const SHAPES: [(usize, usize, usize); 9] = [
        (1, 1, 1),
        (1, 32, 128),
        (1, 33, 75),
        (2, 5, 17),
        (4, 16, 16),
        (7, 9, 31),
        (13, 40, 100),
        (6, 3, 4),
        (20, 64, 200),
    ];

    fn close(got: &[f32], want: &[f64], shape: (usize, usize, usize)) {
        for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
            let bound = 1e-5 * (1.0 + w.abs());
            assert!((f64::from(g) - w).abs() < bound, "{shape:?} at {i}: {g} is not {w}");
        }
    }

    fn at(m: &[f32], cols: usize, i: usize, j: usize) -> f64 {
        f64::from(m[i * cols + j])
    }

    #[test]
    fn products_agree_with_their_definition() {
        let mut random = Random::new(1);
        for shape @ (b, k, n) in SHAPES {
            let mut draw = |len| (0..len).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<f32>>();
            let (x, w, y0, dy, dx0) =
                (draw(b * k), draw(k * n), draw(b * n), draw(b * n), draw(b * k));
            let rows: Vec<_> = (0..b).map(|t| ((t * k) as u32, (t * n) as u32)).collect();

            let mut want_y = vec![0.0; b * n];
            let mut want_dx = vec![0.0; b * k];
            let mut want_dw = vec![0.0; k * n];
            for i in 0..b {
                for j in 0..n {
                    let dot: f64 = (0..k).map(|q| at(&x, k, i, q) * at(&w, n, q, j)).sum();
                    want_y[i * n + j] = at(&y0, n, i, j) + dot;
                }
                for q in 0..k {
                    let dot: f64 = (0..n).map(|j| at(&dy, n, i, j) * at(&w, n, q, j)).sum();
                    want_dx[i * k + q] = at(&dx0, k, i, q) + dot;
                }
            }
            for q in 0..k {
                for j in 0..n {
                    want_dw[q * n + j] = (0..b).map(|i| at(&x, k, i, q) * at(&dy, n, i, j)).sum();
                }
            }

            let panel = &mut Panel::default();
            for body in [add_product_body::<Fused>, add_product_body::<Plain>, add_product] {
                let mut y = y0.clone();
                body(&mut y, &x, &w, k, n, panel);
                close(&y, &want_y, shape);
            }
            for body in [
                add_product_transposed_body::<Fused>,
                add_product_transposed_body::<Plain>,
                add_product_transposed,
            ] {
                let mut dx = dx0.clone();
                body(&mut dx, &dy, &w, k, n, panel);
                close(&dx, &want_dx, shape);
            }
            for body in [outer_sum_body::<Fused>, outer_sum_body::<Plain>, outer_sum] {
                let mut dw = vec![f32::NAN; k * n];
                body(&mut dw, k, n, &x, &dy, &rows, panel);
                close(&dw, &want_dw, shape);
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_in_a_batch() {
        let mut random = Random::new(2);
        for (b, k, n) in SHAPES {
            let mut draw = |len| (0..len).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<f32>>();
            let (x, w) = (draw(b * k), draw(k * n));
            let panel = &mut Panel::default();
            let mut together = vec![0.0; b * n];
            add_product(&mut together, &x, &w, k, n, panel);
            for (row, x) in together.chunks_exact(n).zip(x.chunks_exact(k)) {
                let mut alone = vec![0.0; n];
                add_product(&mut alone, x, &w, k, n, panel);
                assert_eq!(row, alone, "shape {b} x {k} x {n}");
            }
        }
    }

    #[test]
    fn no_uses_make_a_zero_gradient() {
        let mut dw = [1.0; 6];
        outer_sum(&mut dw, 2, 3, &[], &[], &[], &mut Panel::default());
        assert_eq!(dw, [0.0; 6]);
    }
}
