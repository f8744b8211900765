//! Ancestral sampling: draw outputs from the network's own distribution, keep a satisfying one.
//!
//! Samples are drawn as rows of one batch; the most probable one that satisfies the constraint is
//! returned.

use super::Buffers;
use crate::decoder::{ConstrainedDecoder, Found, Session, Sought};
use crate::failure::Failure;
use crate::model::{Candidate, Symbol};
use crate::random::Random;
use crate::stepper::{Recording, Stepper};

/// The most probable satisfying sample.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Number of samples.
    pub samples: usize,
    /// Softmax temperature; 1 is the network's own distribution.
    pub temperature: f32,
    /// Every input is sampled from the same stream, so results do not depend on their order.
    pub seed: u64,
}

impl<M: Stepper> ConstrainedDecoder<M> for Sampling {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), Failure> {
        for (sought, found) in set.iter().zip(found) {
            let mut drawn = self.draw(at, sought)?;
            drawn.retain(|y| sought.wanted.accepts(y));
            found.clear();
            found.passes = self.samples;
            if let Some(best) = drawn.iter().max_by(|a, b| a.log_prob.total_cmp(&b.log_prob)) {
                found.add().clone_from(best);
            }
        }
        Ok(())
    }
}

impl Sampling {
    /// Draws outputs for one input; their log-probabilities are those at temperature 1.
    fn draw<M: Stepper>(
        &self,
        at: &mut Session<'_, M>,
        sought: &Sought<'_, '_, M>,
    ) -> Result<Vec<Candidate>, Failure> {
        let Session { model, scratch, buffers } = at;
        let Buffers { log_probs, symbols, .. } = &mut **buffers;
        let (n, end, set) = (model.n_symbols(), model.end(), [sought.pass]);
        let mut random = Random::new(self.seed);
        let mut drawn = vec![Candidate { capped: true, ..Candidate::default() }; self.samples];
        model.begin(scratch, &set, Recording::None)?;
        model.reorder(scratch, &vec![0; self.samples])?;
        symbols.clear();
        symbols.resize(self.samples, end);
        for _ in 0..model.cap(sought.pass.input) {
            if sought.wanted.is_late() || drawn.iter().all(|y| !y.capped) {
                break;
            }
            model.step(scratch, &set, symbols, log_probs)?; // (R, V)
            let rows = drawn.iter_mut().zip(log_probs.chunks_exact(n)).zip(symbols.iter_mut());
            for ((y, log_probs), previous) in rows.filter(|((y, _), _)| y.capped) {
                let u = random.uniform(0.0, 1.0);
                let symbol = choose(log_probs, self.temperature, u, end);
                y.log_prob += log_probs[symbol as usize];
                *previous = symbol;
                match symbol == end {
                    true => y.capped = false,
                    false => y.output.push(symbol),
                }
            }
        }
        Ok(drawn)
    }
}

/// Inverse transform sampling: the symbol at `u` of the cumulative distribution.
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
