//! Products of many rows with a matrix.
//!
//! Many rows use each weight many times, so the multipliers can be kept busy, if three things hold.
//! A tile of five rows and two vectors has enough sums to hide how long a multiply-add takes, and few
//! enough to stay in registers. What a tile walks over is small, and stays in the innermost cache
//! until all rows have met it. And weights are asked for some time before they are needed, since a
//! walk over part of many rows is nothing that a processor foresees.
//!
//! Tiles are short, so that what they cost besides multiplying would show: they do not check where
//! they read and write. Those who call them have checked that the shapes agree, and stay within them.

use super::matrix::add_lanes;
use super::{Arithmetic, LANES, Panel, multiversion, prefetch};

/// Rows of `W` that all of `X` meets before the next: few enough to be asked for row by row.
const NEAR: usize = 25;

/// How far ahead weights are asked for: two tiles of columns.
const AHEAD: usize = 4 * LANES;

/// How rows are cut: into fives, then fours; three at most are left.
#[derive(Clone, Copy)]
struct Cut {
    /// Where fives end.
    fives: usize,
    /// Where fours end.
    fours: usize,
    /// Where rows end.
    rows: usize,
}

impl Cut {
    fn new(b: usize) -> Self {
        let fours = ((5 - b % 5) % 5).min(b / 4);
        let fives = (b - 4 * fours) / 5 * 5;
        Cut { fives, fours: fives + 4 * fours, rows: b }
    }
}

/// Calls a tile for each piece of a cut, the first one such that it asks for what lies ahead.
macro_rules! each_piece {
    ($cut:expr, $self:ident.$tile:ident::<$a:ident, _, $n:ident, _>(_, $($arg:expr),*)) => {
        let (cut, mut i) = ($cut, 0);
        while i < cut.fives {
            match i {
                0 => $self.$tile::<$a, 5, $n, true>(i, $($arg),*),
                _ => $self.$tile::<$a, 5, $n, false>(i, $($arg),*),
            }
            i += 5;
        }
        while i < cut.fours {
            match i {
                0 => $self.$tile::<$a, 4, $n, true>(i, $($arg),*),
                _ => $self.$tile::<$a, 4, $n, false>(i, $($arg),*),
            }
            i += 4;
        }
        match cut.rows - i {
            0 => {}
            1 => $self.$tile::<$a, 1, $n, false>(i, $($arg),*),
            2 => $self.$tile::<$a, 2, $n, false>(i, $($arg),*),
            _ => $self.$tile::<$a, 3, $n, false>(i, $($arg),*),
        }
    };
}

/// The vector that begins at `at`.
///
/// # Safety
/// It must lie within `m`.
#[inline(always)]
unsafe fn load<A: Arithmetic>(m: &[f32], at: usize) -> A::Vector {
    debug_assert!(at + LANES <= m.len());
    // SAFETY: as above; eight floats are as aligned as one.
    A::load(unsafe { &*m.as_ptr().add(at).cast::<[f32; LANES]>() })
}

/// Writes the lanes from `skip` on of a vector that begins at `at`.
///
/// # Safety
/// It must lie within `m`.
#[inline(always)]
unsafe fn store<A: Arithmetic>(vector: A::Vector, m: &mut [f32], at: usize, skip: usize) {
    debug_assert!(at + LANES <= m.len());
    // SAFETY: as above; eight floats are as aligned as one.
    let to = unsafe { &mut *m.as_mut_ptr().add(at).cast::<[f32; LANES]>() };
    if skip == 0 {
        return A::store(vector, to);
    }
    let mut whole = [0.0; LANES];
    A::store(vector, &mut whole);
    to[skip..].copy_from_slice(&whole[skip..]);
}

multiversion! {
    /// `Y (B, N) += X (B, K) · W (K, N)` with `8 ≤ N`.
    pub(super) fn add_many_product(y: &mut [f32], x: &[f32], w: &[f32], b: usize)
        = add_many_product_body
}

#[inline(always)]
pub(super) fn add_many_product_body<A: Arithmetic>(y: &mut [f32], x: &[f32], w: &[f32], b: usize) {
    let (k, n) = (x.len() / b, y.len() / b);
    assert!(LANES <= n && x.len() == b * k && y.len() == b * n && w.len() == k * n);
    let mut product = Product { y, x, w, cut: Cut::new(b), k, n };
    for start in (0..k).step_by(NEAR) {
        let rows = (start, (k - start).min(NEAR));
        let whole = n / LANES * LANES;
        for j in (0..n / (2 * LANES)).map(|j| j * 2 * LANES) {
            product.add_strip::<A, 2>(rows, j, 0);
        }
        if !whole.is_multiple_of(2 * LANES) {
            product.add_strip::<A, 1>(rows, whole - LANES, 0);
        }
        if whole < n {
            // The last columns, with some before them to make up a vector; those are not written.
            product.add_strip::<A, 1>(rows, n - LANES, LANES - (n - whole));
        }
    }
}

/// `Y += X · W` under way; the shapes agree.
struct Product<'a> {
    y: &'a mut [f32],
    x: &'a [f32],
    w: &'a [f32],
    cut: Cut,
    k: usize,
    n: usize,
}

impl Product<'_> {
    /// What some rows of `W`, so many from the first of them on, add to `V` vectors of columns from
    /// `j ≤ N − 8 V` on, without the first `skip` of them.
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

    /// The same for `B` rows of `X` from `i` on. One of the tiles asks for what lies ahead.
    ///
    /// # Safety
    /// Rows and columns must be within the shapes.
    #[inline(always)]
    unsafe fn add_tile<A: Arithmetic, const B: usize, const V: usize, const ASKS: bool>(
        &mut self,
        i: usize,
        (start, len): (usize, usize),
        j: usize,
        skip: usize,
    ) {
        let Product { y, x, w, k, n, .. } = self;
        let (k, n) = (*k, *n);
        let at = |b: usize, v: usize| (i + b) * n + j + v * LANES;
        // SAFETY: rows and columns are within the shapes.
        unsafe {
            let mut sums = [[A::splat(0.0); V]; B];
            for b in 0..B {
                for v in 0..V {
                    sums[b][v] = load::<A>(y, at(b, v));
                }
            }
            for kk in start..start + len {
                let row = kk * n + j;
                let mut weights = [A::splat(0.0); V];
                for v in 0..V {
                    weights[v] = load::<A>(w, row + v * LANES);
                }
                if ASKS {
                    prefetch(w, row + AHEAD);
                }
                for b in 0..B {
                    let x = A::splat(*x.get_unchecked((i + b) * k + kk));
                    for v in 0..V {
                        sums[b][v] = A::mul_add_each(x, weights[v], sums[b][v]);
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

multiversion! {
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
    let (k, n) = (dx.len() / b, dy.len() / b);
    assert!(LANES <= n && dx.len() == b * k && dy.len() == b * n && w.len() == k * n);
    let (lanes, halves) = panel.two(GROUP * BLOCK * LANES, BLOCK * LANES / 2);
    for (dx, dy) in dx.chunks_mut(GROUP * k).zip(dy.chunks(GROUP * n)) {
        let cut = Cut::new(dy.len() / n);
        for start in (0..k).step_by(BLOCK) {
            let rows = (k - start).min(BLOCK);
            let w = &w[start * n..(start + rows) * n];
            let mut dots = Dots { lanes, dy, w, cut, n };
            dots.add_block::<A>(rows);
            for (dx, lanes) in dx.chunks_exact_mut(k).zip(lanes.chunks_exact(BLOCK * LANES)) {
                add_lanes(&mut dx[start..start + rows], lanes, halves);
            }
        }
    }
}

/// Rows of `dY` that are done before the next, and rows of `W` that they meet together: their
/// products, which are vectors until the last, stay in an inner cache.
const GROUP: usize = 30;
const BLOCK: usize = 60;

/// Vectors of each row that meet before the next: those of all rows of `dY` stay in the innermost.
const CHUNK: usize = 20;

/// The dot products of some rows of `dY` with some of `W`, each as a vector whose lanes are yet to be
/// added up, `lanes (30, 60, 8)`; the shapes agree.
struct Dots<'a> {
    lanes: &'a mut [f32],
    dy: &'a [f32],
    w: &'a [f32],
    cut: Cut,
    n: usize,
}

impl Dots<'_> {
    /// All of them, for so many rows of `W`.
    #[inline(always)]
    fn add_block<A: Arithmetic>(&mut self, rows: usize) {
        let whole = self.n / LANES;
        for start in (0..whole).step_by(CHUNK) {
            let vectors = (start, (whole - start).min(CHUNK));
            for kk in (0..rows / 2).map(|kk| 2 * kk) {
                self.add_rows::<A, 2>(kk, vectors);
            }
            if rows % 2 == 1 {
                self.add_rows::<A, 1>(rows - 1, vectors);
            }
        }
        if whole * LANES < self.n {
            self.add_last::<A>();
        }
    }

    /// What some vectors, so many from the first of them on, say of `R` rows of `W` from `kk` on.
    #[inline(always)]
    fn add_rows<A: Arithmetic, const R: usize>(&mut self, kk: usize, vectors: (usize, usize)) {
        // SAFETY: rows and vectors are within the shapes, and pieces within the rows of `dY`.
        unsafe {
            each_piece!(self.cut, self.add_tile::<A, _, R, _>(_, kk, vectors));
        }
    }

    /// The same for `B` rows of `dY` from `i` on. One of the tiles asks for the next rows of
    /// `W`.
    ///
    /// # Safety
    /// Rows and vectors must be within the shapes.
    #[inline(always)]
    unsafe fn add_tile<A: Arithmetic, const B: usize, const R: usize, const ASKS: bool>(
        &mut self,
        i: usize,
        kk: usize,
        (start, len): (usize, usize),
    ) {
        let Dots { lanes, dy, w, n, .. } = self;
        let n = *n;
        let at = |b: usize, r: usize| ((i + b) * BLOCK + kk + r) * LANES;
        // SAFETY: rows and vectors are within the shapes.
        unsafe {
            let mut sums = [[A::splat(0.0); R]; B];
            if 0 < start {
                for b in 0..B {
                    for r in 0..R {
                        sums[b][r] = load::<A>(lanes, at(b, r));
                    }
                }
            }
            for v in start..start + len {
                let j = v * LANES;
                let mut weights = [A::splat(0.0); R];
                for r in 0..R {
                    weights[r] = load::<A>(w, (kk + r) * n + j);
                    if ASKS {
                        prefetch(w, (kk + R + r) * n + j);
                    }
                }
                for b in 0..B {
                    let dy = load::<A>(dy, (i + b) * n + j);
                    for r in 0..R {
                        sums[b][r] = A::mul_add_each(dy, weights[r], sums[b][r]);
                    }
                }
            }
            for b in 0..B {
                for r in 0..R {
                    store::<A>(sums[b][r], lanes, at(b, r), 0);
                }
            }
        }
    }

    /// The last columns, which make up no vector: with zeros in place of those before them.
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
                let row = A::load(row.last_chunk().expect("a row of a vector or more"));
                A::store(A::mul_add_each(last, row, A::load(lanes)), lanes);
            }
        }
    }
}
