//! Greedy decoding: the most probable symbol at every step.

use cajole::decoder::{Decoder, Found};
use cajole::model::Symbol;

use super::argmax;
use crate::autoregressive::{AutoRegressive, Scratch, Trained};
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
            let (next, log_probs) = net.step(&mut g, encoded, &state, &[previous]);
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

    /// All inputs as rows of one batch, until the last has ended.
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
        let mut state = encoded.state;
        let mut previous = vec![net.end(); xs.len()];
        let caps: Vec<usize> = xs.iter().map(|x| net.cap(x)).collect();
        let mut running = vec![true; xs.len()];
        let mut decoded: Vec<_> = xs.iter().map(|_| cajole::Candidate::default()).collect();
        for t in 0..caps.iter().copied().max().unwrap_or(0) {
            let (next, log_probs) = net.step(&mut g, encoded, &state, &previous);
            let rows = g.tape.value(log_probs).chunks_exact(net.n_symbols()); // (B, V)
            for (i, row) in rows.enumerate() {
                if !running[i] {
                    continue;
                }
                let best = argmax(row, net.end() as usize);
                decoded[i].log_prob += row[best];
                previous[i] = best as Symbol;
                if previous[i] == net.end() {
                    running[i] = false;
                } else {
                    decoded[i].output.push(previous[i]);
                    decoded[i].capped = t + 1 == caps[i];
                    running[i] = !decoded[i].capped;
                }
            }
            if !running.contains(&true) {
                break;
            }
            state = next;
        }
        for candidate in &decoded {
            found.add().clone_from(candidate);
        }
    }
}
