//! Jobs that are killed repeatedly and must end as if they had never been interrupted.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts signs of progress, and kills the job after a given number.
#[derive(Debug)]
pub struct Killer {
    told: AtomicUsize,
    most: usize,
}

struct Killed;

impl Killer {
    /// Kills after `most` signs of progress.
    pub fn after(most: usize) -> Self {
        Killer { told: AtomicUsize::new(0), most }
    }

    /// The number of signs of progress so far.
    pub fn told(&self) -> usize {
        self.told.load(Ordering::Relaxed)
    }

    /// A sign of progress; this call may kill the job.
    pub fn advance(&self) {
        if self.most <= self.told.fetch_add(1, Ordering::Relaxed) {
            resume_unwind(Box::new(Killed)); // no panic message: this is intended
        }
    }
}

/// Kills `work` at each of these moments in turn, restarting it until it finishes. Returns its
/// result and the number of kills; `after` is called after each kill.
///
/// # Panics
/// If it panics on its own, or does not finish in 60 attempts.
pub fn kill_until_done<T>(
    moments: impl IntoIterator<Item = usize>,
    work: impl Fn(&Killer) -> T,
    after: impl Fn(usize),
) -> (T, usize) {
    for (kills, moment) in moments.into_iter().enumerate().take(60) {
        let killer = Killer::after(moment);
        match catch_unwind(AssertUnwindSafe(|| work(&killer))) {
            Ok(done) => return (done, kills),
            Err(cause) => assert!(cause.is::<Killed>(), "it panicked on its own"),
        }
        after(kills + 1);
    }
    panic!("it makes no progress");
}
