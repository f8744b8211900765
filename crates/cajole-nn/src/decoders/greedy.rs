//! Greedy decoding: the most probable symbol at every step.

use cajole_core::decoder::{Decoder, Found};
use cajole_core::model::Symbol;

use super::argmax;
use crate::autoregressive::{AutoRegressive, Scratch};
use crate::network::Trained;
use crate::tape::Graph;

/// Takes the most probable symbol at every step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl<N: AutoRegressive> Decoder<Trained<N>> for Greedy {
    fn decode(
        &self,
        model: &Trained<N>,
        w: &[f32],
        x: &N::Input,
        scratch: &mut Scratch,
        found: &mut Found,
    ) {
        let net = &model.net;
        scratch.begin(net, w, &[x]);
        found.clear();
        found.passes = 1;
        let decoded = found.add();
        let Scratch { tape, encoded, .. } = scratch;
        let mut g = Graph::new(w, tape);
        let (mut state, mut previous) = (encoded.state, net.end());
        decoded.capped = true;
        for _ in 0..net.cap(x) {
            let (next, log_probs) = net.step(&mut g, encoded, &state, &[0], &[previous]);
            let row = g.tape.value(log_probs); // (V)
            let best = argmax(row, net.end() as usize);
            decoded.log_prob += row[best];
            decoded.marks.push(g.tape.mark(log_probs, 0, best));
            (state, previous) = (next, best as Symbol);
            if previous == net.end() {
                decoded.capped = false;
                break;
            }
            decoded.output.push(previous);
        }
    }

    /// All inputs as rows of one batch; those that have ended leave it.
    fn decode_many(
        &self,
        model: &Trained<N>,
        w: &[f32],
        xs: &[&N::Input],
        scratch: &mut Scratch,
        found: &mut Found,
    ) {
        let net = &model.net;
        found.clear();
        if xs.is_empty() {
            return;
        }
        scratch.begin(net, w, xs);
        found.passes = xs.len();
        let Scratch { tape, encoded, .. } = scratch;
        let mut g = Graph::new(w, tape);
        let start = g.tape.position();
        let mut state = encoded.state;
        let mut decoded: Vec<_> = xs.iter().map(|_| cajole_core::Candidate::default()).collect();
        // The rows that go on: which input each belongs to, and the symbol before.
        let mut inputs: Vec<u32> = (0..xs.len() as u32).collect();
        let mut previous = vec![net.end(); xs.len()];
        let (mut kept, mut carried) = (Vec::new(), Vec::new());
        while !inputs.is_empty() {
            let (mut next, log_probs) = net.step(&mut g, encoded, &state, &inputs, &previous);
            let rows = g.tape.value(log_probs).chunks_exact(net.n_symbols()); // (R, V)
            kept.clear();
            for (i, row) in rows.enumerate() {
                let input = inputs[i] as usize;
                let y = &mut decoded[input];
                let best = argmax(row, net.end() as usize);
                y.log_prob += row[best];
                if best as Symbol != net.end() {
                    y.output.push(best as Symbol);
                    y.capped = y.output.len() == net.cap(xs[input]);
                    if !y.capped {
                        previous[kept.len()] = best as Symbol;
                        kept.push(i as u32);
                    }
                }
            }
            if kept.len() < inputs.len() {
                next = next.rows(&mut g, &kept);
                for (place, &row) in kept.iter().enumerate() {
                    inputs[place] = inputs[row as usize];
                }
                inputs.truncate(kept.len());
                previous.truncate(kept.len());
            }
            state = next.carry(&mut g, start, &mut carried);
        }
        for candidate in &decoded {
            found.add().clone_from(candidate);
        }
    }
}
