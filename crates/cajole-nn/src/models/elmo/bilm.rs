//! Two language models over a sentence, one per direction.
//!
//! `B` sentences, `R` words in total, `P` projection size, `C` cell size. The cell is an LSTM with
//! an output projection: `h = (o ∘ tanh c) W_p`, with both `c` and `h` clipped. Sentences run in
//! parallel, longest first, so that unfinished ones are always a prefix of the rows.

use super::hdf5::Hdf5;
use super::matrix::Matrix;
use super::options::LstmOptions;
use crate::import::ImportError;
use crate::kernels::{sigmoid, tanh};

/// Reading direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// The rows of each sentence among the `R` words.
pub(super) struct Spans {
    /// First row and length of each sentence.
    spans: Vec<(usize, usize)>,
    /// Sentence indices, longest first.
    order: Vec<usize>,
}

impl Spans {
    pub(super) fn new(lengths: impl IntoIterator<Item = usize>) -> Spans {
        let mut start = 0;
        let spans: Vec<_> = lengths
            .into_iter()
            .map(|len| {
                start += len;
                (start - len, len)
            })
            .collect();
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|&b| std::cmp::Reverse(spans[b].1));
        Spans { spans, order }
    }

    /// The row of step `t` of every sentence longer than `t`, longest sentence first.
    fn rows_at(&self, t: usize, direction: Direction) -> impl Iterator<Item = usize> {
        let spans = self.order.iter().map(|&b| self.spans[b]);
        spans.take_while(move |&(_, len)| t < len).map(move |(start, len)| match direction {
            Direction::Forward => start + t,
            Direction::Backward => start + len - 1 - t,
        })
    }
}

/// The state of one cell for one sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    /// `(P)`.
    h: Vec<f32>,
    /// `(C)`.
    c: Vec<f32>,
}

/// The language model of one direction.
pub(super) struct Lm {
    direction: Direction,
    cells: Vec<Cell>,
    skip: bool,
}

impl Lm {
    pub(super) fn load(
        options: &LstmOptions,
        file: &Hdf5,
        direction: Direction,
    ) -> Result<Lm, ImportError> {
        let cells = (0..options.n_layers).map(|layer| Cell::load(options, file, direction, layer));
        Ok(Lm {
            direction,
            cells: cells.collect::<Result<_, _>>()?,
            skip: options.use_skip_connections,
        })
    }

    /// The zero state.
    pub(super) fn blank(&self) -> Vec<Memory> {
        let blank = |cell: &Cell| Memory { h: vec![0.0; cell.p], c: vec![0.0; cell.c()] };
        self.cells.iter().map(blank).collect()
    }

    /// The outputs of every layer for `x (R, P)`, each `(R, P)`.
    ///
    /// `memories` holds the state of each layer for each sentence, and is updated.
    pub(super) fn forward(
        &self,
        x: &[f32],
        spans: &Spans,
        memories: &mut [Vec<Memory>],
    ) -> Vec<Vec<f32>> {
        let mut outputs: Vec<Vec<f32>> = Vec::with_capacity(self.cells.len());
        for (layer, cell) in self.cells.iter().enumerate() {
            let input = outputs.last().map_or(x, Vec::as_slice);
            let ordered = spans.order.iter().map(|&b| &memories[b][layer]);
            let mut h: Vec<f32> = ordered.clone().flat_map(|m| &m.h).copied().collect(); // (B, P)
            let mut c: Vec<f32> = ordered.flat_map(|m| &m.c).copied().collect(); // (B, C)
            let mut output = cell.forward(input, spans, self.direction, &mut h, &mut c);
            for (i, &b) in spans.order.iter().enumerate() {
                let memory = &mut memories[b][layer];
                memory.h.copy_from_slice(&h[i * cell.p..(i + 1) * cell.p]);
                memory.c.copy_from_slice(&c[i * cell.c()..(i + 1) * cell.c()]);
            }
            if self.skip && 0 < layer {
                output.iter_mut().zip(input).for_each(|(y, x)| *y += x);
            }
            outputs.push(output);
        }
        outputs
    }
}

/// Gates are in the order `i, f, o, g`, so that the three sigmoids are contiguous.
struct Cell {
    /// `(P, 4·C)`.
    w_x: Matrix,
    /// `(P, 4·C)`.
    w_h: Matrix,
    /// `(4·C)`.
    bias: Vec<f32>,
    /// `(C, P)`.
    w_p: Matrix,
    p: usize,
    cell_clip: f32,
    proj_clip: f32,
}

impl Cell {
    fn load(
        options: &LstmOptions,
        file: &Hdf5,
        direction: Direction,
        layer: usize,
    ) -> Result<Cell, ImportError> {
        let (p, c) = (options.projection_dim, options.dim);
        let group = format!("RNN_{}/RNN/MultiRNNCell/Cell{layer}/LSTMCell", direction as usize);
        let w = file.dataset_of(&format!("{group}/W_0"), &[2 * p, 4 * c])?;
        let w = by_squash(&w, c);
        let mut bias = by_squash(&file.dataset_of(&format!("{group}/B"), &[4 * c])?, c);
        // TensorFlow adds its forget bias at run time; it is not in the file.
        bias[c..2 * c].iter_mut().for_each(|b| *b += 1.0);
        let (w_x, w_h) = w.split_at(p * 4 * c);
        let w_p = file.dataset_of(&format!("{group}/W_P_0"), &[c, p])?;
        // Zero means unbounded.
        let bound = |clip: Option<f32>| clip.filter(|&c| 0.0 < c).unwrap_or(f32::INFINITY);
        Ok(Cell {
            w_x: Matrix::new(w_x, p, 4 * c),
            w_h: Matrix::new(w_h, p, 4 * c),
            bias,
            w_p: Matrix::new(&w_p, c, p),
            p,
            cell_clip: bound(options.cell_clip),
            proj_clip: bound(options.proj_clip),
        })
    }

    fn c(&self) -> usize {
        self.bias.len() / 4
    }

    /// `x (R, P)` to `(R, P)`, updating the states `h (B, P)` and `c (B, C)`.
    fn forward(
        &self,
        x: &[f32],
        spans: &Spans,
        direction: Direction,
        h: &mut [f32],
        c: &mut [f32],
    ) -> Vec<f32> {
        let (p, n) = (self.p, self.bias.len());
        let mut projected = self.bias.repeat(x.len() / p); // (R, 4·C)
        self.w_x.add_product(&mut projected, x);
        let mut output = vec![0.0; x.len()]; // (R, P)
        let (mut gates, mut squashed) = (Vec::new(), Vec::new());
        for t in 0.. {
            gates.clear(); // (going, 4·C)
            for row in spans.rows_at(t, direction) {
                gates.extend(&projected[row * n..(row + 1) * n]);
            }
            let going = gates.len() / n;
            if going == 0 {
                break;
            }
            let (h, c) = (&mut h[..going * p], &mut c[..going * self.c()]);
            self.w_h.add_product(&mut gates, h);
            self.remember(&mut gates, c, &mut squashed);
            h.fill(0.0);
            self.w_p.add_product(h, &squashed);
            h.iter_mut().for_each(|v| *v = v.clamp(-self.proj_clip, self.proj_clip));
            for (row, h) in spans.rows_at(t, direction).zip(h.chunks_exact(p)) {
                output[row * p..(row + 1) * p].copy_from_slice(h);
            }
        }
        output
    }

    /// `c ← f ∘ c + i ∘ g`, and `squashed ← o ∘ tanh c`, for each sentence.
    fn remember(&self, gates: &mut [f32], c: &mut [f32], squashed: &mut Vec<f32>) {
        let n = self.c();
        squashed.clear(); // (going, C)
        for (gates, c) in gates.chunks_exact_mut(4 * n).zip(c.chunks_exact_mut(n)) {
            let (ifo, g) = gates.split_at_mut(3 * n);
            sigmoid(ifo);
            tanh(g);
            for j in 0..n {
                let new = ifo[n + j] * c[j] + ifo[j] * g[j];
                c[j] = new.clamp(-self.cell_clip, self.cell_clip);
            }
            let start = squashed.len();
            squashed.extend_from_slice(c);
            tanh(&mut squashed[start..]);
            let o = &ifo[2 * n..];
            squashed[start..].iter_mut().zip(o).for_each(|(v, o)| *v *= o);
        }
    }
}

/// Reorders rows of gates from TensorFlow's `i, g, f, o` to ours.
fn by_squash(rows: &[f32], c: usize) -> Vec<f32> {
    let blocks = |row: &[f32]| [0, 2, 3, 1].map(|gate| row[gate * c..(gate + 1) * c].to_vec());
    rows.chunks_exact(4 * c).flat_map(|row| blocks(row).concat()).collect()
}
