//! Lagrangian relaxation over the counts of symbols, a relative of gradient-based inference that
//! the paper names: prices on symbols instead of a step on weights.
//!
//! Every symbol `s` has a price `λ_s`, at first zero. Decode greedily with `log p(s) − λ_s`; where
//! the output violates, move the prices by a subgradient and decode again:
//!
//! ```text
//! λ_s ← λ_s + η·(g(y ⊕ s) − g(y))       y ⊕ s: one more s at the end of the output
//! ```
//!
//! The effect of one more `s` on `g` is found by asking the constraint, so it may be a black box. Prices
//! know how often symbols occur and nothing of their order: the search is for rules that count.

use crate::backend_error::BackendError;
use crate::decoder::{ConstrainedDecoder, Found, Session, Sought};
use crate::decoders::{Buffers, argmax};
use crate::model::{Candidate, Symbol};
use crate::stepper::{Recording, Stepper};

/// Greedy decoding under prices that rise until the output satisfies.
#[derive(Clone, Copy, Debug)]
pub struct Relaxation {
    /// The most rounds, each of which decodes once.
    pub rounds: usize,
    /// `η`: how far prices move, in log-probability, for a violation that changes by 1.
    pub rate: f32,
}

impl<M: Stepper> ConstrainedDecoder<M> for Relaxation {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        for (sought, found) in set.iter().zip(found) {
            found.clear();
            let mut prices = vec![0.0; at.model.n_symbols()];
            for _ in 0..self.rounds {
                if sought.wanted.is_late() {
                    break;
                }
                let y = decode(at, sought, &prices)?;
                found.passes += 1;
                if sought.wanted.accepts(&y) {
                    found.add().clone_from(&y);
                    break;
                }
                if !self.raise(&mut prices, &y.output, sought, at.model.end()) {
                    break; // one symbol more makes no difference: prices stay as they are
                }
            }
        }
        Ok(())
    }
}

impl Relaxation {
    /// Moves the prices; returns whether any did.
    fn raise<M: Stepper>(
        &self,
        prices: &mut [f32],
        y: &[Symbol],
        sought: &Sought<'_, '_, M>,
        end: Symbol,
    ) -> bool {
        let g = sought.wanted.check(y).total();
        let mut more = y.to_vec();
        let mut has_moved = false;
        for (symbol, price) in (0..).zip(prices) {
            if symbol == end {
                continue;
            }
            more.push(symbol);
            let change = sought.wanted.check(&more).total() - g;
            more.pop();
            if change.is_finite() && change != 0.0 {
                *price += self.rate * change;
                has_moved = true;
            }
        }
        has_moved
    }
}

/// The greedy output under these prices, with its log-probability under the network alone.
fn decode<M: Stepper>(
    at: &mut Session<'_, M>,
    sought: &Sought<'_, '_, M>,
    prices: &[f32],
) -> Result<Candidate, BackendError> {
    let Session { model, scratch, buffers } = at;
    let Buffers { log_probs, .. } = &mut **buffers;
    let (end, set) = (model.end(), [sought.pass]);
    let mut y = Candidate { capped: true, ..Candidate::default() };
    model.begin(scratch, &set, Recording::None)?;
    let mut previous = end;
    for _ in 0..model.cap(sought.pass.input) {
        model.step(scratch, &set, &[previous], log_probs)?; // (1, V)
        let charged: Vec<f32> = log_probs.iter().zip(prices).map(|(p, price)| p - price).collect();
        let best = argmax(&charged, end as usize);
        y.log_prob += log_probs[best];
        previous = best as Symbol;
        if previous == end {
            y.capped = false;
            break;
        }
        y.output.push(previous);
    }
    Ok(y)
}
