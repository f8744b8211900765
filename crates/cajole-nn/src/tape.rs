//! A define-by-run tape of a few coarse operations over two arenas.
//!
//! Decoding *is* recording: every operation appends its result to one arena of values and one
//! entry to the list of operations. The backward pass (`backward.rs`) walks the list in reverse
//! with a second arena of gradients laid out like the first. Both arenas are kept between inputs,
//! so after the first few nothing is allocated.
//!
//! A [`Var`] is a matrix `(rows, cols)` in the arena; rows are sequences of a batch or hypotheses
//! of a beam, and one row when a single input is repaired. Each operation lives in its own file
//! under `layers/`, forward beside backward.

use cajole_core::Aligned;
use cajole_core::model::Mark;

use crate::backward::WayBack;
use crate::halves::Halves;
use crate::layers::{
    affine, attention, concat, custom, dropout, embedding, lstm, lstm_layer, rows, softmax, sum,
};
use crate::layout::Param;
use crate::random::Random;

/// Floats in a cache line; every operation's stretch of the arena starts on one.
const LINE: usize = 16;

/// A matrix `(rows, cols)` on the tape; its rows are contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var {
    pub(crate) op: u32,
    pub(crate) at: u32,
    /// Sequences or hypotheses.
    pub rows: u32,
    /// Dimension of each.
    pub cols: u32,
}

impl Var {
    /// One row, for free.
    pub fn row(self, i: usize) -> Var {
        self.slice(i, 1)
    }

    /// `rows` rows from the `i`-th on, for free.
    pub fn slice(self, i: usize, rows: usize) -> Var {
        assert!(i + rows <= self.rows as usize, "rows {i}..{} of {}", i + rows, self.rows);
        Var { at: self.at + i as u32 * self.cols, rows: rows as u32, ..self }
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.rows * self.cols) as usize
    }

    /// Where row `i` starts; a single row stands for every `i`.
    pub(crate) fn row_at(self, i: usize) -> usize {
        if self.rows == 1 { self.at as usize } else { self.at as usize + i * self.cols as usize }
    }
}

/// What was computed, with what the backward pass needs.
pub(crate) enum Op {
    Leaf,
    Param(Param),
    Affine(affine::Affine),
    Attention(attention::Attention),
    Concat(concat::Concat),
    Embedding(embedding::Embedding),
    Rows(rows::Rows),
    Lstm(lstm::Lstm),
    LstmLayer(lstm_layer::LstmLayer),
    Mix(attention::Mix),
    LogSoftmax(softmax::LogSoftmax),
    Dropout(dropout::Dropout),
    Sum(sum::Sum),
    Custom(custom::Record),
}

/// The record of one pass, reused for the next.
#[derive(Default)]
pub struct Tape {
    /// The arena; what lies beyond `len` is left over from longer recordings.
    pub(crate) values: Aligned,
    len: usize,
    pub(crate) ops: Vec<Op>,
    /// The level of each operation, as it was declared.
    pub(crate) levels: Vec<u8>,
    /// The stretch of the arena into which gradients flow, for each operation.
    pub(crate) inflows: Vec<(u32, u32)>,
    /// Symbols, row numbers and the like that operations refer to.
    pub(crate) indices: Vec<u32>,
    /// What steps of LSTMs add up.
    pub(crate) inputs: Vec<lstm::Input>,
    /// Weights as products with one row read them.
    pub(crate) halves: Halves,
    /// What is declared of the operations to come.
    level: u8,
    pub(crate) way_back: WayBack,
}

/// A point in a recording.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    len: usize,
    ops: usize,
    indices: usize,
    inputs: usize,
}

impl Tape {
    /// Starts a new recording.
    pub fn clear(&mut self) {
        self.len = 0;
        self.level = 0;
        self.ops.clear();
        self.levels.clear();
        self.inflows.clear();
        self.indices.clear();
        self.inputs.clear();
        self.halves.clear();
    }

    /// How far the recording has come, to [go back](Tape::rewind) to.
    pub(crate) fn position(&self) -> Position {
        Position {
            len: self.len,
            ops: self.ops.len(),
            indices: self.indices.len(),
            inputs: self.inputs.len(),
        }
    }

    /// Forgets everything recorded after `position`.
    pub(crate) fn rewind(&mut self, position: Position) {
        self.len = position.len;
        self.ops.truncate(position.ops);
        self.levels.truncate(position.ops);
        self.inflows.truncate(position.ops);
        self.indices.truncate(position.indices);
        self.inputs.truncate(position.inputs);
    }

    /// The values of `v`, `(rows, cols)`.
    pub fn value(&self, v: Var) -> &[f32] {
        &self.values[v.range()]
    }

    /// How many floats the current recording holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A mark at element `j` of row `i` of `v`.
    pub fn mark(&self, v: Var, i: usize, j: usize) -> Mark {
        assert!(i < v.rows as usize && j < v.cols as usize);
        Mark(u64::from(v.op) << 32 | (v.row_at(i) + j) as u64)
    }

    /// Opens a stretch of `len` floats for the next operation and returns where it starts. What
    /// is in it is left over: the operation has to write all that is ever read.
    pub(crate) fn open(&mut self, len: usize) -> usize {
        let at = self.len.next_multiple_of(LINE);
        self.len = at + len;
        if self.values.len() < self.len {
            assert!(u32::try_from(self.len).is_ok(), "a recording of more than 2³² floats");
            self.values.resize(self.len);
        }
        at
    }

    /// The values before `at`, to read, and those of the stretch just opened there, to write.
    pub(crate) fn split(&mut self, at: usize) -> (&[f32], &mut [f32]) {
        let (before, own) = self.values[..self.len].split_at_mut(at);
        (before, own)
    }

    /// Records `op`, whose gradients flow into everything from `inflow` on, and returns its number.
    pub(crate) fn record(&mut self, op: Op, inflow: usize) -> u32 {
        self.ops.push(op);
        self.levels.push(self.level);
        self.inflows.push((inflow as u32, self.len as u32));
        self.ops.len() as u32 - 1
    }

    /// The number that the next operation will get.
    pub(crate) fn next_op(&self) -> u32 {
        self.ops.len() as u32
    }
}

/// A pass under given weights, as a network sees it: its methods are the operations.
pub struct Graph<'a> {
    /// The weights of this pass, `W` or a private `W_λ`.
    pub w: &'a [f32],
    /// Where it is recorded.
    pub tape: &'a mut Tape,
    /// The source of dropout masks; none outside training.
    pub random: Option<Random>,
}

impl<'a> Graph<'a> {
    /// A pass of inference under `w`, continuing the recording on `tape`.
    pub fn new(w: &'a [f32], tape: &'a mut Tape) -> Self {
        Graph { w, tape, random: None }
    }

    /// Declares that the operations to come are of this level at least: nothing of a lower level will
    /// depend on them. The backward pass can then take a higher level as a whole before a lower one,
    /// and what it does for every step of a sequence, for all steps at once. An operation that
    /// depends on one of a higher level is of that level, whatever is declared.
    pub fn level(&mut self, level: u8) {
        self.tape.level = level;
    }

    /// A constant matrix of zeros `(rows, cols)`.
    pub fn zeros(&mut self, rows: usize, cols: usize) -> Var {
        let at = self.tape.open(rows * cols);
        self.tape.split(at).1.fill(0.0);
        let op = self.tape.record(Op::Leaf, at);
        Var { op, at: at as u32, rows: rows as u32, cols: cols as u32 }
    }

    /// A constant matrix `(rows, cols)` with these values.
    pub fn constant(&mut self, values: &[f32], cols: usize) -> Var {
        let v = self.zeros(values.len() / cols, cols);
        self.tape.values[v.range()].copy_from_slice(values);
        v
    }

    /// Writes `values` over the constant `v`.
    pub(crate) fn fill(&mut self, v: Var, values: impl Iterator<Item = f32>) {
        self.tape.values[v.range()].iter_mut().zip(values).for_each(|(v, value)| *v = value);
    }

    /// A parameter as a matrix on the tape, for operations between parameters.
    pub fn param(&mut self, p: Param) -> Var {
        let values = p.of(self.w);
        let at = self.tape.open(values.len());
        self.tape.split(at).1.copy_from_slice(values);
        let op = self.tape.record(Op::Param(p), at);
        Var { op, at: at as u32, rows: p.rows, cols: p.cols }
    }
}
