//! Ancestral sampling: draw outputs from the network's own distribution until one satisfies.
//!
//! Samples are drawn as rows of one batch; of those that satisfy the constraint the most probable
//! is taken.

use cajole_core::constraint::Constraint;
use cajole_core::decoder::{Decoder, Found};
use cajole_core::model::{Candidate, Symbol};

use crate::autoregressive::{AutoRegressive, Scratch};
use crate::network::Trained;
use crate::random::Random;
use crate::tape::Graph;

/// The most probable satisfying one of a number of samples.
pub struct Sampling<'a, C: ?Sized> {
    /// How many are drawn.
    pub samples: usize,
    /// Log-probabilities are divided by this before drawing; 1 is the network's own distribution.
    pub temperature: f32,
    /// Every input is sampled from the same stream, so results do not depend on their order.
    pub seed: u64,
    /// What a sample has to satisfy.
    pub constraint: &'a C,
}

impl<N: AutoRegressive, C: Constraint<N::Input> + ?Sized> Decoder<Trained<N>> for Sampling<'_, C> {
    fn decode(
        &self,
        model: &Trained<N>,
        w: &[f32],
        x: &N::Input,
        scratch: &mut Scratch,
        found: &mut Found,
    ) {
        let mut drawn = draw(model, w, x, self.samples, self.temperature, self.seed, scratch);
        drawn.retain(|y| !y.capped && self.constraint.check(x, &y.output).is_satisfied());
        found.clear();
        found.passes = self.samples;
        if let Some(best) = drawn.iter().max_by(|a, b| a.log_prob.total_cmp(&b.log_prob)) {
            found.add().clone_from(best);
        }
    }
}

/// Draws `n` outputs for `x`; their log-probabilities are those at temperature 1.
fn draw<N: AutoRegressive>(
    model: &Trained<N>,
    w: &[f32],
    x: &N::Input,
    n: usize,
    temperature: f32,
    seed: u64,
    scratch: &mut Scratch,
) -> Vec<Candidate> {
    let net = &model.net;
    scratch.begin(net, w, &[x]);
    let Scratch { tape, encoded, .. } = scratch;
    let mut g = Graph::new(w, tape);
    let mut random = Random::new(seed);
    let inputs = vec![0; n];
    let mut state = encoded.state.rows(&mut g, &inputs);
    let mut previous = vec![net.end(); n];
    let mut drawn = vec![Candidate { capped: true, ..Candidate::default() }; n];
    for _ in 0..net.cap(x) {
        let (next, log_probs) = net.step(&mut g, encoded, &state, &inputs, &previous);
        for (i, y) in drawn.iter_mut().enumerate().filter(|(_, y)| y.capped) {
            let row = g.tape.value(log_probs.row(i)); // (V)
            let symbol = choose(row, temperature, random.uniform(0.0, 1.0), net.end());
            y.log_prob += row[symbol as usize];
            y.marks.push(g.tape.mark(log_probs, i, symbol as usize));
            previous[i] = symbol;
            if symbol == net.end() {
                y.capped = false;
            } else {
                y.output.push(symbol);
            }
        }
        if drawn.iter().all(|y| !y.capped) {
            break;
        }
        state = next;
    }
    drawn
}

/// The symbol at height `u` of the cumulated distribution.
fn choose(log_probs: &[f32], temperature: f32, u: f32, end: Symbol) -> Symbol {
    let weight = |log_prob: &f32| (log_prob / temperature).exp();
    let total: f32 = log_probs.iter().map(weight).sum();
    let mut height = u * total;
    for (symbol, log_prob) in (0..).zip(log_probs) {
        height -= weight(log_prob);
        if height < 0.0 {
            return symbol;
        }
    }
    end
}
