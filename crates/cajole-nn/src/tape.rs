//! A define-by-run tape of a few coarse operations over two arenas.
//!
//! Decoding *is* recording: every operation appends its result to an arena of values and an entry
//! to the list of operations. The backward pass (`backward.rs`) walks the list in reverse, with a
//! second arena of gradients laid out like the first. Both arenas are kept between inputs, so after
//! the first few nothing is allocated.
//!
//! A [`Var`] is a matrix `(rows, cols)` in the arena. Its rows are sequences of a batch or
//! hypotheses of a beam; a single input under repair has one row. Each operation lives in its own
//! file under `layers/`, forward beside backward.

use std::time::Instant;

use cajole_core::BackendError;
use cajole_core::model::Mark;
use cajole_core::random::Random;

use crate::Aligned;
use crate::backward::WayBack;
use crate::halves::Halves;
use crate::layers::{
    activation, affine, attention, concat, custom, dropout, embedding, lstm, lstm_layer,
    multi_head, norm, rows, scale, scores, softmax, sum,
};
use crate::layout::Param;
use crate::vectors::Shifts;

/// Floats of a recording beyond which no step is begun.
const MOST_FLOATS: usize = 1 << 31;

/// Floats in a cache line; every operation's region of the arena starts on one.
const LINE: usize = 16;

/// A matrix `(rows, cols)` on the tape; its rows are contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var {
    pub(crate) op: Origin,
    pub(crate) at: u32,
    /// Sequences or hypotheses.
    pub rows: u32,
    /// Dimension of each row.
    pub cols: u32,
}

/// The operation that computed a matrix, and whether it was computed from parameters alone, so that
/// its rows belong to no input. One word, because every recorded operation holds several matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(u32);

impl Origin {
    const SHARED: u32 = 1 << 31;

    /// The index of the operation.
    pub(crate) fn index(self) -> usize {
        (self.0 & !Origin::SHARED) as usize
    }

    /// Whether the rows belong to no input.
    pub(crate) fn is_shared(self) -> bool {
        self.0 & Origin::SHARED != 0
    }

    /// The same operation, with rows that belong to no input if `is_shared`.
    pub(crate) fn shared(self, is_shared: bool) -> Self {
        Origin(self.index() as u32 | if is_shared { Origin::SHARED } else { 0 })
    }
}

impl Var {
    /// A view of one row.
    pub fn row(self, i: usize) -> Var {
        self.slice(i, 1)
    }

    /// A view of `rows` rows, starting at row `i`.
    pub fn slice(self, i: usize, rows: usize) -> Var {
        assert!(i + rows <= self.rows as usize, "rows {i}..{} of {}", i + rows, self.rows);
        Var { at: self.at + i as u32 * self.cols, rows: rows as u32, ..self }
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.rows * self.cols) as usize
    }

    /// Offset of row `i`; a single row broadcasts to every `i`.
    pub(crate) fn row_at(self, i: usize) -> usize {
        if self.rows == 1 { self.at as usize } else { self.at as usize + i * self.cols as usize }
    }
}

/// An operation, with what its backward pass needs.
pub(crate) enum Op {
    Leaf,
    Param(Param),
    Activation(activation::Activation),
    Affine(affine::Affine),
    Attention(attention::Attention),
    Concat(concat::Concat),
    Embedding(embedding::Embedding),
    Gated(activation::Gated),
    /// By its index among the tape's: it is so large that it would make every operation large.
    MultiHead(u32),
    Norm(norm::Norm),
    Rows(rows::Rows),
    Scale(scale::Scale),
    Scores(scores::Scores),
    Lstm(lstm::Lstm),
    LstmLayer(lstm_layer::LstmLayer),
    Mix(attention::Mix),
    LogSoftmax(softmax::LogSoftmax),
    Dropout(dropout::Dropout),
    Sum(sum::Sum),
    Custom(custom::Record),
}

/// The recording of one pass; its buffers are reused for the next.
#[derive(Default)]
pub struct Tape {
    /// The arena; values past `len` are left over from longer recordings.
    pub(crate) values: Aligned,
    len: usize,
    pub(crate) ops: Vec<Op>,
    /// The declared level of each operation.
    pub(crate) levels: Vec<u8>,
    /// For each operation, the range of the arena that receives gradients.
    pub(crate) inflows: Vec<(u32, u32)>,
    /// Symbols, row numbers and the like that operations refer to.
    pub(crate) indices: Vec<u32>,
    /// The summands of LSTM steps.
    pub(crate) inputs: Vec<lstm::Input>,
    /// What operations on heads remember.
    pub(crate) heads: Vec<multi_head::MultiHead>,
    /// f16 copies of weights, for matvecs.
    pub(crate) halves: Halves,
    /// The input that owns each row of subsequent operations.
    pub(crate) owners: Owners,
    /// The same for each operation.
    pub(crate) op_owners: Vec<Owners>,
    /// The level declared for subsequent operations.
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
    heads: usize,
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
        self.heads.clear();
        self.op_owners.clear();
        self.owners = Owners::default();
    }

    /// The current position, to [rewind](Tape::rewind) to.
    pub(crate) fn position(&self) -> Position {
        Position {
            len: self.len,
            ops: self.ops.len(),
            indices: self.indices.len(),
            inputs: self.inputs.len(),
            heads: self.heads.len(),
        }
    }

    /// Drops everything recorded after `position`.
    pub(crate) fn rewind(&mut self, position: Position) {
        self.len = position.len;
        self.ops.truncate(position.ops);
        self.levels.truncate(position.ops);
        self.inflows.truncate(position.ops);
        self.op_owners.truncate(position.ops);
        self.indices.truncate(position.indices);
        self.inputs.truncate(position.inputs);
        self.heads.truncate(position.heads);
    }

    /// The values of `v`, `(rows, cols)`.
    pub fn value(&self, v: Var) -> &[f32] {
        &self.values[v.range()]
    }

    /// Number of floats in the current recording.
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many floats were recorded after `position`.
    pub(crate) fn len_since(&self, position: Position) -> usize {
        self.len - position.len
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An error if the recording has grown so far that another step may not fit: offsets have 32
    /// bits, and a step takes far less than half of them.
    pub(crate) fn check_room(&self) -> Result<(), BackendError> {
        match self.len < MOST_FLOATS {
            true => Ok(()),
            false => Err(BackendError::new(format!(
                "the recording has {} floats, and the limit is {MOST_FLOATS}: the input is too long \
                 for this network",
                self.len
            ))),
        }
    }

    /// A mark on element `j` of row `i` of `v`.
    pub fn mark(&self, v: Var, i: usize, j: usize) -> Mark {
        assert!(i < v.rows as usize && j < v.cols as usize);
        Mark((v.op.index() as u64) << 32 | (v.row_at(i) + j) as u64)
    }

    /// Marks on all elements of the row that a mark on log-probabilities is in; of other values, on the
    /// marked one alone.
    pub(crate) fn row_of(&self, Mark(mark): Mark) -> impl ExactSizeIterator<Item = Mark> + use<> {
        let (op, at) = (mark >> 32, mark as u32);
        let (start, cols) = match &self.ops[op as usize] {
            Op::LogSoftmax(softmax) => {
                let Var { at: first, cols, .. } = softmax.y;
                (at - (at - first) % cols, cols)
            }
            _ => (at, 1),
        };
        (start..start + cols).map(move |at| Mark(op << 32 | u64::from(at)))
    }

    /// Allocates `len` floats for the next operation and returns their offset. The contents are
    /// stale: the operation must write everything that is ever read.
    pub(crate) fn open(&mut self, len: usize) -> usize {
        let at = self.len.next_multiple_of(LINE);
        self.len = at + len;
        if self.values.len() < self.len {
            assert!(u32::try_from(self.len).is_ok(), "recording exceeds 2³² floats");
            self.values.resize(self.len);
        }
        at
    }

    /// The values before `at`, to read, and the region just opened there, to write.
    pub(crate) fn split(&mut self, at: usize) -> (&[f32], &mut [f32]) {
        let (before, own) = self.values[..self.len].split_at_mut(at);
        (before, own)
    }

    /// Records `op`, which receives gradients from `inflow` on, as the origin of its results.
    pub(crate) fn record(&mut self, op: Op, inflow: usize) -> Origin {
        let origin = self.next_op();
        self.ops.push(op);
        self.levels.push(self.level);
        self.op_owners.push(self.owners);
        self.inflows.push((inflow as u32, self.len as u32));
        origin
    }

    /// The origin of what the next operation computes.
    pub(crate) fn next_op(&self) -> Origin {
        Origin(self.ops.len() as u32)
    }
}

/// The input that owns each row of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owners {
    /// Row `i` belongs to input `i % B`: matrices are time-major while inputs are encoded.
    Cyclic(u32),
    /// Row `i` belongs to the input listed at offset `i` from here in the tape's indices.
    Listed(u32),
}

impl Default for Owners {
    fn default() -> Self {
        Owners::Cyclic(1)
    }
}

impl Owners {
    pub(crate) fn of(self, row: usize, indices: &[u32]) -> usize {
        match self {
            Owners::Cyclic(batch) => row % batch as usize,
            Owners::Listed(at) => indices[at as usize + row] as usize,
        }
    }
}

/// A pass under given weights. Its methods are the operations a network is built from.
pub struct Graph<'a> {
    /// The weights of this pass, `W` or a private `W_λ`.
    pub w: &'a [f32],
    /// The tape that records it.
    pub tape: &'a mut Tape,
    /// The source of dropout masks; `None` outside training.
    pub random: Option<Random>,
    /// Per-input additions to biases.
    pub(crate) shifts: Option<&'a Shifts>,
    /// When to give up on the pass.
    pub(crate) until: Option<Instant>,
    /// Whether the pass was given up.
    pub(crate) is_cut_off: bool,
}

impl<'a> Graph<'a> {
    /// An inference pass under `w`, continuing the recording on `tape`.
    pub fn new(w: &'a [f32], tape: &'a mut Tape) -> Self {
        Graph { w, tape, random: None, shifts: None, until: None, is_cut_off: false }
    }

    /// Whether the deadline of this pass has passed. A network that asks between its layers may then
    /// return early: its output is not read.
    pub fn is_late(&mut self) -> bool {
        let is_late = self.until.is_some_and(|until| until <= Instant::now());
        self.is_cut_off |= is_late;
        is_late
    }

    /// Whether only per-input biases move, so that rows of many inputs share every matrix.
    pub fn shares_matrices(&self) -> bool {
        self.shifts.is_some()
    }

    /// Declares that rows of subsequent operations belong to `batch` inputs cyclically.
    pub(crate) fn cycle(&mut self, batch: usize) {
        self.tape.owners = Owners::Cyclic(batch.max(1) as u32);
    }

    /// Declares the input that owns each row of subsequent operations.
    pub(crate) fn list(&mut self, inputs: impl Iterator<Item = u32>) {
        self.tape.owners = Owners::Listed(self.tape.indices.len() as u32);
        self.tape.indices.extend(inputs);
    }

    /// Declares that subsequent operations have at least this level: nothing of a lower level will
    /// depend on them. The backward pass then walks a whole level before the next lower one, and
    /// can batch per-step work over all steps. An operation that depends on one of a higher level
    /// has that level, whatever is declared.
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

    /// Overwrites the constant `v` with `values`.
    pub(crate) fn fill(&mut self, v: Var, values: impl Iterator<Item = f32>) {
        self.tape.values[v.range()].iter_mut().zip(values).for_each(|(v, value)| *v = value);
    }

    /// A parameter as a matrix on the tape, for operations between parameters.
    pub fn param(&mut self, p: Param) -> Var {
        let values = p.of(self.w);
        let at = self.tape.open(values.len());
        self.tape.split(at).1.copy_from_slice(values);
        let op = self.tape.record(Op::Param(p), at);
        Var { op: op.shared(true), at: at as u32, rows: p.rows, cols: p.cols }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_is_full_is_a_failure() {
        let mut tape = Tape::default();
        assert!(tape.check_room().is_ok());
        tape.len = MOST_FLOATS;
        let failure = tape.check_room().unwrap_err().to_string();
        assert!(failure.contains("2147483648 floats"), "{failure}");
    }
}
