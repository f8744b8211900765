//! Work on all cores, with results in the order of the input.
//!
//! Some inputs take a thousand times as long as others, so no thread waits for a whole chunk to be
//! done: each takes the next batch when it is free, and early results wait in a buffer. The buffer
//! is bounded, and with it all memory: a thread that is too far ahead of the slowest waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How much may be in flight at any time.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Threads that work.
    pub(crate) threads: usize,
    /// Batches.
    pub(crate) batches: usize,
    /// The total weight from which no more batches are taken.
    pub(crate) weight: usize,
}

/// Takes batches, works on them on several threads, each with a state of its own, and puts the
/// results in the order of the batches. A batch counts with its weight, from `weigh`, until its
/// result is put.
///
/// # Errors
/// The first error of taking, working or putting, in the order of the batches; results before it
/// are put.
pub(crate) fn in_order<B, S, R, E>(
    bounds: Bounds,
    take: impl FnMut() -> Result<Option<B>, E> + Send,
    weigh: impl Fn(&B) -> usize + Sync,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, B) -> Result<R, E> + Sync,
    put: impl FnMut(R) -> Result<(), E> + Send,
) -> Result<(), E>
where
    B: Send,
    R: Send,
    E: Send,
{
    let desk = Desk {
        take: Mutex::new(take),
        state: Mutex::new(Progress {
            put,
            taken: 0,
            written: 0,
            weights: VecDeque::new(),
            early: BTreeMap::new(),
            end: None,
        }),
        changed: Condvar::new(),
        bounds,
    };
    let hand = || {
        let _watch = OnUnwind(&desk);
        // A thread that finds nothing to do costs nothing.
        let mut own = None;
        while let Some((number, batch)) = desk.take(&weigh) {
            desk.put(number, work(own.get_or_insert_with(&state), batch));
        }
    };
    thread::scope(|scope| {
        // Where threads are scarce, as many as there are do all the work, in the end this one.
        let start = |_: &usize| thread::Builder::new().spawn_scoped(scope, hand).is_ok();
        if bounds.threads <= 1 || (0..bounds.threads).take_while(start).count() == 0 {
            hand();
        }
    });
    let progress = desk.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress.end.unwrap_or(Ok(()))
}

/// Where batches are handed out and results handed in.
struct Desk<T, P, R, E> {
    /// Behind a lock of its own: a thread that waits for a slow source does not block others from
    /// handing in.
    take: Mutex<T>,
    state: Mutex<Progress<P, R, E>>,
    changed: Condvar,
    bounds: Bounds,
}

struct Progress<P, R, E> {
    put: P,
    taken: usize,
    written: usize,
    /// The weights of the batches in flight, in order.
    weights: VecDeque<usize>,
    /// Results whose turn has not come. An error waits for its turn like any other.
    early: BTreeMap<usize, Result<R, E>>,
    /// Why no more batches are handed out.
    end: Option<Result<(), E>>,
}

impl<P, R, E> Progress<P, R, E> {
    /// Whether the next batch has to wait. One may always be in flight.
    fn is_full(&self, most: Bounds) -> bool {
        let weight: usize = self.weights.iter().sum();
        let n = self.weights.len();
        most.batches.max(1) <= n || 0 < n && most.weight <= weight
    }
}

impl<B, R, E, T, P> Desk<T, P, R, E>
where
    T: FnMut() -> Result<Option<B>, E>,
    P: FnMut(R) -> Result<(), E>,
{
    /// The next batch, with its number, once there is room for its result; `None` at the end.
    fn take(&self, weigh: impl Fn(&B) -> usize) -> Option<(usize, B)> {
        let mut take = self.take.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        while state.end.is_none() && state.is_full(self.bounds) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.end.is_some() {
            return None;
        }
        drop(state);
        let batch = take();
        let mut state = self.lock();
        match batch {
            Ok(Some(batch)) => {
                state.taken += 1;
                state.weights.push_back(weigh(&batch));
                Some((state.taken - 1, batch))
            }
            Ok(None) => {
                state.end.get_or_insert(Ok(()));
                drop(state);
                self.changed.notify_all();
                None
            }
            Err(error) => {
                state.end.get_or_insert(Ok(()));
                let number = state.taken;
                self.hand_in(state, number, Err(error));
                None
            }
        }
    }

    fn put(&self, number: usize, result: Result<R, E>) {
        self.hand_in(self.lock(), number, result);
    }

    /// Hands in the result of a batch; puts all results whose turn it is, up to an error.
    fn hand_in(
        &self,
        mut state: MutexGuard<'_, Progress<P, R, E>>,
        number: usize,
        result: Result<R, E>,
    ) {
        state.early.insert(number, result);
        while !matches!(state.end, Some(Err(_))) {
            let next = state.written;
            let Some(result) = state.early.remove(&next) else { break };
            match result.and_then(|result| (state.put)(result)) {
                Ok(()) => {
                    state.written += 1;
                    state.weights.pop_front();
                }
                Err(error) => state.end = Some(Err(error)),
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl<T, P, R, E> Desk<T, P, R, E> {
    fn lock(&self) -> MutexGuard<'_, Progress<P, R, E>> {
        // A thread that panics takes the whole run down with it, see below.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the run if its thread panics: the others would wait forever for its result.
struct OnUnwind<'a, T, P, R, E>(&'a Desk<T, P, R, E>);

impl<T, P, R, E> Drop for OnUnwind<'_, T, P, R, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().end.get_or_insert(Ok(()));
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn bounds(threads: usize, batches: usize) -> Bounds {
        Bounds { threads, batches, weight: usize::MAX }
    }

    #[test]
    fn heavy_batches_wait_for_each_other_and_one_may_always_go() {
        let (mut n, light) = (0, AtomicUsize::new(0));
        let most = AtomicUsize::new(0);
        let take = || {
            n += 1;
            most.fetch_max(light.fetch_add(10, Ordering::SeqCst) + 10, Ordering::SeqCst);
            Ok::<_, ()>((n <= 40).then_some(n))
        };
        let work = |_: &mut (), i: u64| {
            thread::sleep(Duration::from_micros(i * 7919 % 300));
            Ok(i)
        };
        let put = |_| {
            light.fetch_sub(10, Ordering::SeqCst);
            Ok(())
        };
        // Weights of 10 where 15 are allowed: a second is taken below the limit, a third is not.
        let bounds = Bounds { threads: 4, batches: 16, weight: 15 };
        in_order(bounds, take, |_| 10, || (), work, put).unwrap();
        // The take that finds the end is counted, too.
        assert!(most.load(Ordering::SeqCst) <= 30, "{most:?}");
    }

    #[test]
    fn results_come_in_order_and_nobody_runs_ahead() {
        for (threads, window) in [(1, 1), (2, 1), (4, 2), (8, 16)] {
            let (mut n, mut results) = (0, Vec::new());
            let (going, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let take = || {
                n += 1;
                most.fetch_max(going.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                Ok::<_, ()>((n <= 200).then_some(n))
            };
            let work = |_: &mut (), i: u64| {
                thread::sleep(Duration::from_micros(i * 7919 % 300));
                Ok(i * 2)
            };
            let put = |r| {
                going.fetch_sub(1, Ordering::SeqCst);
                results.push(r);
                Ok(())
            };
            in_order(bounds(threads, window), take, |_| 0, || (), work, put).unwrap();
            assert!(results.iter().copied().eq((1..=200).map(|i| 2 * i)), "{threads} {window}");
            // The take that finds the end is counted, too.
            assert!(most.load(Ordering::SeqCst) <= window + 1, "{threads} {window}");
        }
    }

    #[test]
    fn the_first_error_ends_it_and_what_came_before_stays() {
        for place in ["take", "work", "put"] {
            let (mut n, mut results) = (0, Vec::new());
            let fail = |at: &str, i: u32| if at == place && i == 50 { Err(place) } else { Ok(i) };
            let take = || {
                n += 1;
                fail("take", n).map(Some)
            };
            let put = |i: u32| fail("put", i).map(|i| results.push(i));
            let end = in_order(bounds(4, 8), take, |_| 0, || (), |(), i| fail("work", i), put);
            assert_eq!(end, Err(place));
            assert!(results.iter().copied().eq(1..50), "{place}: {results:?}");
        }
    }

    #[test]
    fn results_do_not_wait_for_a_slow_source() {
        let (tell, hear) = std::sync::mpsc::channel();
        let mut n = 0;
        let take = move || {
            n += 1;
            // The second arrives only after the first has been put.
            let is_due = n == 1 || hear.recv_timeout(Duration::from_secs(5)).is_ok();
            Ok((is_due && n < 3).then_some(n))
        };
        let mut results = Vec::new();
        let put = |i| {
            results.push(i);
            tell.send(()).map_err(|_| ())
        };
        in_order(bounds(2, 4), take, |_| 0, || (), |(): &mut (), i: u32| Ok(i), put).unwrap();
        assert_eq!(results, [1, 2]);
    }

    #[test]
    fn of_two_errors_the_first_in_order_counts() {
        let mut n = 0u64;
        let take = || {
            n += 1;
            Ok(Some(n))
        };
        let work = |(): &mut (), i| {
            // The first takes longest.
            thread::sleep(Duration::from_millis(20 / i));
            if i < 3 { Err(i) } else { Ok(i) }
        };
        assert_eq!(in_order(bounds(4, 8), take, |_| 0, || (), work, |_| Ok(())), Err(1));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_not_waited_for() {
        let mut n = 0;
        let take = || {
            n += 1;
            Ok::<_, ()>((n < 100).then_some(n))
        };
        let work = |_: &mut (), i| if i == 5 { panic!("on purpose") } else { Ok(i) };
        let _ = in_order(bounds(3, 4), take, |_| 0, || (), work, |_| Ok(()));
    }
}
