//! How kernels multiply and add: one, eight or sixteen floats at a time.
//!
//! Most kernels are written on single floats and rely on autovectorisation. Those whose tiles are
//! too large for that use vectors explicitly. Accumulators that are reduced at the end have eight
//! lanes on every machine, so that the order of additions does not depend on the register width.

/// Floats per vector in the kernels.
pub const LANES: usize = 8;

/// Floats in two adjacent vectors.
pub(crate) const WIDE: usize = 2 * LANES;

/// How a kernel multiplies and adds.
pub(crate) trait Arithmetic {
    /// Eight floats.
    type Vector: Copy;

    /// Sixteen floats.
    type Wide: Copy;

    /// Whether sixteen floats fit one register, of which there are 32.
    const IS_WIDE: bool;

    /// `a · b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;

    /// `x` in all eight lanes.
    fn splat(x: f32) -> Self::Vector;

    fn load(from: &[f32; LANES]) -> Self::Vector;

    fn store(vector: Self::Vector, to: &mut [f32; LANES]);

    /// `a · b + c`, lane by lane.
    fn mul_add_each(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// `to_r += Σ_l vectors_r,l`: each sum adds the upper four lanes to the lower four, then neighbours.
    fn add_sums(vectors: [Self::Vector; LANES], to: &mut [f32; LANES]);

    /// `x` in all sixteen lanes.
    fn splat_wide(x: f32) -> Self::Wide;

    fn load_wide(from: &[f32; WIDE]) -> Self::Wide;

    fn store_wide(wide: Self::Wide, to: &mut [f32; WIDE]);

    /// `a · b + c`, lane by lane.
    fn mul_add_wide(a: Self::Wide, b: Self::Wide, c: Self::Wide) -> Self::Wide;

    /// `a` in the low eight lanes and `b` in the high eight.
    fn pair(a: &[f32; LANES], b: &[f32; LANES]) -> Self::Wide;

    /// `a` in both halves.
    fn twice(a: &[f32; LANES]) -> Self::Wide;
}

/// Rounds twice; runs on any machine.
pub(crate) struct Plain;

/// Fused multiply-add: rounds once, in one instruction where the hardware has it.
#[cfg(any(test, target_arch = "aarch64"))]
pub(crate) struct Fused;

/// AVX2 and FMA intrinsics, for code compiled with those features only.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

/// The same plus AVX-512.
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

/// Vectors as arrays, which the compiler maps to whatever registers exist.
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

            #[inline(always)]
            fn add_sums(vectors: [Self::Vector; LANES], to: &mut [f32; LANES]) {
                for (to, v) in to.iter_mut().zip(vectors) {
                    let [a, b, c, d] = std::array::from_fn(|l| v[l] + v[l + LANES / 2]);
                    *to += (a + b) + (c + d);
                }
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
        // SAFETY: both are eight floats; any bit pattern is valid.
        unsafe { std::mem::transmute::<[f32; LANES], Self::Vector>(*from) }
    }

    #[inline(always)]
    fn store(vector: Self::Vector, to: &mut [f32; LANES]) {
        // SAFETY: both are eight floats; any bit pattern is valid.
        *to = unsafe { std::mem::transmute::<Self::Vector, [f32; LANES]>(vector) };
    }

    #[inline(always)]
    fn mul_add_each(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        // SAFETY: only `multiversion!` uses this type, after detecting FMA.
        unsafe { std::arch::x86_64::_mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn add_sums(vectors: [Self::Vector; LANES], to: &mut [f32; LANES]) {
        use std::arch::x86_64::{_mm256_add_ps, _mm256_hadd_ps, _mm256_permute2f128_ps};
        // SAFETY: only `multiversion!` and `widest!` use this type, after detecting AVX2.
        unsafe {
            // Four sums of row `r` in the low half, four of row `r + 4` in the high half.
            let fours = |r: usize| {
                let (a, b) = (vectors[r], vectors[r + LANES / 2]);
                let low = _mm256_permute2f128_ps::<0x20>(a, b);
                _mm256_add_ps(low, _mm256_permute2f128_ps::<0x31>(a, b))
            };
            let twos = |r: usize| _mm256_hadd_ps(fours(r), fours(r + 1));
            let sums = _mm256_hadd_ps(twos(0), twos(2));
            Self::store(_mm256_add_ps(Self::load(to), sums), to);
        }
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
    fn add_sums(vectors: [Self::Vector; LANES], to: &mut [f32; LANES]) {
        Avx2::add_sums(vectors, to);
    }

    #[inline(always)]
    fn splat_wide(x: f32) -> Self::Wide {
        Self::load_wide(&[x; WIDE])
    }

    #[inline(always)]
    fn load_wide(from: &[f32; WIDE]) -> Self::Wide {
        // SAFETY: both are sixteen floats; any bit pattern is valid.
        unsafe { std::mem::transmute::<[f32; WIDE], Self::Wide>(*from) }
    }

    #[inline(always)]
    fn store_wide(wide: Self::Wide, to: &mut [f32; WIDE]) {
        // SAFETY: both are sixteen floats; any bit pattern is valid.
        *to = unsafe { std::mem::transmute::<Self::Wide, [f32; WIDE]>(wide) };
    }

    #[inline(always)]
    fn mul_add_wide(a: Self::Wide, b: Self::Wide, c: Self::Wide) -> Self::Wide {
        // SAFETY: only `widest!` uses this type, after detecting AVX-512.
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

/// Prefetches `near[at]`, which may lie past the end.
#[inline(always)]
pub(crate) fn prefetch<T>(near: &[T], at: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, and accepts any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(near.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (near, at);
}
