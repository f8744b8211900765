//! Cache-line aligned float buffers.
//!
//! Allocators guarantee 16 bytes. From there, every other 32-byte vector load straddles two cache
//! lines, which makes a matvec a third slower.

use std::ops::{Deref, DerefMut};

/// Bytes in a cache line.
const LINE: usize = 64;
/// Floats in a cache line.
const FLOATS: usize = LINE / size_of::<f32>();

/// A growable, cache-line aligned buffer of floats.
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

    /// Resizes to `len`. Existing values stay; new ones are unspecified. Growth doubles the
    /// capacity, so growing in small steps is cheap.
    pub fn resize(&mut self, len: usize) {
        if self.buffer.len() < self.start + len {
            // The first allocation is exact; growth doubles.
            let buffer = vec![0.0; len.max(2 * self.len) + FLOATS];
            // If the alignment is unavailable, fall back to an unaligned buffer, which is only
            // slower.
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
    fn resizing_keeps_alignment_and_contents() {
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
