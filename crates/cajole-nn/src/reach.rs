//! Which operations of a recording the backward pass walks, and in which order.

use crate::backward::{Of, Refers};
use crate::tape::Op;

/// Which operations the backward pass walks, and when.
#[derive(Default)]
pub(crate) struct Reach {
    /// Depends on a parameter that moves.
    pub(crate) needed: Vec<bool>,
    /// A mark depends on it; its gradient has been zeroed.
    pub(crate) live: Vec<bool>,
    /// At least the level of everything it depends on.
    pub(crate) levels: Vec<u8>,
}

impl Reach {
    /// One forward sweep: an operation is needed if a moving parameter or a needed input feeds it.
    pub(crate) fn begin(&mut self, ops: &[Op], declared: &[u8], refers: Refers<'_>, of: &Of<'_>) {
        let Reach { needed, live, levels } = self;
        live.clear();
        live.resize(ops.len(), false);
        needed.clear();
        levels.clear();
        for (op, &declared) in ops.iter().zip(declared) {
            let (mut is_needed, mut level) = (op.has_moving(refers.inputs, of), declared);
            op.each_input(refers, |v| {
                is_needed |= needed[v.op.index()];
                level = level.max(levels[v.op.index()]);
            });
            needed.push(is_needed);
            levels.push(level);
        }
    }

    /// Sorts operations by level, highest first, and within a level latest first. Everything that
    /// depends on an operation therefore comes before it.
    pub(crate) fn sort(&self, order: &mut Vec<u32>) {
        let mut ends = [0; 1 << u8::BITS];
        self.levels.iter().for_each(|level| ends[*level as usize] += 1);
        let mut before = 0;
        for end in ends.iter_mut().rev() {
            before += *end;
            *end = before;
        }
        order.clear();
        order.resize(self.levels.len(), 0);
        for (i, level) in self.levels.iter().enumerate() {
            ends[*level as usize] -= 1;
            order[ends[*level as usize]] = i as u32;
        }
    }
}
