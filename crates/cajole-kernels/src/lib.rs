//! The hot loops, each written once and compiled for every instruction set.
//!
//! A kernel is an ordinary generic function over slices. Fixed-size arrays of eight floats stand in
//! for vector registers, and `Arithmetic` says how to multiply and add. `multiversion!` compiles
//! the body twice, with AVX2 + FMA and without, and dispatches at run time; on aarch64, NEON and
//! fused multiply-add are always available. `widest!` adds an AVX-512 version where that pays. One
//! binary is therefore fast everywhere, and the portable fallback is the same source. `unsafe` is
//! confined to the call across the feature boundary, a few intrinsics (`arithmetic.rs`), and inner
//! loops where bounds checks would cost more than the work (`many.rs`, `half.rs`, `transposed.rs`).
//!
//! Every product sums its terms in an order that does not depend on the number of rows. A row
//! therefore gets bit-identical results alone and in a batch, and batching is invisible to
//! everything above.
//!
//! Shapes: `B` rows (batch, beam or time), `K` inner dimension, `N` columns; row-major.

// Crossing into code for other instruction sets, and the innermost loops.
#![allow(unsafe_code)]

mod activation;
mod aligned;
mod arithmetic;
mod attention;
mod gelu;
mod half;
mod heads;
mod many;
mod matrix;
mod norm;
mod outer;
mod squares;
mod transposed;
mod vector;

pub use activation::{
    highway, highway_backward, log_softmax, log_softmax_backward, lstm, lstm_backward, sigmoid,
    tanh,
};
pub use aligned::Aligned;
#[cfg(any(test, target_arch = "aarch64"))]
pub(crate) use arithmetic::Fused;
pub use arithmetic::LANES;
pub(crate) use arithmetic::{Arithmetic, Plain, WIDE, prefetch};
pub use attention::{
    Mixture, add_dots, add_mixed, add_scaled, add_shares, additive_scores,
    additive_scores_backward, softmax,
};
pub use gelu::{gelu, gelu_tanh, relu, silu};
pub use half::{add_half_product, add_half_transposed, is_exact, pays, round, stride};
pub use heads::{gather_head, scatter_head, softmax_backward, transpose};
pub use matrix::{Panel, add_product, add_product_transposed, add_to};
pub use norm::{add_times, normalise, normalise_backward, times};
pub use outer::{Packed, Uses, add_outer_sum, add_packed, outer_sum, pack, packed_sizes};
pub(crate) use squares::{SQUARES, add_squared_differences, add_squares};
pub use transposed::{Transposed, add_kept_transposed};
pub use vector::{is_zero, squared_distance, subtract, sum_of_squares};

/// Defines `name` as `body`, compiled for the best instruction set of the host machine.
macro_rules! multiversion {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) {
                    $body::<crate::arithmetic::Avx2>($($arg),*);
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: AVX2 and FMA were detected above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            #[cfg(target_arch = "aarch64")]
            return $body::<crate::Fused>($($arg),*);
            #[cfg(not(target_arch = "aarch64"))]
            $body::<crate::Plain>($($arg),*)
        }
    };
}
pub(crate) use multiversion;

/// Like `multiversion!`, for bodies that benefit from sixteen-float registers.
macro_rules! widest {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,avx512f")]
                fn avx512($($arg: $ty),*) {
                    $body::<crate::arithmetic::Avx512>($($arg),*);
                }
                let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
                if has_avx2 && is_x86_feature_detected!("avx512f") {
                    // SAFETY: AVX2, FMA and AVX-512 were detected above.
                    return unsafe { avx512($($arg),*) };
                }
            }
            crate::multiversion! { fn narrower($($arg: $ty),*) = $body }
            narrower($($arg),*);
        }
    };
}
pub(crate) use widest;
