//! Steps and reductions over the flat weights, written to vectorise.
//!
//! Plain `iter().sum()` over floats must add from left to right, one at a time. Many accumulators
//! are as accurate, many times faster, and give the same result on every machine.

use super::{Arithmetic, SQUARES, add_squared_differences, add_squares, multiversion};

multiversion! {
    /// `w ← w − η g`, rounded twice, so that all machines agree.
    pub fn subtract(w: &mut [f32], eta: f32, g: &[f32]) = subtract_body
}

#[inline(always)]
fn subtract_body<A: Arithmetic>(w: &mut [f32], eta: f32, g: &[f32]) {
    for (w, g) in w.iter_mut().zip(g) {
        *w -= eta * g;
    }
}

/// `Σ aᵢ²`.
pub fn sum_of_squares(a: &[f32]) -> f64 {
    let (chunks, rest) = a.as_chunks();
    let mut sums = [0.0; SQUARES];
    add_squares(&mut sums, chunks);
    total(sums) + rest.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>()
}

/// `Σ (aᵢ − bᵢ)²`.
pub fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let mut sums = [0.0; SQUARES];
    add_squared_differences(&mut sums, a, b);
    let rest = a_rest.iter().zip(b_rest).map(|(&a, &b)| f64::from(a - b).powi(2));
    total(sums) + rest.sum::<f64>()
}

/// Whether all of these are zero.
pub fn is_zero(a: &[f32]) -> bool {
    // Without the sign, zero has no bits. Blocks end the search early and are tested without branches.
    let bits = |block: &[f32]| block.iter().fold(0, |bits, v| bits | v.to_bits() << 1);
    a.chunks(4 * SQUARES).all(|block| bits(block) == 0)
}

fn total(sums: [f32; SQUARES]) -> f64 {
    sums.iter().map(|&s| f64::from(s)).sum()
}

#[cfg(test)]
mod tests {
    use super::{is_zero, subtract};

    #[test]
    fn a_step_is_rounded_like_its_definition() {
        for n in [0, 1, 7, 16, 100] {
            let g: Vec<f32> = (0..n).map(|i| (i as f32 - 3.3) / 7.0).collect();
            let start: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin()).collect();
            let mut w = start.clone();
            subtract(&mut w, 0.1, &g);
            let want: Vec<f32> = start.iter().zip(&g).map(|(w, g)| w - 0.1 * g).collect();
            assert_eq!(w, want);
        }
    }

    #[test]
    fn zeros_of_either_sign_are_zero_and_nothing_else_is() {
        for n in [0, 1, 63, 64, 65, 200] {
            let zeros: Vec<f32> = (0..n).map(|i| if i % 3 == 0 { -0.0 } else { 0.0 }).collect();
            assert!(is_zero(&zeros));
            for (i, other) in (0..n).zip([1.0, f32::NAN, f32::from_bits(1), -1e-30].iter().cycle())
            {
                let mut values = zeros.clone();
                values[i] = *other;
                assert!(!is_zero(&values), "{other} at {i} of {n}");
            }
        }
    }
}
