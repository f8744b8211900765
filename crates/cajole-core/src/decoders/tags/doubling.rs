//! The best satisfying tags, from k-best lists of increasing length.
//!
//! The list is sorted, so the first entry that satisfies is the constrained maximum. The constraint
//! may be a black box. Where the network is confidently wrong, that entry is far down.

use crate::Symbol;
use crate::wanted::Wanted;

use super::{ConstrainedTagSearch, KBest, SoughtTags, Space, SuffixLists, TagBuffers, TagScores};

/// Lists ever more of the best valid tag sequences, until one satisfies the constraint.
#[derive(Clone, Copy, Debug)]
pub struct DoublingTags {
    /// Initial length of the list.
    pub from: usize,
    /// Maximum length of the list. Memory is proportional to it, for every position and role.
    pub to: usize,
}

impl DoublingTags {
    /// Writes the most probable satisfying sequence into `y` and returns its log-probability;
    /// `None` if it is not on the longest list, or impossible. The deadline is checked before each
    /// list and each check.
    pub fn tag(
        &self,
        scores: &TagScores,
        wanted: &Wanted<'_>,
        lists: &mut SuffixLists,
        y: &mut Vec<Symbol>,
    ) -> Option<f32> {
        let (mut k, mut n_checked) = (self.from.max(1).min(self.to), 0);
        while n_checked < k && !wanted.is_late() {
            let listed = KBest { k, space: Space::Log }.tag(scores, lists);
            // A longer list begins with the shorter one.
            for rank in n_checked..listed {
                let sum = lists.read(rank, y).filter(|&sum| sum != f32::NEG_INFINITY)?;
                if wanted.is_late() {
                    return None;
                }
                if wanted.check(y).is_satisfied() {
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

impl<X: ?Sized> ConstrainedTagSearch<X> for DoublingTags {
    fn search(&self, sought: &SoughtTags<'_, '_, X>, buffers: &mut TagBuffers) -> Option<f32> {
        self.tag(&sought.scores, sought.wanted, &mut buffers.lists, &mut buffers.y)
    }
}
