//! Greedy decoding: the most probable symbol at every step.

use super::{Buffers, argmax};
use crate::backend_error::BackendError;
use crate::decoder::{Decoder, Found, Session};
use crate::model::{Pass, Symbol};
use crate::stepper::{Recording, Stepper};

/// Takes the most probable symbol at every step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl<M: Stepper> Decoder<M> for Greedy {
    fn decode(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        decode(at, set, found, Recording::Kept)
    }

    fn skim(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        decode(at, set, found, Recording::None)
    }
}

/// One row per input; finished rows leave the batch.
fn decode<M: Stepper>(
    at: &mut Session<'_, M>,
    set: &[Pass<'_, M>],
    found: &mut [Found],
    recording: Recording,
) -> Result<(), BackendError> {
    let Session { model, scratch, buffers } = at;
    let Buffers { log_probs, symbols, rows, owners, .. } = &mut **buffers;
    let (n, end) = (model.n_symbols(), model.end());
    for found in &mut *found {
        found.clear();
        found.passes = 1;
        found.add().capped = true;
    }
    model.begin(scratch, set, recording)?;
    // The inputs of the active rows, and the last symbol of each row.
    owners.clear();
    owners.extend(0..set.len() as u32);
    symbols.clear();
    symbols.resize(set.len(), end);
    for t in 0.. {
        rows.clear();
        for (row, &i) in (0..).zip(owners.iter()) {
            let decoded = found[i as usize].best().is_some_and(|y| y.capped);
            let pass = &set[i as usize];
            if decoded && t < model.cap(pass.input) && (t == 0 || !pass.is_late()) {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        if rows.len() < owners.len() {
            model.reorder(scratch, rows)?;
            for (place, &row) in rows.iter().enumerate() {
                owners[place] = owners[row as usize];
                symbols[place] = symbols[row as usize];
            }
            owners.truncate(rows.len());
            symbols.truncate(rows.len());
        }
        model.step(scratch, set, symbols, log_probs)?; // (R, V)
        for (row, log_probs) in log_probs.chunks_exact(n).enumerate() {
            let decoded = found[owners[row] as usize].best_mut();
            let best = argmax(log_probs, end as usize);
            decoded.log_prob += log_probs[best];
            symbols[row] = best as Symbol;
            if recording == Recording::Kept {
                decoded.marks.push(model.mark(scratch, row, best as Symbol));
            }
            match best as Symbol == end {
                true => decoded.capped = false,
                false => decoded.output.push(best as Symbol),
            }
        }
    }
    Ok(())
}
