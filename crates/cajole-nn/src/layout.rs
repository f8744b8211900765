//! Names and shapes over one flat buffer of weights.
//!
//! A network declares its parameters here and keeps the small [`Param`] handles; the numbers
//! themselves live outside, so that the same network can be run under `W` by every thread and
//! under a private `W_λ` by one.

use cajole::model::Group;

use crate::random::Random;

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
    /// Its place in the flat weights.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.at as usize..self.at as usize + self.rows as usize * self.cols as usize
    }

    /// Its values in `w`.
    pub fn of<'w>(&self, w: &'w [f32]) -> &'w [f32] {
        &w[self.range()]
    }
}

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All zero.
    Zero,
    /// Uniform in ±√(6 / (rows + cols)), each gate of a fused matrix on its own.
    Glorot {
        /// Equal blocks of columns that count as matrices of their own (4 for an LSTM).
        blocks: usize,
    },
    /// Uniform in ±limit.
    Uniform(f32),
    /// The bias of an LSTM's gates `i, f, g, o`: zero, but one to the forget gate, so that memories
    /// last before the network has learnt what to keep.
    LstmBias,
}

/// One named parameter.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `group.name`, such as `encoder.w_h`.
    pub name: String,
    /// Where and how large.
    pub param: Param,
    /// How it starts.
    pub init: Init,
}

/// All parameters of a network, in order.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    entries: Vec<Entry>,
    len: usize,
}

impl Layout {
    /// Declares a matrix `(rows, cols)`.
    pub fn matrix(&mut self, name: &str, rows: usize, cols: usize, init: Init) -> Param {
        // Every parameter starts on a cache line; the few floats between are never used.
        self.len = self.len.next_multiple_of(16);
        let param = Param {
            id: self.entries.len() as u32,
            at: self.len as u32,
            rows: rows as u32,
            cols: cols as u32,
        };
        self.len += rows * cols;
        assert!(u32::try_from(self.len).is_ok(), "more than 2³² weights at {name}");
        self.entries.push(Entry { name: name.to_owned(), param, init });
        param
    }

    /// Declares a vector `(cols)`.
    pub fn vector(&mut self, name: &str, cols: usize, init: Init) -> Param {
        self.matrix(name, 1, cols, init)
    }

    /// Every parameter, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How long the flat buffer is.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was declared.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fresh weights for a training run.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut w = vec![0.0; self.len];
        for entry in &self.entries {
            let (rows, cols) = (entry.param.rows as f32, entry.param.cols as usize);
            let values = &mut w[entry.param.range()];
            let mut random = Random::derive(seed, &[u64::from(entry.param.id)]);
            let limit = match entry.init {
                Init::Zero => continue,
                Init::LstmBias => {
                    values[cols / 4..cols / 2].fill(1.0);
                    continue;
                }
                Init::Uniform(limit) => limit,
                Init::Glorot { blocks } => (6.0 / (rows + (cols / blocks) as f32)).sqrt(),
            };
            values.iter_mut().for_each(|v| *v = random.uniform(-limit, limit));
        }
        w
    }

    /// The parameters by the first part of their name: `encoder.w_h` belongs to `encoder`.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for entry in &self.entries {
            let name = entry.name.split('.').next().unwrap_or(&entry.name);
            let range = entry.param.range();
            match groups.last_mut() {
                Some(last) if last.name == name => last.range.end = range.end,
                _ => groups.push(Group { name: name.to_owned(), range }),
            }
        }
        groups
    }
}
