//! Sums of outer products: the gradient of a weight matrix over all its uses.
//!
//! A tile of the matrix stays in registers while all uses are added, and is written once. The uses
//! are packed first, because they lie scattered over the tape. Packed uses can be multiplied out
//! later, once the step size is known.

use super::{Arithmetic, LANES, Panel, WIDE, prefetch, widest};

/// The uses of a weight matrix `(K, N)`.
#[derive(Clone, Copy)]
pub struct Uses<'a> {
    /// `(K, N)`.
    pub shape: (usize, usize),
    /// The buffer that holds every `x_t`.
    pub xs: &'a [f32],
    /// The buffer that holds every `dy_t`.
    pub dys: &'a [f32],
    /// Where each `x_t (K)` starts in `xs` and each `dy_t (N)` in `dys`.
    pub rows: &'a [(u32, u32)],
}

/// Uses of a weight matrix, packed for the product.
#[derive(Clone, Copy)]
pub struct Packed<'a> {
    /// `(K, N)`.
    pub shape: (usize, usize),
    /// `T`, the number of uses.
    pub terms: usize,
    /// Every `x_t` in fives, `(⌈K / 5⌉, T, 5)`; padding past the last element is unspecified.
    pub x: &'a [f32],
    /// Every `dy_t` in strips of columns, `(T, C)` each.
    pub dy: &'a [f32],
}

/// Rows of the register tile; with sixteen columns, ten vectors of accumulators.
const TILE: usize = 5;

/// Rows of the matrix combined with one strip of `dy` before the next strip: few enough to prefetch
/// row by row.
const NEAR: usize = 6 * TILE;

/// Maximum strip width in units of sixteen columns, such that its tiles stay in registers.
const fn widest_strip<A: Arithmetic>() -> usize {
    if A::IS_WIDE { 2 } else { 1 }
}

/// Number of floats in packed `x` and `dy`, for `T` uses of a matrix `(K, N)`.
pub fn packed_sizes((k, n): (usize, usize), terms: usize) -> (usize, usize) {
    (terms * k.next_multiple_of(TILE), terms * n)
}

widest! {
    /// Packs uses into buffers of the sizes given by [`packed_sizes`].
    pub fn pack(uses: &Uses<'_>, x: &mut [f32], dy: &mut [f32]) = pack_body
}

#[inline(always)]
fn pack_body<A: Arithmetic>(uses: &Uses<'_>, x: &mut [f32], dy: &mut [f32]) {
    let Uses { shape: (k, n), xs, dys, rows } = *uses;
    let t = rows.len();
    assert!((x.len(), dy.len()) == packed_sizes((k, n), t), "buffers do not match packed_sizes");
    let fives = x.as_chunks_mut::<TILE>().0;
    for (i, five) in (0..k).step_by(TILE).zip(fives.chunks_exact_mut(t.max(1))) {
        for (packed, &(x_at, _)) in five.iter_mut().zip(rows) {
            let x = &xs[x_at as usize..][i..k];
            match x.first_chunk() {
                Some(x) => *packed = *x,
                None => packed[..x.len()].copy_from_slice(x),
            }
        }
    }
    let mut strips = Strips { dy, dys, rows, n, j: 0 };
    if 1 < widest_strip::<A>() {
        strips.pack::<{ 2 * WIDE }>();
    }
    strips.pack::<WIDE>();
    strips.pack::<LANES>();
    strips.pack::<4>();
    strips.pack::<1>();
}

/// Packing of `dy_t`; columns from `j` on are left.
struct Strips<'a> {
    dy: &'a mut [f32],
    dys: &'a [f32],
    rows: &'a [(u32, u32)],
    n: usize,
    j: usize,
}

impl Strips<'_> {
    /// Packs as many strips of `C` columns as fit.
    #[inline(always)]
    fn pack<const C: usize>(&mut self) {
        while self.j + C <= self.n {
            let strip = self.dy[self.rows.len() * self.j..].as_chunks_mut::<C>().0;
            for (packed, &(_, dy_at)) in strip.iter_mut().zip(self.rows) {
                packed.copy_from_slice(&self.dys[dy_at as usize + self.j..][..C]);
            }
            self.j += C;
        }
    }
}

widest! {
    /// `dW = Σ_t x_t ⊗ dy_t`: the gradient of a weight matrix `(K, N)` over all its uses.
    pub fn outer_sum(dw: &mut [f32], uses: &Uses<'_>, panel: &mut Panel) = outer_sum_body
}

#[inline(always)]
fn outer_sum_body<A: Arithmetic>(dw: &mut [f32], uses: &Uses<'_>, panel: &mut Panel) {
    multiply::<A, false>(dw, 1.0, &in_panel::<A>(uses, panel));
}

widest! {
    /// `W += Σ_t x_t ⊗ dy_t`.
    pub fn add_outer_sum(w: &mut [f32], uses: &Uses<'_>, panel: &mut Panel) = add_outer_sum_body
}

#[inline(always)]
fn add_outer_sum_body<A: Arithmetic>(w: &mut [f32], uses: &Uses<'_>, panel: &mut Panel) {
    multiply::<A, true>(w, 1.0, &in_panel::<A>(uses, panel));
}

widest! {
    /// `W += scale · Σ_t x_t ⊗ dy_t`.
    pub fn add_packed(w: &mut [f32], scale: f32, packed: &Packed<'_>) = add_packed_body
}

#[inline(always)]
fn add_packed_body<A: Arithmetic>(w: &mut [f32], scale: f32, packed: &Packed<'_>) {
    multiply::<A, true>(w, scale, packed);
}

#[inline(always)]
fn in_panel<'p, A: Arithmetic>(uses: &Uses<'_>, panel: &'p mut Panel) -> Packed<'p> {
    let (shape, terms) = (uses.shape, uses.rows.len());
    let sizes = packed_sizes(shape, terms);
    let (x, dy) = panel.two(sizes.0, sizes.1);
    pack_body::<A>(uses, x, dy);
    Packed { shape, terms, x, dy }
}

/// `dW = Σ_t x_t ⊗ dy_t`, or `dW += scale · Σ_t x_t ⊗ dy_t`.
#[inline(always)]
fn multiply<A: Arithmetic, const ADDS: bool>(dw: &mut [f32], scale: f32, packed: &Packed<'_>) {
    let (k, n) = packed.shape;
    assert!(dw.len() == k * n, "weight gradient has the wrong shape");
    assert!((packed.x.len(), packed.dy.len()) == packed_sizes((k, n), packed.terms));
    if packed.terms == 0 {
        if !ADDS {
            dw.fill(0.0);
        }
        return;
    }
    let j = match widest_strip::<A>() {
        2 => wide_strips::<A, ADDS, 2>(dw, scale, packed, 0),
        _ => 0,
    };
    let j = wide_strips::<A, ADDS, 1>(dw, scale, packed, j);
    let j = narrow_strips::<A, ADDS, LANES>(dw, scale, packed, j);
    let j = narrow_strips::<A, ADDS, 4>(dw, scale, packed, j);
    narrow_strips::<A, ADDS, 1>(dw, scale, packed, j);
}

/// Columns from `from` on, `16 V` at a time. Returns the first column not done.
#[inline(always)]
fn wide_strips<A: Arithmetic, const ADDS: bool, const V: usize>(
    dw: &mut [f32],
    scale: f32,
    packed: &Packed<'_>,
    from: usize,
) -> usize {
    let ((k, n), t) = (packed.shape, packed.terms);
    let (wide, count) = (V * WIDE, (n - from) / (V * WIDE));
    let fives = packed.x.as_chunks::<TILE>().0;
    for near in (0..k).step_by(NEAR) {
        let strips = packed.dy[t * from..].chunks_exact(t * wide).take(count);
        for (j, strip) in strips.enumerate() {
            let strip = strip.as_chunks().0.as_chunks::<V>().0;
            for i in (near..(near + NEAR).min(k)).step_by(TILE) {
                let at = i * n + from + j * wide;
                let five = &fives[i / TILE * t..][..t];
                match k - i {
                    1 => wide_tile::<A, ADDS, 1, V>(dw, scale, (n, at), five, strip),
                    2 => wide_tile::<A, ADDS, 2, V>(dw, scale, (n, at), five, strip),
                    3 => wide_tile::<A, ADDS, 3, V>(dw, scale, (n, at), five, strip),
                    4 => wide_tile::<A, ADDS, 4, V>(dw, scale, (n, at), five, strip),
                    _ => wide_tile::<A, ADDS, TILE, V>(dw, scale, (n, at), five, strip),
                }
            }
        }
    }
    from + count * wide
}

/// `R` rows by `16 V` columns starting at `at`; prefetches two strips ahead.
#[inline(always)]
fn wide_tile<A: Arithmetic, const ADDS: bool, const R: usize, const V: usize>(
    dw: &mut [f32],
    scale: f32,
    (n, at): (usize, usize),
    x: &[[f32; TILE]],
    dy: &[[[f32; WIDE]; V]],
) {
    let mut sums = [[A::splat_wide(0.0); V]; R];
    for r in 0..R {
        for v in 0..V {
            prefetch(dw, at + r * n + (2 * V + v) * WIDE);
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
    let scale = A::splat_wide(scale);
    for r in 0..R {
        let row = dw[at + r * n..][..V * WIDE].as_chunks_mut().0;
        for v in 0..V {
            if ADDS {
                sums[r][v] = A::mul_add_wide(scale, sums[r][v], A::load_wide(&row[v]));
            }
            A::store_wide(sums[r][v], &mut row[v]);
        }
    }
}

/// Columns from `j` on, `C` at a time. Returns the first column not done.
#[inline(always)]
fn narrow_strips<A: Arithmetic, const ADDS: bool, const C: usize>(
    dw: &mut [f32],
    scale: f32,
    packed: &Packed<'_>,
    mut j: usize,
) -> usize {
    let ((k, n), t) = (packed.shape, packed.terms);
    while j + C <= n {
        let strip = &packed.dy[t * j..].as_chunks::<C>().0[..t];
        for (i, five) in packed.x.as_chunks::<TILE>().0.chunks_exact(t).enumerate() {
            let mut sums = [[0.0f32; C]; TILE];
            for (x, dy) in five.iter().zip(strip) {
                for r in 0..TILE {
                    for c in 0..C {
                        sums[r][c] = A::mul_add(x[r], dy[c], sums[r][c]);
                    }
                }
            }
            for r in 0..TILE.min(k - i * TILE) {
                let dw = &mut dw[(i * TILE + r) * n + j..][..C];
                for c in 0..C {
                    dw[c] = if ADDS { A::mul_add(scale, sums[r][c], dw[c]) } else { sums[r][c] };
                }
            }
        }
        j += C;
    }
    j
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fused, Plain};
    use cajole_core::random::Random;

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
                body(&mut moved, &uses, &mut panel());
                close(&moved, &|at| f64::from(w[at]) + sum(at / n, at % n));
            }
            let sizes = packed_sizes((k, n), t);
            let (mut x, mut dy) = (vec![f32::NAN; sizes.0], vec![f32::NAN; sizes.1]);
            pack(&uses, &mut x, &mut dy);
            let mut moved = w.clone();
            let packed = Packed { shape: (k, n), terms: t, x: &x, dy: &dy };
            add_packed(&mut moved, -0.5, &packed);
            close(&moved, &|at| f64::from(w[at]) - 0.5 * sum(at / n, at % n));
        }
    }

    #[test]
    fn no_uses_give_a_zero_gradient() {
        let uses = Uses { shape: (2, 3), xs: &[], dys: &[], rows: &[] };
        let mut dw = [1.0; 6];
        add_outer_sum(&mut dw, &uses, &mut Panel::default());
        assert_eq!(dw, [1.0; 6]);
        outer_sum(&mut dw, &uses, &mut Panel::default());
        assert_eq!(dw, [0.0; 6]);
    }
}
