//! A number that tells weights apart.

use cajole_core::Model;

/// A hash (FNV-1a) of every bit of a network's weights: another one, if a single bit changes.
pub fn fingerprint(model: &impl Model) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bits = model.weights().iter().map(|w| u64::from(w.to_bits()));
    bits.fold(0xcbf2_9ce4_8422_2325, |hash, bits| (hash ^ bits).wrapping_mul(PRIME))
}
