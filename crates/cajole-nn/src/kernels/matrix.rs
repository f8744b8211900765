//! Products of activations and weights.

use cajole::Aligned;

use super::{Arithmetic, LANES, multiversion};

/// Rows of the register tile: 6 × 2 vectors of sums fill twelve of sixteen registers.
const TILE_ROWS: usize = 6;
/// Columns of the register tile.
const TILE_COLS: usize = 2 * LANES;

/// Scratch into which a product copies one strip of a matrix, so that the tile reads it in order.
#[derive(Default)]
pub struct Panel(Aligned);

/// Whether `b` rows are too few to repay packing `W (K, N)`, so that each is better a
/// matrix-vector product of its own. A matrix that stays in the innermost cache can be read often.
fn are_few(b: usize, k: usize, n: usize) -> bool {
    const INNERMOST: usize = 4096;
    b < 4 || (b < 8 && k * n <= INNERMOST)
}

/// `Y += X · W` with `Y (B, N)`, `X (B, K)`, `W (K, N)`; `B` follows from the slices.
pub fn add_product(y: &mut [f32], x: &[f32], w: &[f32], k: usize, n: usize, panel: &mut Panel) {
    let b = x.len() / k;
    assert!(x.len() == b * k && y.len() == b * n && w.len() == k * n, "shapes of a product");
    if are_few(b, k, n) {
        for (y, x) in y.chunks_exact_mut(n).zip(x.chunks_exact(k)) {
            add_row_product(y, x, w);
        }
    } else {
        add_batch_product(y, x, w, k, n, panel);
    }
}

multiversion! {
    /// `y (N) += x (K) · W (K, N)`.
    fn add_row_product(y: &mut [f32], x: &[f32], w: &[f32]) = add_row_product_body
}

#[inline(always)]
fn add_row_product_body<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32]) {
    let mut j = 0;
    j = add_strips::<A, 8>(y, x, w, j);
    j = add_strips::<A, 4>(y, x, w, j);
    j = add_strips::<A, 1>(y, x, w, j);
    add_columns::<A>(y, x, w, j);
}

multiversion! {
    /// The same for many rows.
    fn add_batch_product(
        y: &mut [f32],
        x: &[f32],
        w: &[f32],
        k: usize,
        n: usize,
        panel: &mut Panel,
    ) = add_batch_product_body
}

#[inline(always)]
fn add_batch_product_body<A: Arithmetic>(
    y: &mut [f32],
    x: &[f32],
    w: &[f32],
    k: usize,
    n: usize,
    panel: &mut Panel,
) {
    let full = n - n % TILE_COLS;
    panel.0.resize(k * TILE_COLS);
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

/// The last few columns: four at a time, then one.
#[inline(always)]
fn add_columns<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32], mut j: usize) {
    let n = y.len();
    while j + 4 <= n {
        add_few_columns::<A, 4>(y, x, w, j);
        j += 4;
    }
    while j < n {
        add_few_columns::<A, 1>(y, x, w, j);
        j += 1;
    }
}

/// `C` columns, with the terms dealt out to four sums, or each would wait for the one before.
#[inline(always)]
fn add_few_columns<A: Arithmetic, const C: usize>(y: &mut [f32], x: &[f32], w: &[f32], j: usize) {
    let n = y.len();
    let mut sums = [[0.0f32; C]; 4];
    let mut add = |q: usize, k: usize| {
        let row: &[f32; C] = w[k * n + j..][..C].try_into().expect("a slice of C");
        for c in 0..C {
            sums[q][c] = A::mul_add(x[k], row[c], sums[q][c]);
        }
    };
    let full = x.len() - x.len() % 4;
    for k in (0..full).step_by(4) {
        for q in 0..4 {
            add(q, k + q);
        }
    }
    for k in full..x.len() {
        add(0, k);
    }
    for c in 0..C {
        y[j + c] += (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]);
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

/// `dX += dY · Wᵀ` with `dX (B, K)`, `dY (B, N)`, `W (K, N)`.
pub fn add_product_transposed(
    dx: &mut [f32],
    dy: &[f32],
    w: &[f32],
    k: usize,
    n: usize,
    panel: &mut Panel,
) {
    let b = dy.len() / n;
    assert!(dx.len() == b * k && dy.len() == b * n && w.len() == k * n, "shapes of a product");
    if are_few(b, k, n) {
        for (dx, dy) in dx.chunks_exact_mut(k).zip(dy.chunks_exact(n)) {
            match n {
                // As narrow as an output layer over few symbols.
                0..LANES => add_row_transposed_narrow(dx, dy, w),
                _ => add_row_transposed(dx, dy, w),
            }
        }
    } else {
        add_batch_transposed(dx, dy, w, k, n, panel);
    }
}

multiversion! {
    /// The same for many rows.
    fn add_batch_transposed(
        dx: &mut [f32],
        dy: &[f32],
        w: &[f32],
        k: usize,
        n: usize,
        panel: &mut Panel,
    ) = add_batch_transposed_body
}

#[inline(always)]
fn add_batch_transposed_body<A: Arithmetic>(
    dx: &mut [f32],
    dy: &[f32],
    w: &[f32],
    k: usize,
    n: usize,
    panel: &mut Panel,
) {
    // Strips of sixteen rows of W, transposed while they are packed.
    panel.0.resize(n * TILE_COLS);
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

multiversion! {
    /// `dx (K) += W (K, N) · dy (N)` for less than a vector of columns.
    fn add_row_transposed_narrow(dx: &mut [f32], dy: &[f32], w: &[f32])
        = add_row_transposed_narrow_body
}

#[inline(always)]
fn add_row_transposed_narrow_body<A: Arithmetic>(dx: &mut [f32], dy: &[f32], w: &[f32]) {
    match dy.len() {
        1 => add_columns_transposed::<A, 1>(dx, dy, w),
        2 => add_columns_transposed::<A, 2>(dx, dy, w),
        3 => add_columns_transposed::<A, 3>(dx, dy, w),
        4 => add_columns_transposed::<A, 4>(dx, dy, w),
        5 => add_columns_transposed::<A, 5>(dx, dy, w),
        6 => add_columns_transposed::<A, 6>(dx, dy, w),
        _ => add_columns_transposed::<A, 7>(dx, dy, w),
    }
}

#[inline(always)]
fn add_columns_transposed<A: Arithmetic, const N: usize>(dx: &mut [f32], dy: &[f32], w: &[f32]) {
    let Ok(dy) = <&[f32; N]>::try_from(dy) else { return };
    for (dx, row) in dx.iter_mut().zip(w.as_chunks::<N>().0) {
        for j in 0..N {
            *dx = A::mul_add(row[j], dy[j], *dx);
        }
    }
}

multiversion! {
    /// `dx (K) += W (K, N) · dy (N)` for at least a vector of columns.
    fn add_row_transposed(dx: &mut [f32], dy: &[f32], w: &[f32]) = add_row_transposed_body
}

#[inline(always)]
fn add_row_transposed_body<A: Arithmetic>(dx: &mut [f32], dy: &[f32], w: &[f32]) {
    let (k, n) = (dx.len(), dy.len());
    let (full_k, full_n) = (k - k % DOTS, n - n % LANES);
    let eights = dx.as_chunks_mut::<DOTS>().0.iter_mut().zip(w.chunks_exact(DOTS * n));
    eights.for_each(|(dx, rows)| add_dots::<A>(dx, rows, dy));
    if full_k == k && full_n == n {
        return;
    }
    // The last few columns of those rows, and all columns of the last few rows.
    for (i, (dx, row)) in dx.iter_mut().zip(w.chunks_exact(n)).enumerate() {
        let from = if i < full_k { full_n } else { 0 };
        let terms = row[from..].iter().zip(&dy[from..]);
        *dx = terms.fold(*dx, |sum, (&w, &dy)| A::mul_add(w, dy, sum));
    }
}

/// Dot products taken side by side: enough sums in flight to hide the latency of an addition, and
/// (unlike four) a shape that the compiler keeps in vector registers.
const DOTS: usize = 8;

/// Adds the dot products of eight rows `(8, N)` with `dy (N)`, as far as whole vectors go.
#[inline(always)]
fn add_dots<A: Arithmetic>(dx: &mut [f32; DOTS], rows: &[f32], dy: &[f32]) {
    let n = dy.len();
    let (dy_chunks, _) = dy.as_chunks::<LANES>();
    let m = dy_chunks.len();
    let chunks: [&[[f32; LANES]]; DOTS] =
        std::array::from_fn(|r| &rows[r * n..(r + 1) * n].as_chunks::<LANES>().0[..m]);
    let mut sums = [[0.0f32; LANES]; DOTS];
    for (i, dy) in dy_chunks.iter().enumerate() {
        for r in 0..DOTS {
            let w = &chunks[r][i];
            for l in 0..LANES {
                sums[r][l] = A::mul_add(dy[l], w[l], sums[r][l]);
            }
        }
    }
    for r in 0..DOTS {
        let halves: [f32; 4] = std::array::from_fn(|l| sums[r][l] + sums[r][l + 4]);
        dx[r] += (halves[0] + halves[2]) + (halves[1] + halves[3]);
    }
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
    panel.0.resize(t * (TILE_COLS + k));
    let (strip, xs_packed) = panel.0.split_at_mut(t * TILE_COLS);
    for (i, x4) in xs_packed[..t * full_k].chunks_exact_mut(4 * t.max(1)).enumerate() {
        for (packed, &(x_at, _)) in x4.as_chunks_mut::<4>().0.iter_mut().zip(rows) {
            packed.copy_from_slice(&xs[x_at as usize + 4 * i..][..4]);
        }
    }
    let (strip, _) = strip.as_chunks_mut::<TILE_COLS>();
    let full_n = n - n % TILE_COLS;
    for j in (0..full_n).step_by(TILE_COLS) {
        for (packed, &(_, dy_at)) in strip.iter_mut().zip(rows) {
            packed.copy_from_slice(&dys[dy_at as usize + j..][..TILE_COLS]);
        }
        for i in (0..full_k).step_by(4) {
            let sums = outer_tile::<A>(&xs_packed[i * t..(i + 4) * t], strip);
            for r in 0..4 {
                for v in 0..2 {
                    dw[(i + r) * n + j + v * LANES..][..LANES].copy_from_slice(&sums[r][v]);
                }
            }
        }
    }
    if full_n < n {
        // The last strip is narrower; what it lacks is zero.
        for (packed, &(_, dy_at)) in strip.iter_mut().zip(rows) {
            *packed = [0.0; TILE_COLS];
            packed[..n - full_n].copy_from_slice(&dys[dy_at as usize + full_n..][..n - full_n]);
        }
        for i in (0..full_k).step_by(4) {
            let sums = outer_tile::<A>(&xs_packed[i * t..(i + 4) * t], strip);
            for (r, sums) in sums.iter().enumerate() {
                let dw = &mut dw[(i + r) * n + full_n..(i + r + 1) * n];
                dw.copy_from_slice(&sums.as_flattened()[..n - full_n]);
            }
        }
    }
    // The last few rows, if their number is no multiple of four.
    for (i, dw) in dw.chunks_exact_mut(n).enumerate().skip(full_k) {
        dw.fill(0.0);
        for &(x_at, dy_at) in rows {
            let x = xs[x_at as usize + i];
            for (dw, &dy) in dw.iter_mut().zip(&dys[dy_at as usize..][..n]) {
                *dw = A::mul_add(x, dy, *dw);
            }
        }
    }
}

/// `Σ_t x_t ⊗ dy_t` for four elements of `x`, packed by time, and a strip of `dy`.
#[inline(always)]
fn outer_tile<A: Arithmetic>(x4: &[f32], strip: &[[f32; TILE_COLS]]) -> [[[f32; LANES]; 2]; 4] {
    let mut sums = [[[0.0f32; LANES]; 2]; 4];
    for (x, dy) in x4.as_chunks::<4>().0.iter().zip(strip) {
        for r in 0..4 {
            for v in 0..2 {
                for l in 0..LANES {
                    sums[r][v][l] = A::mul_add(x[r], dy[v * LANES + l], sums[r][v][l]);
                }
            }
        }
    }
    sums
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
    const SHAPES: [(usize, usize, usize); 11] = [
        (1, 1, 1),
        (1, 6, 7),
        (3, 17, 5),
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
            for body in
                [add_batch_product_body::<Fused>, add_batch_product_body::<Plain>, add_product]
            {
                let mut y = y0.clone();
                body(&mut y, &x, &w, k, n, panel);
                close(&y, &want_y, shape);
            }
            for body in [add_row_product_body::<Plain>, add_row_product_body::<Fused>] {
                let mut y = y0[..n].to_vec();
                body(&mut y, &x[..k], &w);
                close(&y, &want_y[..n], shape);
            }
            for body in [
                add_batch_transposed_body::<Fused>,
                add_batch_transposed_body::<Plain>,
                add_product_transposed,
            ] {
                let mut dx = dx0.clone();
                body(&mut dx, &dy, &w, k, n, panel);
                close(&dx, &want_dx, shape);
            }
            let mut dx = dx0[..k].to_vec();
            match n {
                0..LANES => add_row_transposed_narrow_body::<Plain>(&mut dx, &dy[..n], &w),
                _ => add_row_transposed_body::<Plain>(&mut dx, &dy[..n], &w),
            }
            close(&dx, &want_dx[..k], shape);
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
