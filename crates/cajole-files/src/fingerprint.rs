//! Hashes of contents: they tell whether weights or a file are those of before.

use std::io::{self, BufRead, BufReader, Read};

const START: u64 = 0xcbf2_9ce4_8422_2325;

/// A hash (FNV-1a) of every bit of some numbers, such as a network's weights: it differs if a single
/// bit does.
pub fn fingerprint(numbers: &[f32]) -> u64 {
    numbers.iter().fold(START, |hash, number| add(hash, u64::from(number.to_bits())))
}

/// A hash (FNV-1a) of a file, or of anything else that can be read.
///
/// # Errors
/// If it cannot be read to its end.
pub fn fingerprint_of(bytes: impl Read) -> io::Result<u64> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let mut hash = START;
    loop {
        let piece = bytes.fill_buf()?;
        if piece.is_empty() {
            return Ok(hash);
        }
        hash = piece.iter().fold(hash, |hash, &byte| add(hash, u64::from(byte)));
        let n = piece.len();
        bytes.consume(n);
    }
}

fn add(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_bit_makes_a_difference() {
        assert_ne!(fingerprint(&[0.0, 1.0]), fingerprint(&[-0.0, 1.0]));
        assert_ne!(fingerprint(&[0.0]), fingerprint(&[0.0, 0.0]));
        // As published with the algorithm.
        assert_eq!(fingerprint_of(&b"foobar"[..]).unwrap(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn what_is_longer_than_a_buffer_is_hashed_to_its_end() {
        let bytes = [b"x".repeat(1 << 17), b"end".to_vec()].concat();
        let expected = bytes.iter().fold(START, |hash, &byte| add(hash, u64::from(byte)));
        assert_eq!(fingerprint_of(bytes.as_slice()).unwrap(), expected);
    }
}
