//! Hashes of contents.

use std::io::{self, BufRead, BufReader, Read};

const START: u64 = 0xcbf2_9ce4_8422_2325;

/// A hash (FNV-1a) of every bit of a network's weights: it differs if a single bit does.
pub fn fingerprint(weights: &[f32]) -> u64 {
    weights.iter().fold(START, |hash, w| add(hash, u64::from(w.to_bits())))
}

/// The same hash of a file, or of anything else that can be read.
///
/// # Errors
/// If it cannot be read to its end.
pub fn fingerprint_of(bytes: impl Read) -> io::Result<u64> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let mut hash = START;
    loop {
        let some = bytes.fill_buf()?;
        if some.is_empty() {
            return Ok(hash);
        }
        hash = some.iter().fold(hash, |hash, &byte| add(hash, u64::from(byte)));
        let n = some.len();
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
}
