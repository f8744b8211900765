//! Networks that emit one symbol after another, each given those before.
//!
//! This is the trait to implement for a sequence-to-sequence network of one's own: declare the
//! parameters, say how inputs are read and how one step is taken. Every decoder, training and
//! gradient-based inference then work with it, through [`Trained`].

use cajole::Aligned;
use cajole::model::{Candidate, Gradient, Group, Mark, Model, Symbol};

use crate::layout::Layout;
use crate::tape::{Graph, Position, Tape, Var};

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

/// A network with its weights: what decoders and Algorithm 1 work with.
#[derive(Clone, Debug)]
pub struct Trained<N> {
    /// The architecture.
    pub net: N,
    /// `W`.
    pub weights: Aligned,
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

impl<N: AutoRegressive> Model for Trained<N> {
    type Input = N::Input;
    type Scratch = Scratch;

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn groups(&self) -> Vec<Group> {
        self.net.layout().groups()
    }

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn size(&self, x: &N::Input) -> usize {
        self.net.cap(x)
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
        let (mut state, mut previous) = (encoded.state, self.net.end());
        for symbol in y.iter().copied().chain([self.net.end()]) {
            let (next, log_probs) = self.net.step(&mut g, encoded, &state, &[0], &[previous]);
            forced.log_prob += g.tape.value(log_probs)[symbol as usize];
            forced.marks.push(g.tape.mark(log_probs, 0, symbol as usize));
            (state, previous) = (next, symbol);
        }
        forced.output.extend_from_slice(y);
    }

    fn gradient(
        &self,
        w: &[f32],
        blame: &[(Mark, f32)],
        scratch: &mut Scratch,
        grad: &mut Gradient,
    ) {
        scratch.tape.backward(w, self.net.layout(), blame, grad);
    }
}
