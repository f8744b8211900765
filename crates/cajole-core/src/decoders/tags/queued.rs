//! Prefixes that wait to be extended, the most promising first.

use std::cmp::Ordering;

/// A queued prefix, with the bound on its score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) bound: f64,
    pub(super) len: u32,
    /// Its index among all prefixes.
    pub(super) prefix: u32,
}

/// Highest bound first; ties go to the longest prefix, then to the oldest.
impl Ord for Queued {
    fn cmp(&self, other: &Queued) -> Ordering {
        let by_bound = self.bound.total_cmp(&other.bound);
        by_bound.then(self.len.cmp(&other.len)).then(other.prefix.cmp(&self.prefix))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Queued) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Queued) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Queued {}
