//! What one core can do at best: fused multiply-adds that wait for nothing.
//!
//! A core starts two 8-lane FMAs per cycle, and each takes four or five cycles: at least ten sums
//! must be in flight. Twelve are, as in the engine's register tile, and they never leave their
//! registers, so neither memory nor the compiler gets in the way.

use std::hint::black_box;
use std::time::{Duration, Instant};

const LANES: usize = 8;
const SUMS: usize = 12;
/// Multiply-adds per lane between two looks at the clock, some 50 µs.
const ROUNDS: usize = 16_384;

/// Floating-point operations per second of one core, in 10⁹. The best of many short tries: a peak
/// is not lowered by what else the machine was doing.
pub(crate) fn gflops() -> f64 {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < Duration::from_millis(50) {
        let begun = Instant::now();
        black_box(multiply_add(black_box([0.5; LANES]), black_box([0.25; LANES])));
        best = best.min(begun.elapsed());
    }
    (2 * ROUNDS * SUMS * LANES) as f64 / best.as_secs_f64() / 1e9
}

/// Compiled like the engine's kernels: for the best instruction set of the machine it runs on.
fn multiply_add(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
            body(a, b, f32::mul_add)
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has just been found to have AVX2 and FMA.
            return unsafe { avx2(a, b) };
        }
    }
    #[cfg(target_arch = "aarch64")]
    return body(a, b, f32::mul_add);
    #[cfg(not(target_arch = "aarch64"))]
    body(a, b, |a, b, c| a * b + c)
}

#[inline(always)]
fn body(a: [f32; LANES], b: [f32; LANES], mul_add: impl Fn(f32, f32, f32) -> f32) -> [f32; LANES] {
    let mut sums = [[0.0f32; LANES]; SUMS];
    // Sums that start out alike would be one sum to the compiler.
    for (s, sum) in sums.iter_mut().enumerate() {
        *sum = [s as f32; LANES];
    }
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            for l in 0..LANES {
                sum[l] = mul_add(sum[l], a[l], b[l]);
            }
        }
    }
    let mut total = [0.0; LANES];
    for sum in &sums {
        for l in 0..LANES {
            total[l] += sum[l];
        }
    }
    total
}
