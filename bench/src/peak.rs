//! What one core can do at best: fused multiply-adds that wait for nothing.
//!
//! A core starts two FMAs per cycle, and each takes four or five cycles: at least ten sums must be
//! in flight. Twelve are, and they never leave their registers, so neither memory nor the compiler
//! gets in the way.

// The widest vectors need instructions by name.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};

const SUMS: usize = 12;
/// Multiply-adds per lane between two looks at the clock, some 50 µs.
const ROUNDS: usize = 16_384;

/// Floating-point operations per second of one core, in 10⁹, with the widest vectors it has.
pub(crate) fn gflops() -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};
        #[target_feature(enable = "avx512f")]
        fn avx512() {
            let [a, b] = black_box([_mm512_set1_ps(0.5), _mm512_set1_ps(0.25)]);
            rounds(std::array::from_fn(|s| _mm512_set1_ps(s as f32)), |sum| {
                _mm512_fmadd_ps(sum, a, b)
            });
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2() {
            let [a, b] = black_box([_mm256_set1_ps(0.5), _mm256_set1_ps(0.25)]);
            rounds(std::array::from_fn(|s| _mm256_set1_ps(s as f32)), |sum| {
                _mm256_fmadd_ps(sum, a, b)
            });
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has just been found to have AVX-512.
            return rate(16, || unsafe { avx512() });
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has just been found to have AVX2 and FMA.
            return rate(8, || unsafe { avx2() });
        }
    }
    let [a, b] = black_box([[0.5f32; 4], [0.25; 4]]);
    rate(4, || {
        rounds(std::array::from_fn(|s| [s as f32; 4]), |sum| {
            std::array::from_fn(|l| match cfg!(target_arch = "aarch64") {
                true => sum[l].mul_add(a[l], b[l]),
                false => sum[l] * a[l] + b[l],
            })
        });
    })
}

/// [`ROUNDS`] multiply-adds on every sum, which start out different: the compiler would make one of
/// sums that are alike.
#[inline(always)]
fn rounds<V: Copy>(mut sums: [V; SUMS], multiply_add: impl Fn(V) -> V) {
    for _ in 0..ROUNDS {
        for s in 0..SUMS {
            sums[s] = multiply_add(sums[s]);
        }
    }
    black_box(sums);
}

/// The rate of `work` on vectors of `lanes`. The best of many short tries: a peak is not lowered by
/// what else the machine was doing.
fn rate(lanes: usize, work: impl Fn()) -> f64 {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < Duration::from_millis(50) {
        let begun = Instant::now();
        work();
        best = best.min(begun.elapsed());
    }
    (2 * ROUNDS * SUMS * lanes) as f64 / best.as_secs_f64() / 1e9
}
