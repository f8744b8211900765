//! How kernels multiply and add, one float at a time or eight.
//!
//! Most kernels name single floats and leave it to the compiler to see vectors in their loops. Those
//! whose tiles are too large for that name vectors themselves.

/// Floats in one vector register, as the kernels are written.
pub(crate) const LANES: usize = 8;

/// How a kernel multiplies and adds.
pub(crate) trait Arithmetic {
    /// Eight floats.
    type Vector: Copy;

    /// `a · b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;

    /// `x` eight times.
    fn splat(x: f32) -> Self::Vector;

    fn load(from: &[f32; LANES]) -> Self::Vector;

    fn store(vector: Self::Vector, to: &mut [f32; LANES]);

    /// `a · b + c`, each with each.
    fn mul_add_each(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
}

/// Two roundings, on any machine.
pub(crate) struct Plain;

/// One rounding, one instruction: needs hardware support to be fast.
#[cfg(any(test, target_arch = "aarch64"))]
pub(crate) struct Fused;

/// The instructions of AVX2 and FMA, which only code compiled for them may use.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

/// Vectors as arrays, in which the compiler sees whatever registers there are.
macro_rules! on_arrays {
    ($name:ident, $mul_add:expr) => {
        impl Arithmetic for $name {
            type Vector = [f32; LANES];

            #[inline(always)]
            fn mul_add(a: f32, b: f32, c: f32) -> f32 {
                $mul_add(a, b, c)
            }

            #[inline(always)]
            fn splat(x: f32) -> Self::Vector {
                [x; LANES]
            }

            #[inline(always)]
            fn load(from: &[f32; LANES]) -> Self::Vector {
                *from
            }

            #[inline(always)]
            fn store(vector: Self::Vector, to: &mut [f32; LANES]) {
                *to = vector;
            }

            #[inline(always)]
            fn mul_add_each(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
                std::array::from_fn(|l| Self::mul_add(a[l], b[l], c[l]))
            }
        }
    };
}

on_arrays!(Plain, |a: f32, b: f32, c: f32| a * b + c);
#[cfg(any(test, target_arch = "aarch64"))]
on_arrays!(Fused, f32::mul_add);

#[cfg(target_arch = "x86_64")]
impl Arithmetic for Avx2 {
    type Vector = std::arch::x86_64::__m256;

    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn splat(x: f32) -> Self::Vector {
        Self::load(&[x; LANES])
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self::Vector {
        // SAFETY: both are eight floats, of any value.
        unsafe { std::mem::transmute::<[f32; LANES], Self::Vector>(*from) }
    }

    #[inline(always)]
    fn store(vector: Self::Vector, to: &mut [f32; LANES]) {
        // SAFETY: both are eight floats, of any value.
        *to = unsafe { std::mem::transmute::<Self::Vector, [f32; LANES]>(vector) };
    }

    #[inline(always)]
    fn mul_add_each(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        // SAFETY: `multiversion!` alone names this type, once the processor was found to have FMA.
        unsafe { std::arch::x86_64::_mm256_fmadd_ps(a, b, c) }
    }
}

/// Asks for what lies `at` floats from the start of `near`: it will be read soon, and be at hand then.
#[inline(always)]
pub(crate) fn prefetch(near: &[f32], at: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: this reads nothing, and may be given any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(near.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (near, at);
}
