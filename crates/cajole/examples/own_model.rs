//! A network of one's own, in one file: `cargo run --release -p cajole --example own_model`
//!
//! A recurrent network without gates (Elman 1990), with an operation of its own for `tanh`, learns
//! to reverse digits. Outputs must be as long as their inputs, which the network has not quite
//! learnt. Gradient-based inference enforces it.
#![allow(clippy::print_stdout)] // an example shows its results

use std::sync::Arc;

use cajole::nn::kernels;
use cajole::nn::layers::custom::Operation;
use cajole::nn::layout::{Init, Layout, Param};
use cajole::nn::random::Random;
use cajole::nn::tape::{Graph, Var};
use cajole::nn::{AutoRegressive, Encoded, Example, TrainConfig, Trainer, Vars};
use cajole::prelude::*;

const DIGITS: usize = 5;
const HIDDEN: usize = 48;

/// `h' = tanh(E[x] + h · U)`, once for reading and once for writing.
struct Reverser {
    layout: Layout,
    reader: (Param, Param), // (DIGITS + 1, H), (H, H)
    writer: (Param, Param), // (DIGITS + 1, H), (H, H)
    output: (Param, Param), // (H, DIGITS + 1), (DIGITS + 1)
    tanh: Arc<dyn Operation>,
}

impl Reverser {
    fn new() -> Self {
        let mut layout = Layout::default();
        let symbols = DIGITS + 1; // the end symbol is the last one
        let mut cell = |name: &str| {
            let init = Init::Glorot { blocks: 1 };
            let embedding = layout.matrix(&format!("{name}.e"), symbols, HIDDEN, init);
            (embedding, layout.matrix(&format!("{name}.u"), HIDDEN, HIDDEN, init))
        };
        let (reader, writer) = (cell("reader"), cell("writer"));
        let w = layout.matrix("output.w", HIDDEN, symbols, Init::Glorot { blocks: 1 });
        let b = layout.vector("output.b", symbols, Init::Zero);
        Reverser { layout, reader, writer, output: (w, b), tanh: Arc::new(SumTanh) }
    }

    fn cell(&self, g: &mut Graph<'_>, (e, u): (Param, Param), h: Var, symbols: &[u32]) -> Var {
        let x = g.embed(e, symbols.iter().copied()); // (B, H)
        let h = g.affine(&[(h, u)], None); // (B, H)
        g.custom(&self.tanh, &[x, h], (symbols.len(), HIDDEN))
    }
}

impl AutoRegressive for Reverser {
    type Input = [Symbol];

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_symbols(&self) -> usize {
        DIGITS + 1
    }

    fn end(&self) -> Symbol {
        DIGITS as Symbol
    }

    fn cap(&self, x: &[Symbol]) -> usize {
        2 * x.len() + 5
    }

    fn encode(&self, g: &mut Graph<'_>, xs: &[&[Symbol]]) -> Encoded {
        // Shorter inputs are padded in front with the end symbol, so that all end together.
        let longest = xs.iter().map(|x| x.len()).max().unwrap_or(0);
        let mut h = g.zeros(xs.len(), HIDDEN); // (B, H)
        for t in 0..longest {
            let at = |x: &&[Symbol]| (t + x.len()).checked_sub(longest).map(|i| x[i]);
            let symbols: Vec<_> = xs.iter().map(|x| at(x).unwrap_or(self.end())).collect();
            h = self.cell(g, self.reader, h, &symbols);
        }
        Encoded { memory: Vars::default(), state: Vars::new(&[h]) }
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        _encoded: &Encoded,
        state: &mut Vars,
        _inputs: &[u32],
        previous: &[Symbol],
    ) -> Var {
        let h = self.cell(g, self.writer, state[0], previous); // (R, H)
        state[0] = h;
        let scores = g.affine(&[(h, self.output.0)], Some(self.output.1)); // (R, DIGITS + 1)
        g.log_softmax(scores)
    }
}

/// `y = tanh(a + b)`: an operation that the engine does not have.
struct SumTanh;

impl Operation for SumTanh {
    fn forward(&self, inputs: &[&[f32]], y: &mut [f32]) {
        y.copy_from_slice(inputs[0]);
        kernels::add_to(y, inputs[1]);
        kernels::tanh(y);
    }

    /// `da = db = dy ∘ (1 − y²)`.
    fn backward(&self, _inputs: &[&[f32]], y: &[f32], dy: &[f32], _which: usize, dx: &mut [f32]) {
        for ((dx, dy), y) in dx.iter_mut().zip(dy).zip(y) {
            *dx += dy * (1.0 - y * y);
        }
    }
}

fn main() {
    let net = Reverser::new();
    let mut random = Random::new(1);
    let mut draw = |n: usize, longest: usize| -> Vec<Vec<Symbol>> {
        let digits = |random: &mut Random| {
            let length = 1 + random.below(longest);
            (0..length).map(|_| random.below(DIGITS) as Symbol).collect()
        };
        (0..n).map(|_| digits(&mut random)).collect()
    };
    let reverse = |x: &Vec<Symbol>| x.iter().rev().copied().collect::<Vec<_>>();

    let (inputs, tests) = (draw(1500, 6), draw(400, 7));
    let outputs: Vec<_> = inputs.iter().map(reverse).collect();
    let examples = inputs.iter().zip(&outputs);
    let examples = examples.map(|(x, y)| Example { input: x.as_slice(), output: y }).collect();
    let config = TrainConfig::new(30, 3e-3);
    let mut trainer = Trainer::new(&net, config, examples, 1);
    let mut loss = f64::NAN;
    while !trainer.is_done() {
        loss = trainer.epoch();
    }
    println!("trained: {loss:.3} nats per digit");

    let weights = trainer.state().weights.clone();
    let model = Trained::new(net, weights);
    let as_long = |x: &[Symbol], y: &[Symbol]| x.len().abs_diff(y.len()) as f32;
    let jobs = tests.iter().map(|x| Job::new(x.as_slice(), &as_long));
    let outcomes = Gbi::new(&model).run_all(&jobs.collect::<Vec<_>>(), |_, _| {});

    let failures = outcomes.iter().filter(|o| o.g_before != 0.0).count();
    let converted = outcomes.iter().filter(|o| o.is_converted()).count();
    println!("{failures} of {} outputs have the wrong length; {converted} repaired", tests.len());
    let repaired = tests.iter().zip(&outcomes).filter(|(_, o)| o.is_converted());
    for (x, outcome) in repaired.take(3) {
        let first = outcome.trace.output(&outcome.trace.steps()[0]);
        println!("{x:?}: {first:?} became {:?} in {} steps", outcome.output, outcome.steps);
    }
    assert!(outcomes.iter().all(Outcome::is_satisfied), "every output is as long");
}
