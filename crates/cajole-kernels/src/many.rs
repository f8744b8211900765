//! Matrix-matrix products (GEMM) with many rows.
//!
//! Many rows use each weight many times, so the FMA units can be kept busy if three things hold. A
//! tile of five rows by two vectors, or eight with AVX-512, has enough accumulators to hide the FMA
//! latency and few enough to stay in registers. The panel of `W` that a tile walks over is small,
//! and stays in L1 until every row has used it. And weights are prefetched, because the hardware
//! prefetcher does not recognise a walk over part of many rows.
//!
//! Tiles are short enough that bounds checks would show, so they are unchecked. Their callers have
//! checked that the shapes agree, and stay within them.

use super::matrix::add_lanes;
use super::{Arithmetic, LANES, Panel, WIDE, prefetch, widest};

/// Rows of `W (K, N)` multiplied with all of `X` before moving on: few enough to prefetch row by
/// row. Rows whose stride is a multiple of 1 KiB compete for few cache sets, so fewer of those; on
/// AVX-512 more, since then the rows of `Y` collide more often than those of `W`.
const fn near<A: Arithmetic>(n: usize) -> usize {
    match (A::IS_WIDE, n.is_multiple_of(256)) {
        (true, _) if collides(n) => 128,
        (true, _) => 64,
        (false, true) => 16,
        (false, false) => 25,
    }
}

/// How much of the next `of` lines one tile prefetches. On AVX-512 that is more than can be in
/// flight at once, so the first two tiles prefetch half each; otherwise the first tile prefetches
/// all of it.
const fn share<A: Arithmetic>(of: usize) -> usize {
    if A::IS_WIDE { of.div_ceil(2) } else { of }
}

/// Splits rows into fives, then fours; at most three are left.
#[derive(Clone, Copy)]
struct Cut {
    /// End of the fives.
    fives: usize,
    /// End of the fours.
    fours: usize,
    /// End of the rows.
    rows: usize,
}

impl Cut {
    fn new(b: usize) -> Self {
        let fours = ((5 - b % 5) % 5).min(b / 4);
        let fives = (b - 4 * fours) / 5 * 5;
        Cut { fives, fours: fives + 4 * fours, rows: b }
    }
}

/// Calls a tile for each piece of a cut, with its first row and its index. On AVX-512 every full
/// tile prefetches, otherwise only the first.
macro_rules! each_piece {
    ($cut:expr, $self:ident.$tile:ident::<$a:ident, _, $n:ident, _>(_, $($arg:expr),*)) => {
        let (cut, mut i, mut piece) = ($cut, 0, 0);
        while i < cut.fives {
            match piece == 0 || $a::IS_WIDE {
                true => $self.$tile::<$a, 5, $n, true>((i, piece), $($arg),*),
                false => $self.$tile::<$a, 5, $n, false>((i, piece), $($arg),*),
            }
            (i, piece) = (i + 5, piece + 1);
        }
        while i < cut.fours {
            match piece == 0 || $a::IS_WIDE {
                true => $self.$tile::<$a, 4, $n, true>((i, piece), $($arg),*),
                false => $self.$tile::<$a, 4, $n, false>((i, piece), $($arg),*),
            }
            (i, piece) = (i + 4, piece + 1);
        }
        match cut.rows - i {
            0 => {}
            1 => $self.$tile::<$a, 1, $n, false>((i, piece), $($arg),*),
            2 => $self.$tile::<$a, 2, $n, false>((i, piece), $($arg),*),
            _ => $self.$tile::<$a, 3, $n, false>((i, piece), $($arg),*),
        }
    };
}

/// The sixteen floats starting at `at`.
///
/// # Safety
/// They must lie within `m`.
#[inline(always)]
pub(super) unsafe fn load<A: Arithmetic>(m: &[f32], at: usize) -> A::Wide {
    debug_assert!(at + WIDE <= m.len());
    // SAFETY: in bounds by the contract above; sixteen floats are aligned like one.
    A::load_wide(unsafe { &*m.as_ptr().add(at).cast::<[f32; WIDE]>() })
}

/// The eight floats starting at `at`.
///
/// # Safety
/// They must lie within `m`.
#[inline(always)]
unsafe fn eight(m: &[f32], at: usize) -> &[f32; LANES] {
    debug_assert!(at + LANES <= m.len());
    // SAFETY: in bounds by the contract above; eight floats are aligned like one.
    unsafe { &*m.as_ptr().add(at).cast::<[f32; LANES]>() }
}

/// Writes the sixteen floats starting at `at`, except the first `skip`.
///
/// # Safety
/// They must lie within `m`.
#[inline(always)]
unsafe fn store<A: Arithmetic>(wide: A::Wide, m: &mut [f32], at: usize, skip: usize) {
    debug_assert!(at + WIDE <= m.len());
    // SAFETY: in bounds by the contract above; sixteen floats are aligned like one.
    let to = unsafe { &mut *m.as_mut_ptr().add(at).cast::<[f32; WIDE]>() };
    if skip == 0 {
        return A::store_wide(wide, to);
    }
    let mut whole = [0.0; WIDE];
    A::store_wide(wide, &mut whole);
    to[skip..].copy_from_slice(&whole[skip..]);
}

widest! {
    /// `Y (B, N) += X (B, K) · W (K, N)` with `16 ≤ N`.
    pub(super) fn add_many_product(y: &mut [f32], x: &[f32], w: &[f32], b: usize)
        = add_many_product_body
}

#[inline(always)]
pub(super) fn add_many_product_body<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32], b: usize) {
    let (k, n) = (x.len() / b, y.len() / b);
    assert!(WIDE <= n && x.len() == b * k && y.len() == b * n && w.len() == k * n);
    let mut product = Product { y, x, w, cut: Cut::new(b), k, n };
    let near = near::<A>(n);
    for start in (0..k).step_by(near) {
        let rows = (start, (k - start).min(near));
        let j = if A::IS_WIDE { product.add_strips::<A, 4>(rows, 0) } else { 0 };
        let j = product.add_strips::<A, 1>(rows, j);
        if j < n {
            // The tail columns, padded on the left to sixteen; the padding is not written back.
            product.add_strip::<A, 1>(rows, n - WIDE, WIDE - (n - j));
        }
    }
}

/// A running `Y += X · W`, with matching shapes.
struct Product<'a> {
    y: &'a mut [f32],
    x: &'a [f32],
    w: &'a [f32],
    cut: Cut,
    k: usize,
    n: usize,
}

impl Product<'_> {
    /// Adds the contribution of the rows `(start, len)` of `W` to the columns from `j` on, `16 V`
    /// at a time. Returns the first column not done.
    #[inline(always)]
    fn add_strips<A: Arithmetic, const V: usize>(
        &mut self,
        rows: (usize, usize),
        mut j: usize,
    ) -> usize {
        while j + V * WIDE <= self.n {
            self.add_strip::<A, V>(rows, j, 0);
            j += V * WIDE;
        }
        j
    }

    /// The same for one strip of `16 V` columns at `j ≤ N − 16 V`, except the first `skip`.
    #[inline(always)]
    fn add_strip<A: Arithmetic, const V: usize>(
        &mut self,
        rows: (usize, usize),
        j: usize,
        skip: usize,
    ) {
        // SAFETY: rows and columns are within the shapes, and pieces within the rows of `X`.
        unsafe {
            each_piece!(self.cut, self.add_tile::<A, _, V, _>(_, rows, j, skip));
        }
    }

    /// The same for `B` rows of `X` from `i` on; prefetches the next strip if `PREFETCH`.
    ///
    /// # Safety
    /// Rows and columns must be within the shapes.
    #[inline(always)]
    unsafe fn add_tile<A: Arithmetic, const B: usize, const V: usize, const PREFETCH: bool>(
        &mut self,
        (i, piece): (usize, usize),
        (start, len): (usize, usize),
        j: usize,
        skip: usize,
    ) {
        let Product { y, x, w, k, n, .. } = self;
        let (k, n) = (*k, *n);
        let at = |b: usize, v: usize| (i + b) * n + j + v * WIDE;
        let ahead = j + (V.max(2) + piece * share::<A>(V)) * WIDE;
        // SAFETY: rows and columns are within the shapes.
        unsafe {
            let mut sums = [[A::splat_wide(0.0); V]; B];
            for b in 0..B {
                for v in 0..V {
                    sums[b][v] = load::<A>(y, at(b, v));
                }
            }
            for kk in start..start + len {
                let row = kk * n + j;
                let mut weights = [A::splat_wide(0.0); V];
                for v in 0..V {
                    weights[v] = load::<A>(w, row + v * WIDE);
                }
                if PREFETCH {
                    for v in 0..share::<A>(V) {
                        prefetch(w, kk * n + ahead + v * WIDE);
                    }
                }
                for b in 0..B {
                    let x = A::splat_wide(*x.get_unchecked((i + b) * k + kk));
                    for v in 0..V {
                        sums[b][v] = A::mul_add_wide(x, weights[v], sums[b][v]);
                    }
                }
            }
            for b in 0..B {
                for v in 0..V {
                    store::<A>(sums[b][v], y, at(b, v), skip);
                }
            }
        }
    }
}

widest! {
    /// `dX (B, K) += dY (B, N) · Wᵀ` with `8 ≤ N`.
    pub(super) fn add_many_transposed(
        dx: &mut [f32],
        dy: &[f32],
        w: &[f32],
        b: usize,
        panel: &mut Panel,
    ) = add_many_transposed_body
}

#[inline(always)]
pub(super) fn add_many_transposed_body<A: Arithmetic>(
    dx: &mut [f32],
    dy: &[f32],
    w: &[f32],
    b: usize,
    panel: &mut Panel,
) {
    match collides(dy.len() / b) {
        true => add_groups::<A, true>(dx, dy, w, b, panel),
        false => add_groups::<A, false>(dx, dy, w, b, panel),
    }
}

#[inline(always)]
fn add_groups<A: Arithmetic, const PACKS: bool>(
    dx: &mut [f32],
    dy: &[f32],
    w: &[f32],
    b: usize,
    panel: &mut Panel,
) {
    let (k, n) = (dx.len() / b, dy.len() / b);
    assert!(LANES <= n && dx.len() == b * k && dy.len() == b * n && w.len() == k * n);
    let packed = if PACKS { 2 * PAIRS * CHUNK_PACKED * LANES } else { 0 };
    let (lanes, packed) = panel.two(GROUP * BLOCK * LANES, packed);
    for (dx, dy) in dx.chunks_mut(GROUP * k).zip(dy.chunks(GROUP * n)) {
        let cut = Cut::new(dy.len() / n);
        for start in (0..k).step_by(BLOCK) {
            let rows = (k - start).min(BLOCK);
            let w = &w[start * n..(start + rows) * n];
            let mut dots = Dots::<PACKS> { lanes, dy, w, packed, cut, rows, n };
            dots.add_block::<A>();
            for (dx, lanes) in dx.chunks_exact_mut(k).zip(lanes.chunks_exact(BLOCK * LANES)) {
                let lanes = &lanes.as_chunks().0[..rows];
                add_lanes::<A>(&mut dx[start..start + rows], lanes);
            }
        }
    }
}

/// Rows of `dY` and of `W` per block. Their products, vectors of partial sums until the end, stay
/// in an inner cache. `BLOCK` is even, since rows of `W` are taken in pairs.
const GROUP: usize = 30;
const BLOCK: usize = 64;

/// Vectors of each row per pass, so that those of a block stay in an inner cache too; fewer where
/// rows of `W` are packed, because those of `dY` compete for the same sets of the cache.
const CHUNK: usize = 96;
const CHUNK_PACKED: usize = 48;

/// Pairs of rows of `W` that a tile takes at once on AVX-512.
const PAIRS: usize = 4;

/// Whether rows of this length lie a multiple of 4 KiB apart, so that the same columns of all of them
/// compete for one set of the inner cache. Part of such a matrix is packed before it is used.
const fn collides(n: usize) -> bool {
    n.is_multiple_of(1024)
}

/// Dot products of a group of rows of `dY` with a block of rows of `W`, each a vector of per-lane
/// partial sums: `lanes (30, 64, 8)`. The shapes agree.
struct Dots<'a, const PACKS: bool> {
    lanes: &'a mut [f32],
    dy: &'a [f32],
    w: &'a [f32],
    /// Room for rows of `W`, where they collide.
    packed: &'a mut [f32],
    cut: Cut,
    /// Rows of `W`.
    rows: usize,
    n: usize,
}

impl<const PACKS: bool> Dots<'_, PACKS> {
    /// Computes the whole block.
    #[inline(always)]
    fn add_block<A: Arithmetic>(&mut self) {
        let whole = self.n / LANES;
        let chunk = if PACKS { CHUNK_PACKED } else { CHUNK };
        for start in (0..whole).step_by(chunk) {
            let vectors = (start, (whole - start).min(chunk));
            let mut kk = 0;
            while A::IS_WIDE && kk + 2 * PAIRS <= self.rows {
                self.add_rows::<A, PAIRS>(kk, vectors);
                kk += 2 * PAIRS;
            }
            while kk < self.rows {
                self.add_rows::<A, 1>(kk, vectors);
                kk += 2;
            }
        }
        if whole * LANES < self.n {
            self.add_last::<A>();
        }
    }

    /// Adds the contribution of the vectors `(start, len)` to `P` pairs of rows of `W` from `kk`
    /// on.
    #[inline(always)]
    fn add_rows<A: Arithmetic, const P: usize>(&mut self, kk: usize, vectors: (usize, usize)) {
        if PACKS {
            let (start, len) = (vectors.0 * LANES, vectors.1 * LANES);
            for (row, packed) in (kk..self.rows).zip(self.packed.chunks_exact_mut(len)).take(2 * P)
            {
                packed.copy_from_slice(&self.w[row * self.n + start..][..len]);
            }
        }
        // SAFETY: rows and vectors are within the shapes, and pieces within the rows of `dY`.
        unsafe {
            each_piece!(self.cut, self.add_tile::<A, _, P, _>(_, kk, vectors));
        }
    }

    /// The same for `B` rows of `dY` from `i` on; prefetches the next rows of `W` if `PREFETCH`. An
    /// odd last row is paired with itself; the second result is never read.
    ///
    /// # Safety
    /// Rows and vectors must be within the shapes.
    #[inline(always)]
    unsafe fn add_tile<A: Arithmetic, const B: usize, const P: usize, const PREFETCH: bool>(
        &mut self,
        (i, piece): (usize, usize),
        kk: usize,
        (start, len): (usize, usize),
    ) {
        let Dots { lanes, dy, w, packed, n, rows, .. } = self;
        let (n, last) = (*n, *rows - 1);
        let at = |b: usize, p: usize| ((i + b) * BLOCK + kk + 2 * p) * LANES;
        // Rows as they lie in `W`, or packed from the first vector on.
        let (near, stride, first_row, first) = match PACKS {
            true => (&**packed, len * LANES, kk, start * LANES),
            false => (&**w, n, 0, 0),
        };
        let pairs: [_; P] = std::array::from_fn(|p| {
            let row = kk + 2 * p;
            let at = |row: usize| (row - first_row) * stride;
            (at(row), at((row + 1).min(last)))
        });
        let ahead = kk + 2 * P + piece * share::<A>(2 * P);
        // SAFETY: rows and vectors are within the shapes. A pair that begins with the last row
        // still fits in `lanes`, since `BLOCK` is even.
        unsafe {
            let mut sums = [[A::splat_wide(0.0); P]; B];
            if 0 < start {
                for b in 0..B {
                    for p in 0..P {
                        sums[b][p] = load::<A>(lanes, at(b, p));
                    }
                }
            }
            for v in start..start + len {
                let j = v * LANES;
                let mut weights = [A::splat_wide(0.0); P];
                for p in 0..P {
                    let at = j - first;
                    weights[p] =
                        A::pair(eight(near, pairs[p].0 + at), eight(near, pairs[p].1 + at));
                }
                if PREFETCH {
                    for row in 0..share::<A>(2 * P) {
                        prefetch(w, (ahead + row) * n + j);
                    }
                }
                for b in 0..B {
                    let dy = A::twice(eight(dy, (i + b) * n + j));
                    for p in 0..P {
                        sums[b][p] = A::mul_add_wide(dy, weights[p], sums[b][p]);
                    }
                }
            }
            for b in 0..B {
                for p in 0..P {
                    store::<A>(sums[b][p], lanes, at(b, p), 0);
                }
            }
        }
    }

    /// The tail columns, as full vectors with zeros in the lanes already counted.
    #[inline(always)]
    fn add_last<A: Arithmetic>(&mut self) {
        let Dots { lanes, dy, w, n, .. } = self;
        let rest = *n % LANES;
        let lanes = lanes.as_chunks_mut::<LANES>().0;
        for (dy, lanes) in dy.chunks_exact(*n).zip(lanes.chunks_exact_mut(BLOCK)) {
            let mut last = [0.0; LANES];
            last[LANES - rest..].copy_from_slice(&dy[*n - rest..]);
            let last = A::load(&last);
            for (lanes, row) in lanes.iter_mut().zip(w.chunks_exact(*n)) {
                let row = A::load(row.last_chunk().expect("row shorter than a vector"));
                A::store(A::mul_add_each(last, row, A::load(lanes)), lanes);
            }
        }
    }
}
