//! Names and shapes over one flat buffer of weights.
//!
//! A network declares its parameters here and keeps the small [`Param`] handles. The weights live
//! outside, so that every thread can run the same network under `W`, or under its private `W_λ`.

use std::ops::Range;

use cajole_core::Parameter;
use cajole_core::random::Random;

/// A matrix `(rows, cols)` in the flat weights; a vector is a matrix of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    pub(crate) id: u32,
    pub(crate) at: u32,
    /// Input dimension (1 for a vector).
    pub rows: u32,
    /// Output dimension.
    pub cols: u32,
}

impl Param {
    /// Its range in the flat weights.
    pub fn range(&self) -> Range<usize> {
        self.at as usize..self.at as usize + self.rows as usize * self.cols as usize
    }

    /// Its values in `w`.
    pub fn of<'w>(&self, w: &'w [f32]) -> &'w [f32] {
        &w[self.range()]
    }
}

/// How a parameter is initialised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All zero.
    Zero,
    /// All one.
    One,
    /// Uniform in ±√(6 / (rows + cols)), separately for each gate of a fused matrix.
    Glorot {
        /// Number of equal column blocks initialised separately (4 for an LSTM).
        blocks: usize,
    },
    /// Uniform in ±limit.
    Uniform(f32),
    /// Orthonormal rows or columns, separately for each gate of a fused matrix: signals through a
    /// deep or long chain of such matrices neither vanish nor explode.
    Orthogonal {
        /// Number of equal column blocks initialised separately.
        blocks: usize,
    },
    /// LSTM gate bias `i, f, …`: zero, except one for the forget gate, so that memory persists
    /// before the network has learnt what to keep.
    LstmBias {
        /// Gates: 4, or 6 with a highway connection.
        blocks: usize,
    },
}

/// One named parameter.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `group.name`, such as `encoder.w_h`.
    pub name: String,
    /// Location and shape.
    pub param: Param,
    /// Initialisation.
    pub init: Init,
    /// Added to every row, or multiplied with it, and used for nothing else, so each input can have
    /// its own.
    pub is_bias: bool,
}

/// All parameters of a network, in order.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    entries: Vec<Entry>,
    len: usize,
}

impl Layout {
    /// Declares a matrix `(rows, cols)`. Sizes may come from an untrusted file: a layout that is
    /// [too large](Layout::is_too_large) can be declared but has no weights.
    pub fn matrix(&mut self, name: &str, rows: usize, cols: usize, init: Init) -> Param {
        // Every parameter starts on a cache line; the padding between is unused.
        self.len = self.len.checked_next_multiple_of(16).unwrap_or(usize::MAX);
        let [id, at, rows, cols] = [self.entries.len(), self.len, rows, cols].map(saturated);
        let param = Param { id, at, rows, cols };
        self.len = self.len.saturating_add((rows as usize).saturating_mul(cols as usize));
        self.entries.push(Entry { name: name.to_owned(), param, init, is_bias: false });
        param
    }

    /// Declares a bias `(cols)`: a vector that [`Graph::affine`](crate::tape::Graph::affine) or an
    /// LSTM adds to every row.
    pub fn bias(&mut self, name: &str, cols: usize, init: Init) -> Param {
        let bias = self.vector(name, cols, init);
        self.entries[bias.id as usize].is_bias = true;
        bias
    }

    /// Declares a gain `(cols)`: a vector that [`Graph::norm`](crate::tape::Graph::norm) multiplies
    /// with every row.
    pub fn gain(&mut self, name: &str, cols: usize) -> Param {
        self.bias(name, cols, Init::One)
    }

    /// Declares a vector `(cols)`.
    pub fn vector(&mut self, name: &str, cols: usize, init: Init) -> Param {
        self.matrix(name, 1, cols, init)
    }

    /// Every parameter, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Length of the flat buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was declared.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether there are more weights than 32-bit offsets can address.
    pub fn is_too_large(&self) -> bool {
        u32::try_from(self.len).is_err()
    }

    /// Freshly initialised weights.
    ///
    /// # Panics
    /// If the layout is [too large](Layout::is_too_large).
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        assert!(!self.is_too_large(), "{} weights, more than 2³²", self.len);
        let mut w = vec![0.0; self.len];
        for entry in &self.entries {
            let (rows, cols) = (entry.param.rows as f32, entry.param.cols as usize);
            let values = &mut w[entry.param.range()];
            let mut random = Random::derive(seed, &[u64::from(entry.param.id)]);
            let limit = match entry.init {
                Init::Zero => continue,
                Init::One => {
                    values.fill(1.0);
                    continue;
                }
                Init::LstmBias { blocks } => {
                    values[cols / blocks..2 * cols / blocks].fill(1.0);
                    continue;
                }
                Init::Orthogonal { blocks } => {
                    (0..blocks).for_each(|block| {
                        let at = block * cols / blocks..(block + 1) * cols / blocks;
                        orthogonal(values, cols, at, &mut random);
                    });
                    continue;
                }
                Init::Uniform(limit) => limit,
                Init::Glorot { blocks } => (6.0 / (rows + (cols / blocks) as f32)).sqrt(),
            };
            values.iter_mut().for_each(|v| *v = random.uniform(-limit, limit));
        }
        w
    }

    /// Every parameter, in the form [`Model::parameters`](cajole_core::Model::parameters) reports.
    pub fn parameters(&self) -> Vec<Parameter> {
        let parameter = |entry: &Entry| Parameter {
            name: entry.name.clone(),
            len: entry.param.range().len(),
            is_vector: entry.is_bias,
        };
        self.entries.iter().map(parameter).collect()
    }
}

fn saturated(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Fills the columns `at` of a matrix with `cols` columns such that its shorter side is
/// orthonormal, by Gram-Schmidt on random directions.
fn orthogonal(matrix: &mut [f32], cols: usize, at: Range<usize>, random: &mut Random) {
    let (rows, width) = (matrix.len() / cols, at.len());
    let (n, dim) = (rows.min(width), rows.max(width));
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(n);
    while basis.len() < n {
        let mut v: Vec<f64> = (0..dim).map(|_| f64::from(random.normal())).collect();
        // Twice, since one pass leaves rounding errors.
        for _ in 0..2 {
            for u in &basis {
                let along: f64 = u.iter().zip(&v).map(|(u, v)| u * v).sum();
                v.iter_mut().zip(u).for_each(|(v, u)| *v -= along * u);
            }
        }
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        if 1e-6 < norm {
            v.iter_mut().for_each(|v| *v /= norm);
            basis.push(v);
        }
    }
    for i in 0..rows {
        for (j, column) in at.clone().enumerate() {
            let value = if rows <= width { basis[i][j] } else { basis[j][i] };
            matrix[i * cols + column] = value as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_orthogonal() {
        for (rows, width) in [(5, 5), (3, 7), (8, 4)] {
            let mut layout = Layout::default();
            let p = layout.matrix("w", rows, 3 * width, Init::Orthogonal { blocks: 3 });
            let w = layout.initial(11);
            let at = |i: usize, block: usize, j: usize| {
                f64::from(p.of(&w)[i * 3 * width + block * width + j])
            };
            for block in 0..3 {
                for (a, b) in (0..rows.min(width)).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                    let dot: f64 = match rows <= width {
                        true => (0..width).map(|j| at(a, block, j) * at(b, block, j)).sum(),
                        false => (0..rows).map(|i| at(i, block, a) * at(i, block, b)).sum(),
                    };
                    let want = if a == b { 1.0 } else { 0.0 };
                    assert!((dot - want).abs() < 1e-6, "{rows}×{width}: {a}·{b} = {dot}");
                }
            }
        }
    }
}
