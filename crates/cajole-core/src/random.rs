//! Random numbers that are stable across versions.
//!
//! A checkpoint's model card states a seed, and the same seed must give the same weights in every
//! later version. So the generator is our own, and small: SplitMix64, which passes the usual test
//! batteries and accepts any seed. Streams are derived from their purpose (seed, epoch, shard), so
//! a resumed training run needs no saved generator state.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// An independent stream for one purpose under a shared seed.
    pub fn derive(seed: u64, purpose: &[u64]) -> Self {
        let mut random = Random::new(seed);
        for &p in purpose {
            random.state = random.bits() ^ p.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        }
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `[low, high)`.
    pub fn uniform(&mut self, low: f32, high: f32) -> f32 {
        let unit = (self.bits() >> 40) as f32 / (1u64 << 24) as f32;
        low + (high - low) * unit
    }

    /// An integer below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A sample from the standard normal distribution (Box-Muller).
    pub fn normal(&mut self) -> f32 {
        // `1 − u` with `u < 1` is never zero.
        let (u, v) = (1.0 - self.uniform(0.0, 1.0), self.uniform(0.0, 1.0));
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f32::consts::PI * v).cos()
    }

    /// The dropout factor of one unit: zero with probability `rate`, else `1 / (1 − rate)`.
    pub fn keeps(&mut self, rate: f32) -> f32 {
        if self.uniform(0.0, 1.0) < rate { 0.0 } else { 1.0 / (1.0 - rate) }
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // The first outputs of the published generator for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_shuffle_is_a_permutation_and_streams_differ() {
        let mut items: Vec<usize> = (0..100).collect();
        Random::derive(1, &[2]).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        let mut other: Vec<usize> = (0..100).collect();
        Random::derive(1, &[3]).shuffle(&mut other);
        assert_ne!(items, other);
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
