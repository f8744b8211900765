//! Networks that emit one symbol after another, each given those before.
//!
//! This is the trait to implement for a sequence-to-sequence network of one's own: declare the
//! parameters, say how inputs are read and how one step is taken. Every decoder, training and
//! gradient-based inference then work with it, through [`Trained`](crate::Trained).

use cajole_core::model::{Candidate, Mark, Symbol};

use crate::layout::Layout;
use crate::network::Network;
use crate::tape::{Graph, Position, Tape, Var};
use crate::train::Example;

/// A network `p(y | x) = Π_t p(y_t | y_<t, x)`.
pub trait AutoRegressive: Send + Sync {
    /// `x`.
    type Input: ?Sized + Sync;

    /// Every parameter, by name and shape.
    fn layout(&self) -> &Layout;

    /// `V`: how many symbols an output is made of, the end symbol among them.
    fn n_symbols(&self) -> usize;

    /// The symbol that ends an output. It also stands before the first one.
    fn end(&self) -> Symbol;

    /// How long an output for `x` may become before decoding gives up, its end symbol included.
    fn cap(&self, x: &Self::Input) -> usize;

    /// Reads `B` inputs: what every step looks at, and the state before the first step. Matrices
    /// in both have `B` rows, or one row that counts for all.
    fn encode(&self, g: &mut Graph<'_>, xs: &[&Self::Input]) -> Encoded;

    /// Takes one step for `R` sequences, given the state and symbol before: the next state, and
    /// the log-probabilities `(R, V)` of the next symbol. Row `i` belongs to input `inputs[i]`: a
    /// beam has many rows for one input, and rows that have ended may be left out.
    fn step(
        &self,
        g: &mut Graph<'_>,
        encoded: &Encoded,
        state: &Vars,
        inputs: &[u32],
        previous: &[Symbol],
    ) -> (Vars, Var);
}

/// What an encoder leaves for the decoder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoded {
    /// What every step looks at.
    pub memory: Vars,
    /// The state before the first step.
    pub state: Vars,
}

/// A short list of matrices on the tape, by value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    vars: [Option<Var>; Vars::MOST],
}

impl Vars {
    /// The most matrices a list can hold.
    pub const MOST: usize = 16;

    /// A list of these matrices.
    pub fn new(vars: &[Var]) -> Self {
        assert!(vars.len() <= Vars::MOST, "{} matrices in one list", vars.len());
        let mut list = Vars::default();
        for (place, &var) in list.vars.iter_mut().zip(vars) {
            *place = Some(var);
        }
        list
    }

    /// Adds a matrix at the end.
    pub fn push(&mut self, var: Var) {
        let place = self.vars.iter_mut().find(|place| place.is_none());
        *place.expect("a list of matrices has room for one more") = Some(var);
    }

    /// The matrices, in order.
    pub fn iter(&self) -> impl Iterator<Item = Var> {
        self.vars.iter().flatten().copied()
    }

    /// The same list with only the first `n` rows of each matrix, for free.
    pub(crate) fn first(&self, n: usize) -> Vars {
        Vars {
            vars: self
                .vars
                .map(|var| var.map(|var| if var.rows == 1 { var } else { var.slice(0, n) })),
        }
    }

    /// The same values, as constants, in a recording that is first rewound to `position`. So a pass
    /// that needs no gradient takes as much memory as one step.
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

    /// The same list with only these rows of each matrix.
    pub fn rows(&self, g: &mut Graph<'_>, which: &[u32]) -> Vars {
        Vars { vars: self.vars.map(|var| var.map(|var| g.rows(var, which.iter().copied()))) }
    }
}

impl std::ops::Index<usize> for Vars {
    type Output = Var;

    fn index(&self, i: usize) -> &Var {
        self.vars[i].as_ref().expect("a list of matrices is indexed within its length")
    }
}

/// One thread's recording, with the buffers that decoders need.
#[derive(Default)]
pub struct Scratch {
    /// The recording.
    pub tape: Tape,
    /// What was read of the input that the recording is about.
    pub(crate) encoded: Encoded,
    pub(crate) beam: crate::decoders::Buffers,
}

impl Scratch {
    /// Starts a new recording with the encoding of `xs` under `w`.
    pub(crate) fn begin<N: AutoRegressive>(&mut self, net: &N, w: &[f32], xs: &[&N::Input]) {
        self.tape.clear();
        self.encoded = net.encode(&mut Graph::new(w, &mut self.tape), xs);
    }
}

impl AsMut<Tape> for Scratch {
    fn as_mut(&mut self) -> &mut Tape {
        &mut self.tape
    }
}

impl<N: AutoRegressive> Network for N {
    type Input = N::Input;
    type Scratch = Scratch;

    fn layout(&self) -> &Layout {
        AutoRegressive::layout(self)
    }

    fn size(&self, x: &N::Input) -> usize {
        self.cap(x)
    }

    fn n_terms(&self, y: &[Symbol]) -> usize {
        y.len() + 1
    }

    /// Every symbol given those before it in the example, whatever the network would have said.
    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, N::Input>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64 {
        // The longest come first, so that what has not ended is always the first few rows.
        let mut examples = examples.to_vec();
        examples.sort_by_key(|example| std::cmp::Reverse(example.output.len()));
        let xs: Vec<&N::Input> = examples.iter().map(|example| example.input).collect();
        let encoded = self.encode(g, &xs);
        let (mut state, mut loss) = (encoded.state, 0.0);
        let inputs: Vec<u32> = (0..examples.len() as u32).collect();
        let mut previous = vec![self.end(); examples.len()];
        let longest = examples.first().map_or(0, |example| example.output.len());
        for t in 0..=longest {
            // Products take four rows at a time: a row that has ended costs less than a broken four.
            let alive = examples.partition_point(|example| t <= example.output.len());
            let rows = alive.next_multiple_of(4).min(examples.len());
            let (state_now, inputs, before) =
                (state.first(rows), &inputs[..rows], &previous[..rows]);
            let (next, log_probs) = self.step(g, &encoded, &state_now, inputs, before); // (R, V)
            for (i, example) in examples[..alive].iter().enumerate() {
                let symbol = example.output.get(t).copied().unwrap_or(self.end());
                loss -= f64::from(g.tape.value(log_probs.row(i))[symbol as usize]);
                blame.push((g.tape.mark(log_probs, i, symbol as usize), -weight));
                previous[i] = symbol;
            }
            state = next;
        }
        loss
    }

    fn force(
        &self,
        w: &[f32],
        _x: &N::Input,
        y: &[Symbol],
        scratch: &mut Scratch,
        forced: &mut Candidate,
    ) {
        let Scratch { tape, encoded, .. } = scratch;
        let mut g = Graph::new(w, tape);
        forced.clear();
        let (mut state, mut previous) = (encoded.state, self.end());
        for symbol in y.iter().copied().chain([self.end()]) {
            let (next, log_probs) = self.step(&mut g, encoded, &state, &[0], &[previous]);
            forced.log_prob += g.tape.value(log_probs)[symbol as usize];
            forced.marks.push(g.tape.mark(log_probs, 0, symbol as usize));
            (state, previous) = (next, symbol);
        }
        forced.output.extend_from_slice(y);
    }
}
