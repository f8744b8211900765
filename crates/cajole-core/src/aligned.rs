//! Floats that start on a cache line.
//!
//! An allocator promises 16 bytes. Vectors of 32 bytes read from there straddle two cache lines
//! every other time, which makes a matrix-vector product a third slower.

use std::ops::{Deref, DerefMut};

/// Bytes in a cache line.
const LINE: usize = 64;
/// Floats in a cache line.
const FLOATS: usize = LINE / size_of::<f32>();

/// A growing buffer of floats that starts on a cache line.
#[derive(Debug, Default)]
pub struct Aligned {
    buffer: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// A buffer of `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut zeros = Aligned::default();
        zeros.resize(len);
        zeros
    }

    /// Makes the buffer `len` long. What it held stays; what is new may hold anything. Grows by
    /// doubling, so that growing little by little costs little.
    pub fn resize(&mut self, len: usize) {
        if self.buffer.len() < self.start + len {
            // Exactly what was asked for at first; a buffer that grows doubles.
            let buffer = vec![0.0; len.max(2 * self.len) + FLOATS];
            // Where the alignment cannot be had, an unaligned buffer is as good, only slower.
            let start = buffer.as_ptr().align_offset(LINE).min(FLOATS);
            let old = std::mem::replace(self, Aligned { buffer, start, len });
            self[..old.len].copy_from_slice(&old);
        }
        self.len = len;
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        Aligned::from(&**self)
    }
}

impl From<&[f32]> for Aligned {
    fn from(values: &[f32]) -> Self {
        let mut copy = Aligned::zeros(values.len());
        copy.copy_from_slice(values);
        copy
    }
}

impl From<Vec<f32>> for Aligned {
    fn from(values: Vec<f32>) -> Self {
        Aligned::from(values.as_slice())
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Deref for Aligned {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        &self.buffer[self.start..self.start + self.len]
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.buffer[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_on_a_cache_line_and_keeps_what_it_holds() {
        let mut buffer = Aligned::default();
        for len in [1, 7, 16, 100, 1000] {
            let old = buffer.to_vec();
            buffer.resize(len);
            assert_eq!((buffer.len(), buffer.as_ptr() as usize % LINE), (len, 0));
            assert_eq!(buffer[..old.len()], old);
            (0..len).for_each(|i| buffer[i] = i as f32);
        }
        let copy = buffer.clone();
        assert_eq!((copy.as_ptr() as usize % LINE, &*copy), (0, &*buffer));
    }
}
