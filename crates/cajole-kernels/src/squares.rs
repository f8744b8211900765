//! Sums of squares. Each product is rounded before it is added, so that all machines agree.

use super::{Arithmetic, multiversion};

/// Running sums: enough to hide the latency of additions, few enough to stay in registers.
pub(crate) const SQUARES: usize = 16;

multiversion! {
    /// `sums_l += Σ a_l²` over chunks `a`.
    pub(crate) fn add_squares(sums: &mut [f32; SQUARES], chunks: &[[f32; SQUARES]]) = add_squares_body
}

#[inline(always)]
fn add_squares_body<A: Arithmetic>(sums: &mut [f32; SQUARES], chunks: &[[f32; SQUARES]]) {
    let mut running = *sums;
    for chunk in chunks {
        for l in 0..SQUARES {
            running[l] += chunk[l] * chunk[l];
        }
    }
    *sums = running;
}

multiversion! {
    /// `sums_l += Σ (a_l − b_l)²` over chunks `a` and `b`.
    pub(crate) fn add_squared_differences(sums: &mut [f32; SQUARES], a: &[[f32; SQUARES]], b: &[[f32; SQUARES]])
        = add_squared_differences_body
}

#[inline(always)]
fn add_squared_differences_body<A: Arithmetic>(
    sums: &mut [f32; SQUARES],
    a: &[[f32; SQUARES]],
    b: &[[f32; SQUARES]],
) {
    let mut running = *sums;
    for (a, b) in a.iter().zip(b) {
        for l in 0..SQUARES {
            let d = a[l] - b[l];
            running[l] += d * d;
        }
    }
    *sums = running;
}
