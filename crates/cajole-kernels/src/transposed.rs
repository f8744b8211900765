//! Products with a matrix that is kept transposed: `dX += dY · Wᵀ`, with many rows.
//!
//! `many.rs` reads `W` where it lies. Neighbours in a vector are then terms of one sum, so a sum is
//! eight partial sums, which have to be added up across a vector. A matrix that does not change is
//! worth a second copy, in which neighbours belong to different sums: the eight partial sums are
//! eight vectors, and adding them up costs next to nothing. The copy lies in the order in which tiles
//! read it. Terms and their order are those of `many.rs`, so the bits are the same.
//!
//! Shapes: `dX (B, K)`, `dY (B, N)`, `W (K, N)`.

use super::many::load;
use super::{Aligned, Arithmetic, LANES, Panel, WIDE, prefetch, widest};

/// Rows of `W` that are multiplied together. Partial sums are of two vectors.
const STRIP: usize = 2 * WIDE;

/// A tile computes the partial sums of lanes `l` and `l + 4`, which are the first to be added up.
const PAIRS: usize = LANES / 2;

/// Floats of the copy per vector of columns: two lanes of a strip.
const BLOCK: usize = 2 * STRIP;

/// Vectors of columns per pass: their blocks stay in the innermost cache until all rows have used them.
const CHUNK: usize = 96;

/// Rows of `dY` per pass.
const GROUP: usize = 60;

/// The first tiles of a pass prefetch what the next one reads, each a cache line of every block.
const PREFETCHING: usize = BLOCK / WIDE;

/// A transposed copy of `W (K, N)`, with `8 ≤ N`.
///
/// For every strip, pair of lanes and vector of columns, it has a block `(2, 32)`: the pair's two
/// columns. Rows past `K` are zeros. Columns left over are one more vector, aligned to the right, of
/// which only these lanes are used.
#[derive(Clone, Debug)]
pub struct Transposed {
    k: usize,
    n: usize,
    blocks: Aligned,
}

impl Transposed {
    /// Whether this machine multiplies faster from a copy: only its vectors of sixteen floats make
    /// `many.rs` shuffle.
    pub fn pays() -> bool {
        #[cfg(target_arch = "x86_64")]
        return is_x86_feature_detected!("avx512f");
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// A copy of `w (K, N)`.
    pub fn new(w: &[f32], k: usize, n: usize) -> Self {
        assert!(LANES <= n && w.len() == k * n, "{} weights are not {k} rows of {n}", w.len());
        let mut blocks = Aligned::zeros(k.div_ceil(STRIP) * LANES * STRIP * n.div_ceil(LANES));
        let strips = blocks.chunks_exact_mut(LANES * STRIP * n.div_ceil(LANES));
        for (strip, w) in strips.zip(w.chunks(STRIP * n)) {
            for j in 0..n {
                let (v, lane) = match j / LANES < n / LANES {
                    true => (j / LANES, j % LANES),
                    false => (n / LANES, j + LANES - n),
                };
                let block = lane % PAIRS * n.div_ceil(LANES) + v;
                let column = &mut strip[block * BLOCK + lane / PAIRS * STRIP..][..STRIP];
                column.iter_mut().zip(w[j..].iter().step_by(n)).for_each(|(to, w)| *to = *w);
            }
        }
        Transposed { k, n, blocks }
    }
}

widest! {
    /// `dX (B, K) += dY (B, N) · Wᵀ`, with the bits of
    /// [`add_product_transposed`](crate::add_product_transposed).
    pub fn add_kept_transposed(dx: &mut [f32], dy: &[f32], w: &Transposed, panel: &mut Panel)
        = add_kept_transposed_body
}

#[inline(always)]
pub(super) fn add_kept_transposed_body<A: Arithmetic>(
    dx: &mut [f32],
    dy: &[f32],
    w: &Transposed,
    panel: &mut Panel,
) {
    let Transposed { k, n, .. } = *w;
    let (b, whole) = (dy.len() / n, n / LANES);
    assert!(dx.len() == b * k && dy.len() == b * n, "mismatched product shapes");
    let (sums, lanes) = panel.two(2 * GROUP * STRIP, GROUP * BLOCK);
    let chunk = whole.div_ceil(whole.div_ceil(CHUNK));
    let pair_len = BLOCK * n.div_ceil(LANES);
    for (dx, dy) in dx.chunks_mut(GROUP * k).zip(dy.chunks(GROUP * n)) {
        for (s, strip) in w.blocks.chunks_exact(PAIRS * pair_len).enumerate() {
            let rows = s * STRIP..k.min((s + 1) * STRIP);
            for (pair, blocks) in strip.chunks_exact(pair_len).enumerate() {
                let mut pass = Pass { blocks, dy, lanes, sums, n, pair };
                for start in (0..whole).step_by(chunk) {
                    let vectors = (start, whole.min(start + chunk));
                    match rows.len() <= WIDE {
                        true => pass.add_half::<A>(vectors),
                        false => pass.add_whole::<A>(vectors),
                    }
                }
            }
            for (dx, sums) in dx.chunks_exact_mut(k).zip(sums.chunks_exact(2 * STRIP)) {
                let (first, second) = sums.split_at(STRIP);
                for ((dx, first), second) in dx[rows.clone()].iter_mut().zip(first).zip(second) {
                    *dx += first + second;
                }
            }
        }
    }
}

/// One strip and one pair of lanes, for a group of rows.
struct Pass<'a> {
    /// `(⌈N / 8⌉, 2, 32)`; the next pair's follow.
    blocks: &'a [f32],
    dy: &'a [f32],
    /// Partial sums between two chunks of vectors, `(B, 2, 32)`.
    lanes: &'a mut [f32],
    /// Sums of the first and of the last two pairs, `(B, 2, 32)`.
    sums: &'a mut [f32],
    n: usize,
    pair: usize,
}

/// Partial sums of a tile: `B` rows times `V` vectors of rows of `W`, for both lanes of the pair.
type Tile<A, const B: usize, const V: usize> = [[[<A as Arithmetic>::Wide; V]; B]; 2];

impl Pass<'_> {
    /// The vectors `(start, end)`, for all rows, in tiles that fill the registers.
    #[inline(always)]
    fn add_whole<A: Arithmetic>(&mut self, vectors: (usize, usize)) {
        let (b, mut i) = (self.dy.len() / self.n, 0);
        // SAFETY: tiles are within the rows and the strip.
        unsafe {
            if A::IS_WIDE {
                // Fives, then fours, so that at most three rows are left.
                let fours = ((5 - b % 5) % 5).min(b / 4);
                while i + 5 <= b - 4 * fours {
                    match i / 5 < PREFETCHING {
                        true => self.add_tile::<A, 5, 2, true>(i, 0, vectors),
                        false => self.add_tile::<A, 5, 2, false>(i, 0, vectors),
                    }
                    i += 5;
                }
                while i + 4 <= b {
                    self.add_tile::<A, 4, 2, false>(i, 0, vectors);
                    i += 4;
                }
            }
            while i + 2 <= b {
                self.add_tile::<A, 2, 1, false>(i, 0, vectors);
                self.add_tile::<A, 2, 1, false>(i, WIDE, vectors);
                i += 2;
            }
            if i < b {
                self.add_tile::<A, 1, 2, false>(i, 0, vectors);
            }
        }
    }

    /// The same, for a strip of which only the first half holds rows of `W`.
    #[inline(always)]
    fn add_half<A: Arithmetic>(&mut self, vectors: (usize, usize)) {
        let (b, mut i) = (self.dy.len() / self.n, 0);
        // SAFETY: tiles are within the rows and the strip.
        unsafe {
            while A::IS_WIDE && i + 5 <= b {
                self.add_tile::<A, 5, 1, false>(i, 0, vectors);
                i += 5;
            }
            while i + 2 <= b {
                self.add_tile::<A, 2, 1, false>(i, 0, vectors);
                i += 2;
            }
            if i < b {
                self.add_tile::<A, 1, 1, false>(i, 0, vectors);
            }
        }
    }

    /// `B` rows from `i` on times the rows of the strip from `from` on.
    ///
    /// # Safety
    /// Rows and vectors must be within the shapes, and `from + 16 V ≤ 32`.
    #[inline(always)]
    unsafe fn add_tile<A: Arithmetic, const B: usize, const V: usize, const PREFETCH: bool>(
        &mut self,
        i: usize,
        from: usize,
        (start, end): (usize, usize),
    ) {
        let Pass { blocks, dy, n, pair, .. } = *self;
        debug_assert!((i + B) * n <= dy.len() && end * BLOCK <= blocks.len());
        debug_assert!(from + V * WIDE <= STRIP);
        let mut tile: Tile<A, B, V> = [[[A::splat_wide(0.0); V]; B]; 2];
        if 0 < start {
            self.resume::<A, B, V>(&mut tile, i, from);
        }
        for v in start..end {
            let mut weights = [[A::splat_wide(0.0); V]; 2];
            for side in 0..2 {
                for q in 0..V {
                    // SAFETY: every vector has a block.
                    weights[side][q] =
                        unsafe { load::<A>(blocks, v * BLOCK + side * STRIP + from + q * WIDE) };
                }
            }
            if PREFETCH {
                prefetch(blocks, (v + end - start) * BLOCK + i / 5 * WIDE);
            }
            for b in 0..B {
                for side in 0..2 {
                    let at = (i + b) * n + v * LANES + pair + side * PAIRS;
                    // SAFETY: every row has as many columns.
                    let dy = A::splat_wide(unsafe { *dy.get_unchecked(at) });
                    for q in 0..V {
                        tile[side][b][q] = A::mul_add_wide(dy, weights[side][q], tile[side][b][q]);
                    }
                }
            }
        }
        match end < n / LANES {
            true => self.suspend::<A, B, V>(&tile, i, from),
            false => {
                self.add_last::<A, B, V>(&mut tile, i, from);
                self.finish::<A, B, V>(&tile, i, from);
            }
        }
    }

    /// Reads the partial sums of the chunk before.
    #[inline(always)]
    fn resume<A: Arithmetic, const B: usize, const V: usize>(
        &self,
        tile: &mut Tile<A, B, V>,
        i: usize,
        from: usize,
    ) {
        for side in 0..2 {
            for b in 0..B {
                let lanes = &self.lanes[(i + b) * BLOCK + side * STRIP + from..][..V * WIDE];
                for q in 0..V {
                    tile[side][b][q] = A::load_wide(&lanes.as_chunks().0[q]);
                }
            }
        }
    }

    /// Writes the partial sums for the next chunk.
    #[inline(always)]
    fn suspend<A: Arithmetic, const B: usize, const V: usize>(
        &mut self,
        tile: &Tile<A, B, V>,
        i: usize,
        from: usize,
    ) {
        for side in 0..2 {
            for b in 0..B {
                let lanes = &mut self.lanes[(i + b) * BLOCK + side * STRIP + from..][..V * WIDE];
                for q in 0..V {
                    A::store_wide(tile[side][b][q], &mut lanes.as_chunks_mut().0[q]);
                }
            }
        }
    }

    /// Columns that fill no vector.
    #[inline(always)]
    fn add_last<A: Arithmetic, const B: usize, const V: usize>(
        &self,
        tile: &mut Tile<A, B, V>,
        i: usize,
        from: usize,
    ) {
        let Pass { blocks, dy, n, pair, .. } = *self;
        for side in 0..2 {
            let lane = pair + side * PAIRS;
            if lane < LANES - n % LANES {
                continue;
            }
            let weights = &blocks[n / LANES * BLOCK + side * STRIP + from..][..V * WIDE];
            for q in 0..V {
                let weights = A::load_wide(&weights.as_chunks().0[q]);
                for b in 0..B {
                    let dy = A::splat_wide(dy[(i + b + 1) * n - LANES + lane]);
                    tile[side][b][q] = A::mul_add_wide(dy, weights, tile[side][b][q]);
                }
            }
        }
    }

    /// Adds up both lanes. Pairs 0 and 1 make the first sum, 2 and 3 the second.
    #[inline(always)]
    fn finish<A: Arithmetic, const B: usize, const V: usize>(
        &mut self,
        tile: &Tile<A, B, V>,
        i: usize,
        from: usize,
    ) {
        let (half, is_first) = (self.pair / 2, self.pair.is_multiple_of(2));
        for b in 0..B {
            let sums = &mut self.sums[(2 * (i + b) + half) * STRIP + from..][..V * WIDE];
            for (q, sums) in sums.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
                let mut lanes = [[0.0; WIDE]; 2];
                A::store_wide(tile[0][b][q], &mut lanes[0]);
                A::store_wide(tile[1][b][q], &mut lanes[1]);
                for l in 0..WIDE {
                    let sum = lanes[0][l] + lanes[1][l];
                    sums[l] = if is_first { sum } else { sums[l] + sum };
                }
            }
        }
    }
}
