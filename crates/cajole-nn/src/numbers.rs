//! Numbers as files hold them: little-endian, of several types.

use half::{bf16, f16};

/// The type of the numbers of a tensor in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    /// Half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Bytes, and truth values.
    U8,
    /// Integers of 4 bytes.
    I32,
    /// Integers of 8 bytes.
    I64,
}

impl NumberType {
    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            NumberType::U8 => 1,
            NumberType::F16 | NumberType::Bf16 => 2,
            NumberType::F32 | NumberType::I32 => 4,
            NumberType::F64 | NumberType::I64 => 8,
        }
    }

    /// Reads as many numbers as there are in both slices. Those that `f32` does not have are rounded.
    pub fn decode(self, bytes: &[u8], numbers: &mut [f32]) {
        match self {
            NumberType::F16 => each(bytes, numbers, |b| f16::from_le_bytes(b).to_f32()),
            NumberType::Bf16 => each(bytes, numbers, |b| bf16::from_le_bytes(b).to_f32()),
            NumberType::F32 => each(bytes, numbers, f32::from_le_bytes),
            NumberType::F64 => each(bytes, numbers, |b| f64::from_le_bytes(b) as f32),
            NumberType::U8 => each(bytes, numbers, |[byte]| f32::from(byte)),
            NumberType::I32 => each(bytes, numbers, |b| i32::from_le_bytes(b) as f32),
            NumberType::I64 => each(bytes, numbers, |b| i64::from_le_bytes(b) as f32),
        }
    }
}

/// Fills `numbers` from chunks of `N` bytes.
fn each<const N: usize>(bytes: &[u8], numbers: &mut [f32], decode: impl Fn([u8; N]) -> f32) {
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
        *number = decode(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<const N: usize>(number_type: NumberType, numbers: &[([u8; N], f32)]) {
        assert_eq!(number_type.size(), N);
        let bytes: Vec<u8> = numbers.iter().flat_map(|(bytes, _)| *bytes).collect();
        let expected: Vec<f32> = numbers.iter().map(|(_, number)| *number).collect();
        let mut found = vec![0.0; numbers.len()];
        number_type.decode(&bytes, &mut found);
        assert_eq!(found, expected, "{number_type:?}");
    }

    #[test]
    fn numbers_of_every_type_are_read() {
        // As IEEE 754 has them: 1.5, the smallest and the largest.
        check(
            NumberType::F16,
            &[([0, 0x3e], 1.5), ([1, 0], 2f32.powi(-24)), ([0xff, 0x7b], 65504.0)],
        );
        check(NumberType::Bf16, &[([0xc0, 0x3f], 1.5), ([0x80, 0xff], f32::NEG_INFINITY)]);
        check(NumberType::F32, &[([0, 0, 0xc0, 0x3f], 1.5), ([1, 0, 0, 0], 1e-45)]);
        check(
            NumberType::F64,
            &[(1.5f64.to_le_bytes(), 1.5), (1e300f64.to_le_bytes(), f32::INFINITY)],
        );
        check(NumberType::U8, &[([0], 0.0), ([255], 255.0)]);
        check(
            NumberType::I32,
            &[((-7i32).to_le_bytes(), -7.0), (16_777_217i32.to_le_bytes(), 16_777_216.0)],
        );
        check(
            NumberType::I64,
            &[((-7i64).to_le_bytes(), -7.0), ((1i64 << 40).to_le_bytes(), 2f32.powi(40))],
        );
    }

    #[test]
    fn the_shorter_slice_says_how_many() {
        let mut numbers = [7.0; 3];
        NumberType::U8.decode(&[1, 2], &mut numbers);
        assert_eq!(numbers, [1.0, 2.0, 7.0]);
        NumberType::F32.decode(&[0; 7], &mut numbers);
        assert_eq!(numbers, [0.0, 2.0, 7.0]);
    }
}
