//! What one core can read at best: a buffer, over and over, with sums that wait for nothing.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Sums in flight: enough that only the loads take time.
const LANES: usize = 32;

/// Bytes per second read from a buffer of this size, in 10⁹. Where it fits into a cache, it is
/// there after the first time. The best of many tries: see [`peak`](crate::peak).
pub(crate) fn gigabytes(bytes: usize) -> f64 {
    let buffer = vec![1.0f32; bytes / size_of::<f32>()];
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < Duration::from_millis(50) {
        let begun = Instant::now();
        black_box(sum(black_box(&buffer)));
        best = best.min(begun.elapsed());
    }
    bytes as f64 / best.as_secs_f64() / 1e9
}

fn sum(buffer: &[f32]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    for chunk in buffer.as_chunks::<LANES>().0 {
        for l in 0..LANES {
            sums[l] += chunk[l];
        }
    }
    sums
}
