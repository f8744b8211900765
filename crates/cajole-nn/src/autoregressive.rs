//! Networks that emit one symbol at a time, conditioned on the previous ones.
//!
//! Implement this trait for your own sequence-to-sequence network: declare the parameters, encode
//! inputs, and take one step. Every decoder, training and gradient-based inference then work with
//! it, through [`Trained`](crate::Trained).

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::model::{Mark, Symbol};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Recording, Search, decoders,
};
use smallvec::SmallVec;

use crate::layout::Layout;
use crate::network::{Forcing, Network, Trainable, Trained};
use crate::stepwise::Stepwise;
use crate::tape::{Graph, Position, Tape, Var};
use crate::train::Example;

/// A network `p(y | x) = Π_t p(y_t | y_<t, x)`.
pub trait AutoRegressive: Send + Sync {
    /// `x`.
    type Input: ?Sized + Sync;

    /// Every parameter, by name and shape.
    fn layout(&self) -> &Layout;

    /// `V`: number of output symbols, including the end symbol.
    fn n_symbols(&self) -> usize;

    /// The end symbol, which also serves as the start symbol; the last one, unless overridden.
    fn end(&self) -> Symbol {
        AutoRegressive::n_symbols(self) as Symbol - 1
    }

    /// Length limit of an output for `x`, including its end symbol.
    fn cap(&self, x: &Self::Input) -> usize;

    /// Encodes `B` inputs into the memory every step reads and the initial decoder state. Matrices
    /// in both have `B` rows, or one row that broadcasts.
    fn encode(&self, g: &mut Graph<'_>, xs: &[&Self::Input]) -> Encoded;

    /// One decoder step for `R` sequences, given the state and the previous symbols. Replaces the
    /// state by the next, and returns the log-probabilities `(R, V)` of the next symbol. Row `i`
    /// belongs to input `inputs[i]`: a beam has many rows per input, and finished rows may be left
    /// out.
    fn step(
        &self,
        g: &mut Graph<'_>,
        encoded: &Encoded,
        state: &mut Vars,
        inputs: &[u32],
        previous: &[Symbol],
    ) -> Var;
}

/// The encoder's output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoded {
    /// What every step reads.
    pub memory: Vars,
    /// The initial decoder state.
    pub state: Vars,
}

/// A short inline list of matrices on the tape.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    vars: [Option<Var>; Vars::MOST],
}

impl Vars {
    /// Capacity of the list.
    pub const MOST: usize = 16;

    /// A list of these matrices.
    pub fn new(vars: &[Var]) -> Self {
        assert!(vars.len() <= Vars::MOST, "{} matrices exceed Vars::MOST", vars.len());
        let mut list = Vars::default();
        for (place, &var) in list.vars.iter_mut().zip(vars) {
            *place = Some(var);
        }
        list
    }

    /// Adds a matrix at the end.
    pub fn push(&mut self, var: Var) {
        let place = self.vars.iter_mut().find(|place| place.is_none());
        *place.expect("a list holds at most Vars::MOST matrices") = Some(var);
    }

    /// The matrices, in order.
    pub fn iter(&self) -> impl Iterator<Item = Var> {
        self.vars.iter().flatten().copied()
    }

    /// The same list with only the first `n` rows of each matrix, as views.
    pub(crate) fn first(&self, n: usize) -> Vars {
        Vars {
            vars: self
                .vars
                .map(|var| var.map(|var| if var.rows == 1 { var } else { var.slice(0, n) })),
        }
    }

    /// Rewinds the tape to `position` and re-records the values as constants, so that a pass
    /// without gradients needs the memory of one step only.
    pub(crate) fn carry(
        &self,
        g: &mut Graph<'_>,
        position: Position,
        carried: &mut Vec<f32>,
    ) -> Vars {
        carried.clear();
        self.iter().for_each(|var| carried.extend_from_slice(g.tape.value(var)));
        g.tape.rewind(position);
        let mut rest = carried.as_slice();
        let vars = self.vars.map(|var| {
            var.map(|var| {
                let (values, others) = rest.split_at((var.rows * var.cols) as usize);
                rest = others;
                g.constant(values, var.cols as usize)
            })
        });
        Vars { vars }
    }

    /// Like [`rows`](Vars::rows), but always copies, even a single row.
    fn gather(&self, g: &mut Graph<'_>, which: &[u32]) -> Vars {
        let row = |var: Var, i: usize| if var.rows == 1 { 0 } else { which[i] };
        let mut gather = |var| g.gather(var, which.len(), |_, i| row(var, i));
        Vars { vars: self.vars.map(|var| var.map(&mut gather)) }
    }

    /// The same list with only these rows of each matrix; a single row broadcasts.
    pub fn rows(&self, g: &mut Graph<'_>, which: &[u32]) -> Vars {
        let rows = |var: Var| match var.rows {
            1 => which.iter().map(|_| 0).collect::<SmallVec<[u32; 128]>>(),
            _ => SmallVec::from_slice(which),
        };
        Vars { vars: self.vars.map(|var| var.map(|var| g.rows(var, rows(var).into_iter()))) }
    }
}

impl std::ops::Index<usize> for Vars {
    type Output = Var;

    fn index(&self, i: usize) -> &Var {
        self.vars[i].as_ref().expect("index past the end of a list of matrices")
    }
}

impl std::ops::IndexMut<usize> for Vars {
    fn index_mut(&mut self, i: usize) -> &mut Var {
        self.vars[i].as_mut().expect("index past the end of a list of matrices")
    }
}

/// Floats of an unrecorded pass that may pile up before they are dropped.
const MOST_DROPPED: usize = 1 << 15;

/// Decoder state of a pass, beside its tape.
#[derive(Default)]
pub struct Steps {
    encoded: Encoded,
    /// The state after the last step, and its log-probabilities.
    state: Vars,
    log_probs: Option<Var>,
    /// The input of each row.
    inputs: Vec<u32>,
    /// The tape position after encoding; unrecorded passes rewind to it.
    start: Option<Position>,
    carried: Vec<f32>,
    saved: Saved,
    /// Room for the inputs of other rows.
    spare: Vec<u32>,
}

/// Saved decoder states, one per prefix, with the input each belongs to.
#[derive(Default)]
struct Saved {
    values: Vec<f32>, // (P, S)
    inputs: Vec<u32>, // (P)
}

impl Saved {
    fn clear(&mut self) {
        self.values.clear();
        self.inputs.clear();
    }

    /// Appends every row of `state`.
    fn keep(&mut self, tape: &Tape, state: &Vars, inputs: &[u32]) {
        for (i, &input) in inputs.iter().enumerate() {
            for var in state.iter() {
                let row = if var.rows == 1 { 0 } else { i };
                self.values.extend_from_slice(tape.value(var.row(row)));
            }
            self.inputs.push(input);
        }
    }

    /// The saved states `which`, as rows of matrices shaped `like` the originals.
    fn gather(&self, g: &mut Graph<'_>, like: &Vars, which: &[u32]) -> Vars {
        let size = self.values.len() / self.inputs.len().max(1);
        let (mut vars, mut offset) = (Vars::default(), 0);
        for cols in like.iter().map(|var| var.cols as usize) {
            let var = g.zeros(which.len(), cols); // (R, cols)
            let row = |&i: &u32| self.values[i as usize * size + offset..][..cols].iter().copied();
            g.fill(var, which.iter().flat_map(row));
            vars.push(var);
            offset += cols;
        }
        vars
    }
}

impl Steps {
    /// Encodes the inputs, one row each.
    fn read<N: AutoRegressive>(&mut self, net: &N, g: &mut Graph<'_>, xs: &[&N::Input]) {
        g.cycle(xs.len());
        self.encoded = net.encode(g, xs);
        self.state = self.encoded.state;
        self.log_probs = None;
        self.inputs.clear();
        self.inputs.extend(0..xs.len() as u32);
        self.start = Some(g.tape.position());
        self.saved.clear();
    }

    /// Takes one step; an unrecorded pass drops the previous ones before they leave the inner caches.
    fn step<N: AutoRegressive>(
        &mut self,
        net: &N,
        g: &mut Graph<'_>,
        previous: &[Symbol],
        recording: Recording,
    ) {
        let Steps { encoded, state, log_probs, inputs, start, carried, .. } = self;
        if let (Recording::None, Some(start), Some(_)) = (recording, *start, *log_probs)
            && MOST_DROPPED < g.tape.len_since(start)
        {
            *state = state.carry(g, start, carried);
        }
        g.list(inputs.iter().copied());
        *log_probs = Some(AutoRegressive::step(net, g, encoded, state, inputs, previous));
    }

    /// Continues with these rows.
    fn reorder(&mut self, g: &mut Graph<'_>, rows: &[u32]) {
        let is_same = rows.len() == self.inputs.len() && rows.iter().zip(0..).all(|(r, i)| *r == i);
        if !is_same {
            self.state = self.state.rows(g, rows);
            self.spare.clear();
            self.spare.extend(rows.iter().map(|&row| self.inputs[row as usize]));
            std::mem::swap(&mut self.spare, &mut self.inputs);
        }
    }
}

impl<N: AutoRegressive> Stepwise for N {
    fn n_symbols(&self) -> usize {
        AutoRegressive::n_symbols(self)
    }

    fn end(&self) -> Symbol {
        AutoRegressive::end(self)
    }

    fn cap(&self, x: &N::Input) -> usize {
        AutoRegressive::cap(self, x)
    }

    fn begin(&self, g: &mut Graph<'_>, lane: &mut Steps, xs: &[&N::Input], _: Recording) {
        lane.read(self, g, xs);
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Steps,
        symbols: &[Symbol],
        recording: Recording,
    ) -> Result<(), BackendError> {
        lane.step(self, g, symbols, recording);
        Ok(())
    }

    fn said<'t>(&self, tape: &'t Tape, lane: &'t Steps, row: usize) -> &'t [f32] {
        lane.log_probs.map(|said| tape.value(said.row(row))).unwrap_or_default()
    }

    fn reorder(&self, tape: &mut Tape, lane: &mut Steps, rows: &[u32]) {
        // Gathering rows uses no weights.
        lane.reorder(&mut Graph::new(&[], tape), rows);
    }

    fn mark(&self, tape: &Tape, lane: &Steps, row: usize, symbol: Symbol) -> Mark {
        tape.mark(lane.log_probs.expect("marks need a step first"), row, symbol as usize)
    }

    fn save(&self, tape: &Tape, lane: &mut Steps) {
        lane.saved.keep(tape, &lane.state, &lane.inputs);
    }

    fn recall(&self, tape: &mut Tape, lane: &mut Steps, which: &[u32]) {
        let Steps { state, inputs, saved, start, log_probs, encoded, .. } = lane;
        if let Some(start) = *start {
            tape.rewind(start);
        }
        *state = saved.gather(&mut Graph::new(&[], tape), &encoded.state, which);
        *log_probs = None;
        inputs.clear();
        inputs.extend(which.iter().map(|&i| saved.inputs[i as usize]));
    }
}

impl<N: AutoRegressive> Trainable for N {
    type Input = N::Input;

    fn layout(&self) -> &Layout {
        AutoRegressive::layout(self)
    }

    fn size(&self, x: &N::Input) -> usize {
        AutoRegressive::cap(self, x)
    }

    fn n_terms(&self, y: &[Symbol]) -> usize {
        y.len() + 1
    }

    /// Teacher forcing: every symbol is conditioned on the example's prefix.
    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, N::Input>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64 {
        // Longest first, so that unfinished sequences are always a prefix of the rows.
        let mut examples = examples.to_vec();
        examples.sort_by_key(|example| std::cmp::Reverse(example.output.len()));
        let xs: Vec<&N::Input> = examples.iter().map(|example| example.input).collect();
        g.cycle(xs.len());
        let encoded = self.encode(g, &xs);
        let (mut state, mut loss) = (encoded.state, 0.0);
        let inputs: Vec<u32> = (0..examples.len() as u32).collect();
        let mut previous = vec![AutoRegressive::end(self); examples.len()];
        let longest = examples.first().map_or(0, |example| example.output.len());
        for t in 0..=longest {
            // Products take four rows at a time, so finished rows are dropped four at a time.
            let alive = examples.partition_point(|example| t <= example.output.len());
            let rows = alive.next_multiple_of(4).min(examples.len());
            state = state.first(rows);
            let (inputs, before) = (&inputs[..rows], &previous[..rows]);
            let log_probs = AutoRegressive::step(self, g, &encoded, &mut state, inputs, before); // (R, V)
            for (i, example) in examples[..alive].iter().enumerate() {
                let symbol = example.output.get(t).copied().unwrap_or(AutoRegressive::end(self));
                loss -= f64::from(g.tape.value(log_probs.row(i))[symbol as usize]);
                blame.push((g.tape.mark(log_probs, i, symbol as usize), -weight));
                previous[i] = symbol;
            }
        }
        loss
    }
}

impl<N: AutoRegressive> Network for N {
    type Lane = Steps;

    /// Runs all outputs of a lane together, longest first, so that unfinished ones are always a
    /// prefix of the rows.
    fn force(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Steps,
        outputs: &mut [Forcing<'_>],
    ) -> Result<(), BackendError> {
        outputs.sort_by_key(|force| std::cmp::Reverse(force.output.len()));
        for force in &mut *outputs {
            *force.passes = 1;
            force.forced.clear();
            force.forced.output.extend_from_slice(force.output);
        }
        let Steps { encoded, .. } = lane;
        let inputs: SmallVec<[u32; 20]> = outputs.iter().map(|force| force.input as u32).collect();
        let mut state = encoded.state.gather(g, &inputs);
        let mut previous: SmallVec<[Symbol; 20]> =
            SmallVec::from_elem(AutoRegressive::end(self), outputs.len());
        let longest = outputs.first().map_or(0, |force| force.output.len());
        for t in 0..=longest {
            let alive = outputs.partition_point(|force| t <= force.output.len());
            state = state.first(alive);
            let inputs = &inputs[..alive];
            g.tape.check_room()?;
            g.list(inputs.iter().copied());
            let said =
                AutoRegressive::step(self, g, encoded, &mut state, inputs, &previous[..alive]);
            for (i, force) in outputs[..alive].iter_mut().enumerate() {
                let symbol = force.output.get(t).copied().unwrap_or(AutoRegressive::end(self));
                force.forced.log_prob += g.tape.value(said.row(i))[symbol as usize];
                force.forced.marks.push(g.tape.mark(said, i, symbol as usize));
                previous[i] = symbol;
            }
        }
        Ok(())
    }

    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Trained<N>> + '_> {
        decoders::own(beam)
    }

    fn search(
        &self,
        search: &Search,
        ranking: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Trained<N>> + '_>, DoesNotFit> {
        decoders::search(search, ranking)
    }
}
