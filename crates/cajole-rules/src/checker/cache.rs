//! Caches verdicts, so that no checker is asked twice.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Judgement;

/// Judgements by request; the oldest is evicted first.
pub(super) struct Cache {
    kept: HashMap<Arc<str>, Arc<Judgement>>,
    order: VecDeque<Arc<str>>,
    capacity: usize,
}

impl Cache {
    pub(super) fn new(capacity: usize) -> Self {
        Cache { kept: HashMap::new(), order: VecDeque::new(), capacity }
    }

    pub(super) fn get(&self, request: &str) -> Option<Arc<Judgement>> {
        self.kept.get(request).cloned()
    }

    /// Stores a judgement and returns it. If there already is one, returns that one, so that
    /// concurrent callers all see the same.
    pub(super) fn keep(&mut self, request: &str, judgement: Judgement) -> Arc<Judgement> {
        if let Some(first) = self.get(request) {
            return first;
        }
        if self.capacity <= self.order.len() {
            let oldest = self.order.pop_front();
            oldest.and_then(|request| self.kept.remove(&request));
        }
        let (request, judgement) = (Arc::<str>::from(request), Arc::new(judgement));
        self.order.push_back(request.clone());
        self.kept.insert(request, judgement.clone());
        judgement
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn the_oldest_is_evicted_and_the_first_judgement_wins() {
        let mut cache = Cache::new(2);
        let says = |loss| Ok(Verdict { loss, ..Verdict::default() });
        let loss = |kept: Arc<Judgement>| kept.as_ref().as_ref().map(|verdict| verdict.loss).ok();
        assert_eq!(loss(cache.keep("a", says(1.0))), Some(1.0));
        assert_eq!(loss(cache.keep("a", says(2.0))), Some(1.0));
        cache.keep("b", says(3.0));
        cache.keep("c", says(4.0));
        assert!(cache.get("a").is_none());
        assert_eq!(cache.get("b").and_then(loss), Some(3.0));
        assert_eq!(cache.get("c").and_then(loss), Some(4.0));
        assert_eq!((cache.kept.len(), cache.order.len()), (2, 2));
    }
}
