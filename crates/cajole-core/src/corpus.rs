//! Many inputs at once, on all cores, in order.
//!
//! Inputs are independent: threads share `W` read-only and have their own workspace, so the results
//! are identical for any number of threads. [`decode_all`] is a first pass under `W`;
//! [`Gbi::run_all`] repairs.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::{io, thread};

use crate::backend_error::BackendError;
use crate::decoder::{Decoder, Found};
use crate::gbi::Gbi;
use crate::model::{Candidate, Model, Pass};
use crate::set::Job;
use crate::trace::Outcome;
use crate::workspace::Workspace;

/// Inputs per batch. Products are computed five rows at a time.
pub const BATCH: usize = 20;

/// How many threads the pool has unless someone says otherwise: one for each core, or as many as
/// the environment variable `RAYON_NUM_THREADS` says.
pub fn usual_threads() -> usize {
    let set = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok());
    let n_cores = || thread::available_parallelism().map_or(1, NonZero::get);
    set.filter(|&n| 0 < n).unwrap_or_else(n_cores)
}

/// Starts the pool of this process with `threads` threads, or with as many as the system grants,
/// and returns their number. If it grants none there is no pool yet; [`be_the_pool`] makes one.
/// Results do not depend on the number.
///
/// Without this the pool starts by itself when it is first needed, and panics if it gets fewer
/// threads than there are cores. Where threads are that scarce, one is left to others. Returns the
/// number of threads of the pool there is if it has been started before.
pub fn start_threads(threads: usize) -> usize {
    static POOL: Mutex<usize> = Mutex::new(0);
    let mut started = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if 0 < *started {
        return *started;
    }
    // A pool whose threads cannot all start is broken for good. So they start first, and wait.
    let waiting = (0..threads).map_while(|_| {
        let (hand, take) = mpsc::channel::<rayon::ThreadBuilder>();
        let work = move || take.recv().map_or((), rayon::ThreadBuilder::run);
        thread::Builder::new().name("worker".to_owned()).spawn(work).ok().map(|_| hand)
    });
    let mut waiting: Vec<_> = waiting.collect();
    if 1 < waiting.len() && waiting.len() < threads {
        waiting.pop();
    }
    if waiting.is_empty() {
        return 0;
    }
    let n = waiting.len();
    let begin = move |worker| {
        let hand = waiting.pop().ok_or(io::ErrorKind::WouldBlock)?;
        hand.send(worker).map_err(|_| io::ErrorKind::WouldBlock.into())
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).spawn_handler(begin);
    // It is an error if someone else has started the pool, which serves as well.
    *started = pool.build_global().map_or_else(|_| rayon::current_num_threads(), |()| n);
    *started
}

/// Makes this thread the pool, if there is none. No other thread may then use the pool: it would
/// wait until this one has nothing else to do.
pub fn be_the_pool() {
    // It is an error if there is a pool already, which serves as well.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
}

/// Number of threads in the current pool.
pub fn n_threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `work` for every index below `n` on the current thread pool, with per-thread state, and
/// returns the results in order.
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
            // Each index is handed out once, so the slot is always empty.
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

/// Works on inputs together; if that fails, on each of them alone, so that none fails because of
/// another. Says which fail alone, and why.
pub fn together_or_alone<I: Copy>(
    set: &[I],
    mut work: impl FnMut(&[I]) -> Result<(), BackendError>,
) -> Vec<(I, BackendError)> {
    match work(set) {
        Ok(()) => Vec::new(),
        Err(_) => set.iter().filter_map(|one| Some((*one, work(&[*one]).err()?))).collect(),
    }
}

/// Decodes every input with `decoder`, in batches.
///
/// # Errors
/// If the backend fails.
pub fn decode_all<M: Model>(
    model: &M,
    decoder: &dyn Decoder<M>,
    xs: &[&M::Input],
) -> Result<Vec<Candidate>, BackendError> {
    // Batch inputs of similar size, so that few rows wait for the longest. Run the longest batches
    // first, so that no thread is left with one at the end.
    let mut order: Vec<usize> = (0..xs.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(model.size(xs[i])));
    let batches: Vec<&[usize]> = order.chunks(BATCH).collect();
    let decoded = in_parallel(
        batches.len(),
        || (Workspace::new(model), vec![Found::default(); BATCH]),
        |(workspace, found), i| {
            let set: Vec<Pass<'_, M>> = batches[i].iter().map(|&i| Pass::base(xs[i])).collect();
            let found = &mut found[..set.len()];
            decoder.skim(&mut workspace.session(model), &set, found)?;
            Ok(found
                .iter()
                .map(|found| found.best().cloned().unwrap_or_default())
                .collect::<Vec<_>>())
        },
    );
    let mut outputs = vec![Candidate::default(); xs.len()];
    for (batch, decoded) in batches.into_iter().zip(decoded) {
        for (&i, candidate) in batch.iter().zip(decoded?) {
            outputs[i] = candidate;
        }
    }
    Ok(outputs)
}

impl<M: Model> Gbi<'_, M> {
    /// [`Gbi::run`] for every job, on all cores. Calls `done` with each outcome as it arrives.
    pub fn run_all(
        &self,
        jobs: &[Job<'_, M::Input>],
        done: impl Fn(usize, &Outcome) + Sync,
    ) -> Vec<Outcome> {
        // Enough inputs per share to keep a set full, enough shares to keep all threads busy.
        let shares = 4 * rayon::current_num_threads();
        let size = (4 * self.in_step).min(jobs.len().div_ceil(shares)).max(1);
        let shares: Vec<&[Job<'_, M::Input>]> = jobs.chunks(size).collect();
        let outcomes = in_parallel(
            shares.len(),
            || Workspace::new(self.model),
            |workspace, share| {
                let mut outcomes: Vec<Option<Outcome>> = vec![None; shares[share].len()];
                self.run_set(shares[share], workspace, |i, outcome| {
                    done(share * size + i, &outcome);
                    outcomes[i] = Some(outcome);
                });
                outcomes
            },
        );
        outcomes.into_iter().flatten().flatten().collect()
    }
}
