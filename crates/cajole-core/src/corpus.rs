//! Many inputs at once, on all cores, in order.
//!
//! Inputs are independent: threads share `W` read-only and own a workspace each, so the same
//! bytes come out at any number of threads. [`decode_all`] runs inputs through the network in
//! batches of fixed size, since all share `W`; [`Gbi::run_all`] hands them out one by one, since
//! each may need weights of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::constraint::Constraint;
use crate::decoder::{Decoder, Found};
use crate::gbi::Gbi;
use crate::model::{Candidate, Model};
use crate::trace::Outcome;
use crate::workspace::{UnknownGroup, Workspace};

/// Inputs that run through the network together on a first pass.
const BATCH: usize = 16;

/// Does `work` for every index below `n` on the current thread pool, each thread with a state of
/// its own, and returns the results in order.
pub fn in_parallel<S, T: Send + Sync>(
    n: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<T>> = (0..n).map(|_| OnceLock::new()).collect();
    let worker = || {
        let mut own = None;
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if n <= i {
                return;
            }
            let own = own.get_or_insert_with(&state);
            // Each index is handed out once, so this never finds the place taken.
            let _ = results[i].set(work(own, i));
        }
    };
    rayon::scope(|scope| {
        for _ in 1..rayon::current_num_threads() {
            scope.spawn(|_| worker());
        }
        worker();
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// The first output of every input under the model's own weights, batched.
pub fn decode_all<M: Model, D: Decoder<M>>(
    model: &M,
    decoder: &D,
    xs: &[&M::Input],
) -> Vec<Candidate> {
    // Inputs that take about as long go together, so that few rows of a batch wait for the last;
    // the longest batches first, so that no thread is left with one at the end.
    let mut order: Vec<usize> = (0..xs.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(model.size(xs[i])));
    let batches: Vec<&[usize]> = order.chunks(BATCH).collect();
    let decoded = in_parallel(
        batches.len(),
        || (model.scratch(), Found::default()),
        |(scratch, found), i| {
            let batch: Vec<&M::Input> = batches[i].iter().map(|&i| xs[i]).collect();
            decoder.decode_many(model, model.weights(), &batch, scratch, found);
            found.candidates().to_vec()
        },
    );
    let mut outputs = vec![Candidate::default(); xs.len()];
    for (&i, candidate) in order.iter().zip(decoded.into_iter().flatten()) {
        outputs[i] = candidate;
    }
    outputs
}

impl<M, D, C> Gbi<'_, M, D, C>
where
    M: Model,
    D: Decoder<M> + ?Sized,
    C: Constraint<M::Input> + ?Sized,
{
    /// [`Gbi::run`] for every input. `done` is told of each outcome as it comes.
    ///
    /// # Errors
    /// If the configuration names a parameter group that the model does not have.
    pub fn run_all(
        &self,
        xs: &[&M::Input],
        done: impl Fn(usize, &Outcome) + Sync,
    ) -> Result<Vec<Outcome>, UnknownGroup> {
        // One workspace is made here, so that a bad configuration is an error before any work.
        let spare = Mutex::new(Some(Workspace::new(self.model, &self.config)?));
        let workspace = || {
            let taken = spare.lock().ok().and_then(|mut spare| spare.take());
            taken.map_or_else(|| Workspace::new(self.model, &self.config), Ok)
        };
        let outcomes = in_parallel(xs.len(), workspace, |workspace, i| {
            let workspace = workspace.as_mut().map_err(|e| e.clone())?;
            let outcome = self.run(xs[i], workspace);
            done(i, &outcome);
            Ok(outcome)
        });
        outcomes.into_iter().collect()
    }
}
