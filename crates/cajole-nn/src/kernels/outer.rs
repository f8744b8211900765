//! Sums of outer products: the gradient of a weight matrix from all its uses.
//!
//! A tile of the matrix stays in registers while all uses are added to it, and is written once; the
//! uses themselves are packed, since they lie scattered over a recording.

use super::{Arithmetic, LANES, Panel, WIDE, prefetch, widest};

widest! {
    /// `dW = Σ_t x_t ⊗ dy_t`: the gradient of a weight matrix `(K, N)` from all its uses.
    pub fn outer_sum(dw: &mut [f32], uses: &Uses<'_>, panel: &mut Panel) = outer_sum_body
}

#[inline(always)]
fn outer_sum_body<A: Arithmetic>(dw: &mut [f32], uses: &Uses<'_>, panel: &mut Panel) {
    outer::<A, false>(dw, 1.0, uses, panel);
}

widest! {
    /// `W += scale · Σ_t x_t ⊗ dy_t`.
    pub fn add_outer_sum(w: &mut [f32], scale: f32, uses: &Uses<'_>, panel: &mut Panel)
        = add_outer_sum_body
}

#[inline(always)]
fn add_outer_sum_body<A: Arithmetic>(
    w: &mut [f32],
    scale: f32,
    uses: &Uses<'_>,
    panel: &mut Panel,
) {
    outer::<A, true>(w, scale, uses, panel);
}

/// Where a weight matrix `(K, N)` was used.
#[derive(Clone, Copy)]
pub struct Uses<'a> {
    /// `(K, N)`.
    pub shape: (usize, usize),
    /// What `x` are taken from.
    pub xs: &'a [f32],
    /// What `dy` are taken from.
    pub dys: &'a [f32],
    /// Where each `x_t (K)` starts in `xs` and each `dy_t (N)` in `dys`.
    pub rows: &'a [(u32, u32)],
}

/// Rows of the register tile of an outer sum; with sixteen columns, ten vectors of sums.
const TILE: usize = 5;

/// Rows of the matrix that a strip of `dy` meets before the next does: few enough to be asked for row
/// by row.
const NEAR: usize = 6 * TILE;

#[inline(always)]
fn outer<A: Arithmetic, const ADDS: bool>(
    dw: &mut [f32],
    scale: f32,
    uses: &Uses<'_>,
    panel: &mut Panel,
) {
    let Uses { shape: (k, n), xs, dys, rows } = *uses;
    assert!(dw.len() == k * n, "shape of a weight gradient");
    let t = rows.len();
    if t == 0 {
        if !ADDS {
            dw.fill(0.0);
        }
        return;
    }
    // All x_t in fives. Behind the last element anything may stand: it is not written.
    let (strips, fives) = panel.two(t * n.max(LANES), t * k.next_multiple_of(TILE));
    let fives = fives.as_chunks_mut::<TILE>().0;
    for (i, five) in (0..k).step_by(TILE).zip(fives.chunks_exact_mut(t)) {
        for (packed, &(x_at, _)) in five.iter_mut().zip(rows) {
            let x = &xs[x_at as usize..][i..k];
            match x.first_chunk() {
                Some(x) => *packed = x.map(|x| scale * x),
                None => packed.iter_mut().zip(x).for_each(|(packed, x)| *packed = scale * x),
            }
        }
    }
    let uses = Packed { fives, dys, rows };
    let j = match A::IS_WIDE {
        true => wide_strips::<A, ADDS, 2>(dw, (k, n), &uses, strips, 0),
        false => 0,
    };
    let j = wide_strips::<A, ADDS, 1>(dw, (k, n), &uses, strips, j);
    let j = outer_strips::<A, ADDS, LANES>(dw, (k, n), &uses, strips, j);
    let j = outer_strips::<A, ADDS, 4>(dw, (k, n), &uses, strips, j);
    outer_strips::<A, ADDS, 1>(dw, (k, n), &uses, strips, j);
}

/// What an outer sum goes over: `x_t` packed in fives `(K / 5, T)`, `dy_t` where `rows` say.
struct Packed<'a> {
    fives: &'a [[f32; TILE]],
    dys: &'a [f32],
    rows: &'a [(u32, u32)],
}

impl Packed<'_> {
    /// Columns from `j` on of all `dy_t`, side by side.
    #[inline(always)]
    fn pack<const C: usize>(&self, strip: &mut [[f32; C]], j: usize) {
        for (packed, &(_, dy_at)) in strip.iter_mut().zip(self.rows) {
            packed.copy_from_slice(&self.dys[dy_at as usize + j..][..C]);
        }
    }
}

/// `dW[.., j..] = Σ_t x_t ⊗ dy_t[j..]`, or `+=`, in strips of `V` times sixteen columns; returns the
/// first column not done.
#[inline(always)]
fn wide_strips<A: Arithmetic, const ADDS: bool, const V: usize>(
    dw: &mut [f32],
    (k, n): (usize, usize),
    uses: &Packed<'_>,
    strips: &mut [f32],
    from: usize,
) -> usize {
    let (t, wide, count) = (uses.rows.len(), V * WIDE, (n - from) / (V * WIDE));
    for (j, strip) in strips.chunks_exact_mut(t * wide).take(count).enumerate() {
        for (packed, &(_, dy_at)) in strip.chunks_exact_mut(wide).zip(uses.rows) {
            packed.copy_from_slice(&uses.dys[dy_at as usize + from + j * wide..][..wide]);
        }
    }
    for near in (0..k).step_by(NEAR) {
        for (j, strip) in strips.chunks_exact(t * wide).take(count).enumerate() {
            let strip = strip.as_chunks().0.as_chunks::<V>().0;
            for i in (near..(near + NEAR).min(k)).step_by(TILE) {
                let at = i * n + from + j * wide;
                let five = &uses.fives[i / TILE * t..][..t];
                match k - i {
                    1 => wide_tile::<A, ADDS, 1, V>(dw, n, at, five, strip),
                    2 => wide_tile::<A, ADDS, 2, V>(dw, n, at, five, strip),
                    3 => wide_tile::<A, ADDS, 3, V>(dw, n, at, five, strip),
                    4 => wide_tile::<A, ADDS, 4, V>(dw, n, at, five, strip),
                    _ => wide_tile::<A, ADDS, TILE, V>(dw, n, at, five, strip),
                }
            }
        }
    }
    from + count * wide
}

/// `R` rows of `V` times sixteen columns from `at` on; asks for what lies ahead.
#[inline(always)]
fn wide_tile<A: Arithmetic, const ADDS: bool, const R: usize, const V: usize>(
    dw: &mut [f32],
    n: usize,
    at: usize,
    x: &[[f32; TILE]],
    dy: &[[[f32; WIDE]; V]],
) {
    let mut sums = [[A::splat_wide(0.0); V]; R];
    for r in 0..R {
        let row = dw[at + r * n..][..V * WIDE].as_chunks().0;
        for v in 0..V {
            prefetch(dw, at + r * n + (2 * V + v) * WIDE);
            if ADDS {
                sums[r][v] = A::load_wide(&row[v]);
            }
        }
    }
    for (x, dy) in x.iter().zip(dy) {
        let mut dys = [A::splat_wide(0.0); V];
        for v in 0..V {
            dys[v] = A::load_wide(&dy[v]);
        }
        for r in 0..R {
            let x = A::splat_wide(x[r]);
            for v in 0..V {
                sums[r][v] = A::mul_add_wide(x, dys[v], sums[r][v]);
            }
        }
    }
    for r in 0..R {
        let row = dw[at + r * n..][..V * WIDE].as_chunks_mut().0;
        for v in 0..V {
            A::store_wide(sums[r][v], &mut row[v]);
        }
    }
}

/// `dW[.., j..] = Σ_t x_t ⊗ dy_t[j..]`, or `+=`, in strips of `C` columns; returns the first not done.
#[inline(always)]
fn outer_strips<A: Arithmetic, const ADDS: bool, const C: usize>(
    dw: &mut [f32],
    (k, n): (usize, usize),
    uses: &Packed<'_>,
    strip: &mut [f32],
    mut j: usize,
) -> usize {
    let t = uses.rows.len();
    let strip = &mut strip.as_chunks_mut::<C>().0[..t];
    while j + C <= n {
        uses.pack(strip, j);
        for i in (0..k).step_by(TILE) {
            // Rows behind the last one are read as that one, and not written.
            let at: [usize; TILE] = std::array::from_fn(|r| (i + r).min(k - 1) * n + j);
            let mut sums = [[0.0f32; C]; TILE];
            if ADDS {
                for r in 0..TILE {
                    sums[r].copy_from_slice(&dw[at[r]..][..C]);
                }
            }
            for (x, dy) in uses.fives[i / TILE * t..][..t].iter().zip(strip.iter()) {
                for r in 0..TILE {
                    for c in 0..C {
                        sums[r][c] = A::mul_add(x[r], dy[c], sums[r][c]);
                    }
                }
            }
            for r in 0..TILE {
                if i + r < k {
                    dw[at[r]..][..C].copy_from_slice(&sums[r]);
                }
            }
        }
        j += C;
    }
    j
}

#[cfg(test)]
mod tests {
    use super::super::{Fused, Plain};
    use super::*;
    use crate::random::Random;

    /// `(T, K, N)` around the edges of tiles and vectors.
    const SHAPES: [(usize, usize, usize); 8] = [
        (1, 1, 1),
        (1, 33, 75),
        (2, 5, 17),
        (3, 10, 8),
        (4, 9, 7),
        (13, 40, 100),
        (20, 64, 200),
        (9, 259, 517),
    ];

    fn draw(random: &mut Random, len: usize) -> Vec<f32> {
        (0..len).map(|_| random.uniform(-1.0, 1.0)).collect()
    }

    #[test]
    fn outer_sums_agree_with_their_definition() {
        let random = &mut Random::new(4);
        for shape @ (t, k, n) in SHAPES {
            let (xs, dys, w) = (draw(random, t * k), draw(random, t * n), draw(random, k * n));
            let rows: Vec<_> = (0..t).map(|t| ((t * k) as u32, (t * n) as u32)).collect();
            let uses = Uses { shape: (k, n), xs: &xs, dys: &dys, rows: &rows };
            let sum = |i: usize, j: usize| {
                (0..t).map(|t| f64::from(xs[t * k + i]) * f64::from(dys[t * n + j])).sum::<f64>()
            };
            let panel = || Panel::of_anything(7);
            let close = |got: &[f32], want: &dyn Fn(usize) -> f64| {
                for (at, &got) in got.iter().enumerate() {
                    let want = want(at);
                    let bound = 1e-5 * (1.0 + want.abs());
                    assert!((f64::from(got) - want).abs() < bound, "{shape:?} at {at}: {got}");
                }
            };
            for body in [outer_sum_body::<Fused>, outer_sum_body::<Plain>, outer_sum] {
                let mut dw = vec![f32::NAN; k * n];
                body(&mut dw, &uses, &mut panel());
                close(&dw, &|at| sum(at / n, at % n));
            }
            for body in [add_outer_sum_body::<Fused>, add_outer_sum_body::<Plain>, add_outer_sum] {
                let mut moved = w.clone();
                body(&mut moved, -0.5, &uses, &mut panel());
                close(&moved, &|at| f64::from(w[at]) - 0.5 * sum(at / n, at % n));
            }
        }
    }

    #[test]
    fn no_uses_make_a_zero_gradient() {
        let uses = Uses { shape: (2, 3), xs: &[], dys: &[], rows: &[] };
        let mut dw = [1.0; 6];
        add_outer_sum(&mut dw, 1.0, &uses, &mut Panel::default());
        assert_eq!(dw, [1.0; 6]);
        outer_sum(&mut dw, &uses, &mut Panel::default());
        assert_eq!(dw, [0.0; 6]);
    }
}
