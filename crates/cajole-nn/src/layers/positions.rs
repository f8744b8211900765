//! Where in a sequence a row is: sinusoids (Vaswani et al. 2017), and the buckets of distances that
//! T5's attention has a bias for (Raffel et al. 2020). Learned positions are an embedding.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::tape::{Graph, Var};

/// The order of sines and cosines in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waves {
    /// All sines, then all cosines.
    Halves,
    /// A sine and a cosine of each frequency in turn.
    InTurn,
}

/// Limit on the floats of a table of sinusoids from a file, which is computed before there is
/// anything to compare it with.
pub(crate) const MOST_WAVES: usize = 1 << 26;

/// Sinusoids `(n, cols)`: frequency `k` has wavelength `2π · 10000^(2k / cols)`.
pub fn sinusoids(n: usize, cols: usize, waves: Waves) -> Arc<[f32]> {
    let n_sines = cols.div_ceil(2);
    let value = |t: usize, j: usize| {
        let (k, is_sine) = match waves {
            Waves::Halves => (if j < n_sines { j } else { j - n_sines }, j < n_sines),
            Waves::InTurn => (j / 2, j.is_multiple_of(2)),
        };
        let angle = t as f64 / 10_000f64.powf(2.0 * k as f64 / cols as f64);
        (if is_sine { angle.sin() } else { angle.cos() }) as f32
    };
    (0..n).flat_map(|t| (0..cols).map(move |j| value(t, j))).collect()
}

impl Graph<'_> {
    /// Constant rows `(R, cols)` of a table, such as [`sinusoids`].
    pub fn constant_rows(
        &mut self,
        table: &[f32],
        cols: usize,
        which: impl ExactSizeIterator<Item = u32>,
    ) -> Var {
        let rows = self.zeros(which.len(), cols);
        for (i, row) in which.enumerate() {
            let values = &table[row as usize * cols..][..cols];
            self.tape.values[rows.row_at(i)..][..cols].copy_from_slice(values);
        }
        rows
    }
}

/// The bucket of every distance between a query and a key: one for each short distance, wider ones
/// further away, and one for all beyond `furthest`.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// By `key − query + furthest`, up to twice `furthest`.
    of: Arc<[u32]>,
    furthest: usize,
}

impl Buckets {
    /// `n` buckets; keys after the query have half of them if `is_bidirectional`, else share one
    /// with the query's own position.
    pub fn new(n: usize, furthest: usize, is_bidirectional: bool) -> Self {
        let bucket = |distance: i64| {
            let (n, base, back) = match is_bidirectional {
                true => (n / 2, if 0 < distance { n / 2 } else { 0 }, distance.unsigned_abs()),
                false => (n, 0, (-distance).max(0) as u64),
            };
            let exact = n / 2;
            if back < exact as u64 {
                return (base + back as usize) as u32;
            }
            let share = (back as f32 / exact as f32).ln() / (furthest as f32 / exact as f32).ln();
            (base + (exact + (share * (n - exact) as f32) as usize).min(n - 1)) as u32
        };
        let span = furthest as i64;
        Buckets { of: (-span..=span).map(bucket).collect(), furthest }
    }

    /// The bucket of a key as seen from a query.
    pub fn of(&self, query: usize, key: usize) -> usize {
        let at = (key + self.furthest).saturating_sub(query).min(2 * self.furthest);
        self.of[at] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // from transformers.models.t5.modeling_t5 import T5Attention
    // distances = torch.tensor([-200, -128, -127, -64, -20, -12, -8, -3, -1, 0, 1, 5, 9, 17, 60, 127, 300])
    // T5Attention._relative_position_bucket(distances, both, 32, 128)
    #[test]
    fn buckets_are_those_of_t5() {
        let distances = [-200, -128, -127, -64, -20, -12, -8, -3, -1, 0, 1, 5, 9, 17, 60, 127, 300];
        let both = [15, 15, 15, 14, 10, 9, 8, 3, 1, 0, 17, 21, 24, 26, 29, 31, 31];
        let back = [31, 31, 31, 26, 17, 12, 8, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        for (is_bidirectional, want) in [(true, both), (false, back)] {
            let buckets = Buckets::new(32, 128, is_bidirectional);
            let got = distances.map(|d: i64| buckets.of(1000, (1000 + d) as usize) as i32);
            assert_eq!(got, want);
        }
    }

    #[test]
    fn sinusoids_in_both_orders() {
        let halves = sinusoids(2, 4, Waves::Halves);
        let in_turn = sinusoids(2, 4, Waves::InTurn);
        assert_eq!(halves[..4], [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(in_turn[..4], [0.0, 1.0, 0.0, 1.0]);
        let (fast, slow) = (1f32, 0.01f32);
        assert_eq!(halves[4..], [fast.sin(), slow.sin(), fast.cos(), slow.cos()]);
        assert_eq!(in_turn[4..], [fast.sin(), fast.cos(), slow.sin(), slow.cos()]);
    }
}
