//! Ancestral sampling: draw outputs from the network's own distribution, keep a satisfying one.
//!
//! Samples are drawn as rows of one batch; the most probable one that satisfies the constraint is
//! returned.

use serde::{Deserialize, Serialize};

use super::Buffers;
use crate::backend_error::BackendError;
use crate::decoder::{ConstrainedDecoder, Found, Session, Sought};
use crate::model::{Candidate, Symbol};
use crate::random::Random;
use crate::stepper::{Recording, Stepper};

/// The distribution that samples are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sampled {
    /// Softmax temperature; 1 is the network's own distribution.
    pub temperature: f32,
    /// Only this many of the most probable symbols are drawn; 0 for all.
    pub top_k: usize,
    /// Only the most probable symbols that together have this probability are drawn; 1 for all.
    pub top_p: f32,
}

/// The network's own.
impl Default for Sampled {
    fn default() -> Self {
        Sampled { temperature: 1.0, top_k: 0, top_p: 1.0 }
    }
}

/// The most probable satisfying sample.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Number of samples.
    pub samples: usize,
    /// The distribution that they are drawn from.
    pub sampled: Sampled,
    /// Every input is sampled from the same stream, so results do not depend on their order.
    pub seed: u64,
}

impl<M: Stepper> ConstrainedDecoder<M> for Sampling {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
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
    /// This many samples of the network's own distribution.
    pub fn of(samples: usize, seed: u64) -> Self {
        Sampling { samples, sampled: Sampled::default(), seed }
    }

    /// Draws from another distribution.
    #[must_use]
    pub fn drawn_from(self, sampled: Sampled) -> Self {
        Sampling { sampled, ..self }
    }

    /// Draws outputs for one input; their log-probabilities are those at temperature 1.
    fn draw<M: Stepper>(
        &self,
        at: &mut Session<'_, M>,
        sought: &Sought<'_, '_, M>,
    ) -> Result<Vec<Candidate>, BackendError> {
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
                let symbol = choose(log_probs, self.sampled, u, end);
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
fn choose(log_probs: &[f32], sampled: Sampled, u: f32, end: Symbol) -> Symbol {
    let least = sampled.least(log_probs);
    let weight = |log_prob: &f32| match least <= *log_prob {
        true => (log_prob / sampled.temperature).exp(),
        false => 0.0,
    };
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

impl Sampled {
    /// The least log-probability of a symbol that is drawn.
    fn least(self, log_probs: &[f32]) -> f32 {
        if self.top_k == 0 && self.top_p >= 1.0 {
            return f32::NEG_INFINITY;
        }
        let mut best = log_probs.to_vec();
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        if 0 < self.top_k {
            // As many as tie with the last.
            let last = best[self.top_k.min(best.len()) - 1];
            best.truncate(best.partition_point(|log_prob| last <= *log_prob));
        }
        let weight = |log_prob: &f32| (log_prob / self.temperature).exp();
        let total: f32 = best.iter().map(weight).sum();
        let mut reached = 0.0;
        for log_prob in &best {
            reached += weight(log_prob) / total;
            if self.top_p <= reached {
                return *log_prob;
            }
        }
        best.last().copied().unwrap_or(f32::NEG_INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_most_probable_symbols_are_drawn() {
        let probabilities = [0.1, 0.4, 0.2, 0.3];
        let log_probs = probabilities.map(f32::ln);
        let cases =
            [(0, 1.0, 4), (2, 1.0, 2), (9, 1.0, 4), (0, 0.65, 2), (0, 0.75, 3), (3, 0.5, 2)];
        for (top_k, top_p, n) in cases {
            let sampled = Sampled { top_k, top_p, ..Sampled::default() };
            let drawn = (0..1000).map(|i| choose(&log_probs, sampled, i as f32 / 1000.0, 0));
            let mut drawn: Vec<Symbol> = drawn.collect();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), n, "{sampled:?} draws {drawn:?}");
        }
    }
}
