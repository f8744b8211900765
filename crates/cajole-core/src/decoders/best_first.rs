//! Best-first search: the most probable output that satisfies the constraint, exactly.
//!
//! A prefix never scores less than its extensions. So if the best prefix is always extended first,
//! complete outputs come up in order of probability, and the first that satisfies the constraint is
//! the constrained maximum. The constraint may be a black box. If it has an automaton, prefixes
//! that cannot lead to a member within the length limit are pruned.
//!
//! A network runs many rows at little more than the cost of one, so several of the best prefixes
//! are extended at a time. A satisfying output then waits until nothing left scores higher.
//!
//! Prefixes may be extended long after they were created, so the network's state after each is
//! saved.

use super::Buffers;
use super::frontier::Frontier;
use crate::backend_error::BackendError;
use crate::decoder::{ConstrainedDecoder, Found, Session, Sought};
use crate::stepper::{Recording, Stepper};

/// Extends the best prefixes first until a satisfying output is the best of all that is left. Ties
/// are broken deterministically.
///
/// It finds nothing if it reaches a limit or if nothing exists: an output that is truncated at the
/// length limit, or impossible, never satisfies.
///
/// Its [passes](Found::passes) are the expansions divided by the steps that the output takes, or
/// the longest prefix if none is found; rounded up.
#[derive(Clone, Copy, Debug)]
pub struct BestFirst {
    /// Maximum number of prefixes to extend. The network's state after each is kept, plus about
    /// twice as many unextended ones.
    pub max_expansions: usize,
    /// How many to extend at a time.
    pub batch: usize,
    /// Whether to skip constraints with an automaton, leaving them to masked beams.
    pub only_black_boxes: bool,
}

impl Default for BestFirst {
    fn default() -> Self {
        BestFirst { max_expansions: 4096, batch: 16, only_black_boxes: false }
    }
}

impl<M: Stepper> ConstrainedDecoder<M> for BestFirst {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        for (sought, found) in set.iter().zip(found) {
            found.clear();
            if self.only_black_boxes && sought.wanted.has_automaton() {
                continue;
            }
            let mask = sought.wanted.automaton();
            let mask = mask.as_deref();
            let mut frontier = Frontier::new(at.model.end(), at.model.cap(sought.pass.input), mask);
            self.extend(at, sought, &mut frontier)?;
            let best = frontier.best();
            let steps = best.as_ref().map_or(frontier.longest(), |(y, _)| y.len()) + 1;
            found.passes = frontier.n_expanded().div_ceil(steps);
            if let Some((y, log_prob)) = best {
                let candidate = found.add();
                (candidate.output, candidate.log_prob) = (y, log_prob);
            }
        }
        Ok(())
    }
}

impl BestFirst {
    /// Extends prefixes until none is left or a limit is reached.
    fn extend<M: Stepper>(
        &self,
        at: &mut Session<'_, M>,
        sought: &Sought<'_, '_, M>,
        frontier: &mut Frontier<'_>,
    ) -> Result<(), BackendError> {
        let Session { model, scratch, buffers } = at;
        let Buffers { log_probs, symbols, rows, .. } = &mut **buffers;
        let (n, set) = (model.n_symbols(), [sought.pass]);
        model.begin(scratch, &set, Recording::None)?;
        model.save(scratch)?;
        loop {
            let left = self.max_expansions.saturating_sub(frontier.n_expanded());
            let is_late = || sought.wanted.is_late();
            let batch = frontier.take(self.batch.max(1).min(left), &is_late, |y| {
                sought.wanted.check(y).is_satisfied()
            });
            if batch.is_empty() {
                return Ok(());
            }
            rows.clear();
            symbols.clear();
            for prefix in frontier.prefixes(batch.clone()) {
                rows.push(prefix.parent as u32);
                symbols.push(prefix.symbol);
            }
            model.recall(scratch, rows)?;
            model.step(scratch, &set, symbols, log_probs)?; // (R, V)
            model.save(scratch)?;
            for (prefix, log_probs) in batch.zip(log_probs.chunks_exact(n)) {
                frontier.extend(prefix, log_probs);
            }
            frontier.forget(self.max_expansions.saturating_sub(frontier.n_expanded()));
        }
    }
}
