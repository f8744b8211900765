//! A flag that stops a run between two steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared flag: clones see each other's [`set`](Cancel::set).
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// Equal are clones of one another.
impl PartialEq for Cancel {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Cancel {
    /// Asks every run with this flag to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether runs should stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
