//! The best tags by a list that grows until one on it satisfies the constraint.
//!
//! The list is in order, so the first that satisfies is the constrained maximum; the constraint may
//! be a black box. Where the network is sure of what is wrong, it is far down.

use std::time::Duration;

use cajole_core::{Constraint, Symbol};

use super::clock::Clock;
use super::{KBest, Space, SuffixLists, TagScores};

/// Lists the best valid sequences of tags, ever more of them, until one satisfies the constraint.
#[derive(Clone, Copy, Debug)]
pub struct DoublingTags<'a, C: ?Sized> {
    /// How many are listed at first.
    pub from: usize,
    /// How many are listed at most. The lists take memory for as many at every position and role.
    pub to: usize,
    /// What a sequence has to satisfy.
    pub constraint: &'a C,
    /// How long the search may take; looked at before each list and each check.
    pub deadline: Option<Duration>,
}

impl<C: ?Sized> DoublingTags<'_, C> {
    /// Writes the most probable satisfying sequence into `y` and returns its log-probability;
    /// nothing, if it is not on the longest list, or impossible.
    pub fn tag<X: ?Sized>(
        &self,
        x: &X,
        scores: &TagScores,
        lists: &mut SuffixLists,
        y: &mut Vec<Symbol>,
    ) -> Option<f32>
    where
        C: Constraint<X>,
    {
        let clock = Clock::start(self.deadline);
        let (mut k, mut n_checked) = (self.from.max(1).min(self.to), 0);
        while n_checked < k && !clock.is_late() {
            let listed = KBest { k, space: Space::Log }.tag(scores, lists);
            // A longer list begins with the shorter one.
            for rank in n_checked..listed {
                let sum = lists.read(rank, y).filter(|&sum| sum != f32::NEG_INFINITY)?;
                if clock.is_late() {
                    return None;
                }
                if self.constraint.check(x, y).is_satisfied() {
                    return Some(sum);
                }
            }
            if listed < k {
                return None; // there are no more
            }
            n_checked = k;
            k = k.saturating_mul(2).min(self.to);
        }
        None
    }
}
