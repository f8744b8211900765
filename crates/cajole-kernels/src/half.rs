//! Matrix-vector products with f16 weights.
//!
//! A matvec uses each weight once, so with a matrix larger than the inner caches it is
//! memory-bound: halving the bytes halves the time. Weights are widened to f32 as they are read,
//! which is exact, and accumulated in f32 in the order of `matrix.rs`. The result is bit-identical
//! to using the widened matrix.
//!
//! Rows of an f16 matrix are padded to a whole number of vectors, so that no vector straddles two
//! cache lines.

use half::f16;
use half::slice::HalfFloatSliceExt;

#[cfg(target_arch = "x86_64")]
use super::arithmetic::Avx2;
use super::matrix::add_sum;
use super::{Arithmetic, LANES, Plain, prefetch};

/// Whether f16 represents all of these exactly.
pub fn is_exact(w: &[f32]) -> bool {
    const PIECE: usize = 256;
    let (mut halves, mut widened) = ([f16::ZERO; PIECE], [0.0; PIECE]);
    w.chunks(PIECE).all(|w| {
        let (halves, widened) = (&mut halves[..w.len()], &mut widened[..w.len()]);
        halves.convert_from_f32_slice(w);
        halves.convert_to_f32_slice(widened);
        w == widened
    })
}

/// Whether this machine widens f16 about as fast as it reads it.
pub fn pays() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Conversion between a vector of f16 and a vector of f32.
trait Convert: Arithmetic {
    fn widen(halves: &[f16; LANES]) -> Self::Vector;
    fn round(floats: &[f32; LANES]) -> [f16; LANES];
}

impl Convert for Plain {
    #[inline(always)]
    fn widen(halves: &[f16; LANES]) -> Self::Vector {
        halves.map(f16::to_f32)
    }

    #[inline(always)]
    fn round(floats: &[f32; LANES]) -> [f16; LANES] {
        floats.map(f16::from_f32)
    }
}

#[cfg(target_arch = "x86_64")]
impl Convert for Avx2 {
    #[inline(always)]
    fn widen(halves: &[f16; LANES]) -> Self::Vector {
        use std::arch::x86_64::{__m128i, _mm256_cvtph_ps};
        // SAFETY: both types are sixteen bytes, valid for any bit pattern. Only `widening!`
        // instantiates kernels with `Avx2` here, after detecting F16C.
        unsafe { _mm256_cvtph_ps(std::mem::transmute::<[f16; LANES], __m128i>(*halves)) }
    }

    #[inline(always)]
    fn round(floats: &[f32; LANES]) -> [f16; LANES] {
        use std::arch::x86_64::{__m128i, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtps_ph};
        // SAFETY: as above.
        unsafe {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(Self::load(floats));
            std::mem::transmute::<__m128i, [f16; LANES]>(halves)
        }
    }
}

/// Defines `name` as `body`, compiled with F16C and without.
macro_rules! widening {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            if pays() {
                #[target_feature(enable = "avx2,fma,f16c")]
                fn f16c($($arg: $ty),*) {
                    $body::<Avx2>($($arg),*);
                }
                // SAFETY: AVX2, FMA and F16C were detected above.
                return unsafe { f16c($($arg),*) };
            }
            $body::<Plain>($($arg),*);
        }
    };
}

/// Row stride, in f16 elements, of a matrix with `n` columns.
pub fn stride(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

widening! {
    /// Rounds `w (K, N)` to f16 with deterministic dithered rounding, which preserves the mean: a
    /// weight a tenth of the way to the next f16 is rounded away from zero one time in ten. Updates
    /// smaller than the f16 spacing therefore survive on average, and a weight that f16 represents
    /// exactly does not change. Padding between rows is left untouched.
    fn round(halves: &mut [f16], w: &[f32], n: usize) = round_body
}

/// Mantissa bits that f16 has no room for.
const LOST: u32 = 13;

/// Rounds the magnitude up if the lost bits plus `noise` overflow them.
#[inline(always)]
fn dithered(w: f32, noise: u32) -> f32 {
    f32::from_bits(w.to_bits().wrapping_add(noise >> (32 - LOST)) >> LOST << LOST)
}

/// Noise increments per row and per column, as fractions of 2³²: 1/p and 1/p², p the plastic ratio.
/// Their multiples are spread evenly over any part of a matrix, whatever its shape.
const NOISE: (u32, u32) = (0xc13f_a9a9, 0x91e1_0da5);

#[inline(always)]
fn round_body<A: Convert>(halves: &mut [f16], w: &[f32], n: usize) {
    assert!(halves.len() * n == w.len() * stride(n), "the f16 copy has another shape");
    let rows = halves.chunks_exact_mut(stride(n)).zip(w.chunks_exact(n));
    for (kk, (halves, w)) in rows.enumerate() {
        let start = NOISE.0.wrapping_mul(kk as u32);
        let mut noise: [u32; LANES] =
            std::array::from_fn(|l| start.wrapping_add(NOISE.1.wrapping_mul(l as u32)));
        let (w, rest) = w.as_chunks::<LANES>();
        let (halves, halves_rest) = halves.split_at_mut(w.len() * LANES);
        for (halves, w) in halves.as_chunks_mut().0.iter_mut().zip(w) {
            let mut spread = [0.0; LANES];
            for l in 0..LANES {
                spread[l] = dithered(w[l], noise[l]);
                noise[l] = noise[l].wrapping_add(NOISE.1.wrapping_mul(LANES as u32));
            }
            *halves = A::round(&spread);
        }
        for (l, (half, &w)) in halves_rest.iter_mut().zip(rest).enumerate() {
            *half = f16::from_f32(dithered(w, noise[l]));
        }
    }
}

widening! {
    /// `y (N) += x (K) · W (K, N)` with `8 ≤ N`, reading `W` in order.
    fn add_half_product(y: &mut [f32], x: &[f32], w: &[f16]) = add_half_product_body
}

/// Rows of `W` read side by side; each output sums them in order.
const ABREAST: usize = 4;

/// f16 elements per unrolled step, a cache line.
const LINE: usize = 4 * LANES;

#[inline(always)]
fn add_half_product_body<A: Convert>(y: &mut [f32], x: &[f32], w: &[f16]) {
    let stride = stride(y.len());
    assert!(LANES <= y.len() && w.len() == x.len() * stride, "mismatched product shapes");
    let (fours, rest) = x.as_chunks::<ABREAST>();
    let mut w = w;
    for x in fours {
        add_rows::<A, ABREAST>(y, x, w);
        w = &w[ABREAST * stride..];
    }
    for x in rest.as_chunks::<1>().0 {
        add_rows::<A, 1>(y, x, w);
        w = &w[stride..];
    }
}

/// `y (N) += x (R) · W (R, N)`, the first `R` rows of `w`; prefetches the next `R` in memory order.
#[inline(always)]
fn add_rows<A: Convert, const R: usize>(y: &mut [f32], x: &[f32; R], w: &[f16]) {
    let n = y.len();
    let mut splats = [A::splat(0.0); R];
    for r in 0..R {
        splats[r] = A::splat(x[r]);
    }
    let rows: [&[f16]; R] = std::array::from_fn(|r| &w[r * stride(n)..][..n]);
    let whole = n / LANES;
    let chunks: [&[[f16; LANES]]; R] = std::array::from_fn(|r| &rows[r].as_chunks().0[..whole]);
    // The tail columns, padded on the left to a full vector; the padding is not written back.
    let rest = n - whole * LANES;
    let mut last = [0.0; LANES];
    if 0 < rest {
        last[LANES - rest..].copy_from_slice(&y[n - rest..]);
        let mut sum = A::load(&last);
        for r in 0..R {
            sum = A::mul_add_each(splats[r], A::widen(last_chunk(rows[r])), sum);
        }
        A::store(sum, &mut last);
    }
    let (lines, others) = y[..whole * LANES].as_chunks_mut::<LINE>();
    for (i, y) in lines.iter_mut().enumerate() {
        for r in 0..R {
            prefetch(w, R * stride(n) + (i * R + r) * LINE);
        }
        let y = y.as_chunks_mut::<LANES>().0;
        let mut sums = [A::splat(0.0); LINE / LANES];
        for v in 0..LINE / LANES {
            sums[v] = A::load(&y[v]);
        }
        for r in 0..R {
            for v in 0..LINE / LANES {
                // SAFETY: every row has as many vectors as `y`.
                let w = unsafe { chunks[r].get_unchecked(i * LINE / LANES + v) };
                sums[v] = A::mul_add_each(splats[r], A::widen(w), sums[v]);
            }
        }
        for v in 0..LINE / LANES {
            A::store(sums[v], &mut y[v]);
        }
    }
    let done = whole - others.len() / LANES;
    for (j, y) in others.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut sum = A::load(y);
        for r in 0..R {
            sum = A::mul_add_each(splats[r], A::widen(&chunks[r][done + j]), sum);
        }
        A::store(sum, y);
    }
    y[n - rest..].copy_from_slice(&last[LANES - rest..]);
}

/// The last full vector of a row; needs `8 ≤ N`.
#[inline(always)]
fn last_chunk(row: &[f16]) -> &[f16; LANES] {
    row.last_chunk().expect("row shorter than a vector")
}

widening! {
    /// `dx (K) += dy (N) · Wᵀ` with `8 ≤ N`.
    fn add_half_transposed(dx: &mut [f32], dy: &[f32], w: &[f16]) = add_half_transposed_body
}

#[inline(always)]
fn add_half_transposed_body<A: Convert>(dx: &mut [f32], dy: &[f32], w: &[f16]) {
    let stride = stride(dy.len());
    assert!(LANES <= dy.len() && w.len() == dx.len() * stride, "mismatched product shapes");
    let (eights, rest) = dx.as_chunks_mut::<LANES>();
    let (mut w, block) = (w, LANES * stride);
    for dx in eights {
        let sums = half_dots::<A, LANES>(dy, &w[..block]);
        A::add_sums(sums, dx);
        w = &w[block..];
    }
    for dx in rest {
        let [sum] = half_dots::<A, 1>(dy, &w[..stride]);
        add_sum::<A>(sum, dx);
        w = &w[stride..];
    }
}

/// Dot products of `dy (N)` with the rows of `W (R, N)`, each as a vector of partial sums.
#[inline(always)]
fn half_dots<A: Convert, const R: usize>(dy: &[f32], w: &[f16]) -> [A::Vector; R] {
    let n = dy.len();
    let (dys, rest) = dy.as_chunks::<LANES>();
    let rows: [&[f16]; R] = std::array::from_fn(|r| &w[r * stride(n)..][..n]);
    let chunks: [&[[f16; LANES]]; R] = std::array::from_fn(|r| &rows[r].as_chunks().0[..dys.len()]);
    let mut sums = [A::splat(0.0); R];
    for (i, dy) in dys.iter().enumerate() {
        let dy = A::load(dy);
        for r in 0..R {
            // SAFETY: every row has as many vectors as `dy`.
            let w = unsafe { chunks[r].get_unchecked(i) };
            sums[r] = A::mul_add_each(dy, A::widen(w), sums[r]);
        }
    }
    if !rest.is_empty() {
        // The tail columns as a full vector, with zeros in the lanes already counted.
        let mut last = [0.0; LANES];
        last[LANES - rest.len()..].copy_from_slice(rest);
        let last = A::load(&last);
        for r in 0..R {
            sums[r] = A::mul_add_each(last, A::widen(last_chunk(rows[r])), sums[r]);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Panel, add_product, add_product_transposed};
    use cajole_core::random::Random;

    /// `(K, N)` around the edges of vectors and of row blocks.
    const SHAPES: [(usize, usize); 7] =
        [(1, 8), (3, 9), (4, 16), (9, 31), (17, 75), (128, 512), (259, 517)];

    fn draw(random: &mut Random, len: usize) -> Vec<f32> {
        (0..len).map(|_| random.uniform(-1.0, 1.0)).collect()
    }

    #[test]
    fn products_are_bit_identical_to_the_widened_matrix() {
        let random = &mut Random::new(1);
        for (k, n) in SHAPES {
            let (x, dy) = (draw(random, k), draw(random, n));
            let (y0, dx0) = (draw(random, n), draw(random, k));
            let mut halves = vec![f16::NAN; k * stride(n)];
            round(&mut halves, &draw(random, k * n), n);
            // Subnormal f16 values must widen correctly too.
            halves[0] = f16::from_bits(1);
            let rows = halves.chunks_exact(stride(n)).flat_map(|row| &row[..n]);
            let w: Vec<f32> = rows.map(|h| h.to_f32()).collect();
            let panel = &mut Panel::default();

            let (mut y, mut want) = (y0.clone(), y0);
            add_half_product(&mut y, &x, &halves);
            add_product(&mut want, &x, &w, k, n);
            assert_eq!(y, want, "{k} x {n}");

            let (mut dx, mut want) = (dx0.clone(), dx0);
            add_half_transposed(&mut dx, &dy, &halves);
            add_product_transposed(&mut want, &dy, &w, k, n, panel);
            assert_eq!(dx, want, "{k} x {n} transposed");
        }
    }

    #[test]
    fn the_portable_fallback_agrees_with_f16c() {
        let random = &mut Random::new(2);
        let close = |got: &[f32], want: &[f32]| {
            got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + b.abs()))
        };
        for (k, n) in SHAPES {
            let (x, dy) = (draw(random, k), draw(random, n));
            let mut halves = vec![f16::ZERO; k * stride(n)];
            let (w, mut by_software) = (draw(random, k * n), halves.clone());
            round(&mut halves, &w, n);
            round_body::<Plain>(&mut by_software, &w, n);
            assert_eq!(halves, by_software);
            let (mut y, mut plain) = (vec![0.0; n], vec![0.0; n]);
            add_half_product(&mut y, &x, &halves);
            add_half_product_body::<Plain>(&mut plain, &x, &halves);
            assert!(close(&plain, &y), "{k} x {n}");
            let (mut dx, mut plain) = (vec![0.0; k], vec![0.0; k]);
            add_half_transposed(&mut dx, &dy, &halves);
            add_half_transposed_body::<Plain>(&mut plain, &dy, &halves);
            assert!(close(&plain, &dx), "{k} x {n} transposed");
        }
    }

    #[test]
    fn dithered_rounding_preserves_the_mean() {
        let k = 200;
        // Golden-ratio increments would barely differ between rows of 144 or 2584 columns.
        for n in [144, 300, 2584] {
            for (from, step) in [(0.05, 4e-6), (-0.3, 2e-5), (0.011, -1e-6)] {
                let from = f16::from_f32(from).to_f32();
                let mut halves = vec![f16::ZERO; k * stride(n)];
                round(&mut halves, &vec![from + step; k * n], n);
                let moved = |h: &f16| f64::from(h.to_f32()) - f64::from(from);
                let rows = || halves.chunks_exact(stride(n)).map(|row| &row[..n]);
                let by_column = (0..n).map(|j| rows().map(|row| moved(&row[j])).sum::<f64>());
                for mean in by_column.map(|sum| sum / k as f64) {
                    let off = (mean / f64::from(step) - 1.0).abs();
                    assert!(off < 0.3, "{n} columns: one has mean update {mean}, not {step}");
                }
                let mean = rows().flatten().map(moved).sum::<f64>() / (k * n) as f64;
                let off = (mean / f64::from(step) - 1.0).abs();
                assert!(off < 0.02, "{n} columns: mean update is {mean}, not {step}");
            }
        }
    }

    #[test]
    fn rounding_keeps_exact_f16_and_stays_close_otherwise() {
        let mut rounded = [f16::ZERO; 16];
        let wild: [f32; 11] = std::array::from_fn(|i| 1e4f32.powf(i as f32 / 5.0 - 1.0));
        let halves = wild.map(|w| f16::from_f32(w).to_f32());
        round(&mut rounded, &halves, 11);
        assert_eq!(rounded[..11], wild.map(f16::from_f32));
        round(&mut rounded, &wild, 11);
        for (rounded, w) in rounded.iter().zip(wild) {
            assert!((rounded.to_f32() / w - 1.0).abs() < 1e-3, "{rounded} for {w}");
        }
        assert!(is_exact(&[0.0, -1.5, 65504.0, 2.0f32.powi(-24)]));
        assert!(!is_exact(&[0.1]) && !is_exact(&[1e-9]) && !is_exact(&[f32::NAN]));
    }
}
