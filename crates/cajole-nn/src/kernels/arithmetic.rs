//! How kernels multiply and add: one float at a time, eight or sixteen.
//!
//! Most kernels name single floats and leave it to the compiler to see vectors in their loops. Those
//! whose tiles are too large for that name vectors themselves. Where sums have lanes, which are
//! added up in the end, there are eight on every machine, so that the order of additions does not
//! depend on what holds them.

/// Floats in a vector, as the kernels are written.
pub(crate) const LANES: usize = 8;

/// Floats in two vectors side by side.
pub(crate) const WIDE: usize = 2 * LANES;

/// How a kernel multiplies and adds.
pub(crate) trait Arithmetic {
    /// Eight floats.
    type Vector: Copy;

    /// Sixteen.
    type Wide: Copy;

    /// Whether sixteen floats are one register, of which there are 32.
    const IS_WIDE: bool;

    /// `a · b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;

    /// `x` eight times.
    fn splat(x: f32) -> Self::Vector;

    fn load(from: &[f32; LANES]) -> Self::Vector;

    fn store(vector: Self::Vector, to: &mut [f32; LANES]);

    /// `a · b + c`, each with each.
    fn mul_add_each(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// `x` sixteen times.
    fn splat_wide(x: f32) -> Self::Wide;

    fn load_wide(from: &[f32; WIDE]) -> Self::Wide;

    fn store_wide(wide: Self::Wide, to: &mut [f32; WIDE]);

    /// `a · b + c`, each with each.
    fn mul_add_wide(a: Self::Wide, b: Self::Wide, c: Self::Wide) -> Self::Wide;

    /// Eight floats and eight others.
    fn pair(a: &[f32; LANES], b: &[f32; LANES]) -> Self::Wide;

    /// Eight floats twice.
    fn twice(a: &[f32; LANES]) -> Self::Wide;
}

/// Two roundings, on any machine.
pub(crate) struct Plain;

/// One rounding, one instruction: needs hardware support to be fast.
#[cfg(any(test, target_arch = "aarch64"))]
pub(crate) struct Fused;

/// The instructions of AVX2 and FMA, which only code compiled for them may use.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

/// Those of AVX-512 as well.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx512;

/// Sixteen floats as two vectors.
macro_rules! two_vectors {
    () => {
        type Wide = [Self::Vector; 2];

        const IS_WIDE: bool = false;

        #[inline(always)]
        fn splat_wide(x: f32) -> Self::Wide {
            [Self::splat(x); 2]
        }

        #[inline(always)]
        fn load_wide(from: &[f32; WIDE]) -> Self::Wide {
            let halves = from.as_chunks().0;
            Self::pair(&halves[0], &halves[1])
        }

        #[inline(always)]
        fn store_wide(wide: Self::Wide, to: &mut [f32; WIDE]) {
            let halves = to.as_chunks_mut().0;
            Self::store(wide[0], &mut halves[0]);
            Self::store(wide[1], &mut halves[1]);
        }

        #[inline(always)]
        fn mul_add_wide(a: Self::Wide, b: Self::Wide, c: Self::Wide) -> Self::Wide {
            [Self::mul_add_each(a[0], b[0], c[0]), Self::mul_add_each(a[1], b[1], c[1])]
        }

        #[inline(always)]
        fn pair(a: &[f32; LANES], b: &[f32; LANES]) -> Self::Wide {
            [Self::load(a), Self::load(b)]
        }

        #[inline(always)]
        fn twice(a: &[f32; LANES]) -> Self::Wide {
            [Self::load(a); 2]
        }
    };
}

/// Vectors as arrays, in which the compiler sees whatever registers there are.
macro_rules! on_arrays {
    ($name:ident, $mul_add:expr) => {
        impl Arithmetic for $name {
            type Vector = [f32; LANES];

            two_vectors!();

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

    two_vectors!();

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

#[cfg(target_arch = "x86_64")]
impl Arithmetic for Avx512 {
    type Vector = <Avx2 as Arithmetic>::Vector;
    type Wide = std::arch::x86_64::__m512;

    const IS_WIDE: bool = true;

    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        Avx2::mul_add(a, b, c)
    }

    #[inline(always)]
    fn splat(x: f32) -> Self::Vector {
        Avx2::splat(x)
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self::Vector {
        Avx2::load(from)
    }

    #[inline(always)]
    fn store(vector: Self::Vector, to: &mut [f32; LANES]) {
        Avx2::store(vector, to);
    }

    #[inline(always)]
    fn mul_add_each(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        Avx2::mul_add_each(a, b, c)
    }

    #[inline(always)]
    fn splat_wide(x: f32) -> Self::Wide {
        Self::load_wide(&[x; WIDE])
    }

    #[inline(always)]
    fn load_wide(from: &[f32; WIDE]) -> Self::Wide {
        // SAFETY: both are sixteen floats, of any value.
        unsafe { std::mem::transmute::<[f32; WIDE], Self::Wide>(*from) }
    }

    #[inline(always)]
    fn store_wide(wide: Self::Wide, to: &mut [f32; WIDE]) {
        // SAFETY: both are sixteen floats, of any value.
        *to = unsafe { std::mem::transmute::<Self::Wide, [f32; WIDE]>(wide) };
    }

    #[inline(always)]
    fn mul_add_wide(a: Self::Wide, b: Self::Wide, c: Self::Wide) -> Self::Wide {
        // SAFETY: `widest!` alone names this type, once the processor was found to have AVX-512.
        unsafe { std::arch::x86_64::_mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn pair(a: &[f32; LANES], b: &[f32; LANES]) -> Self::Wide {
        let mut both = [0.0; WIDE];
        both[..LANES].copy_from_slice(a);
        both[LANES..].copy_from_slice(b);
        Self::load_wide(&both)
    }

    #[inline(always)]
    fn twice(a: &[f32; LANES]) -> Self::Wide {
        Self::pair(a, a)
    }
}

/// Asks for what lies `at` elements from the start of `near`: it will be read soon, and be at hand then.
#[inline(always)]
pub(crate) fn prefetch<T>(near: &[T], at: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: this reads nothing, and may be given any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(near.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (near, at);
}
