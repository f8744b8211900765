//! `W_λ − W` as a map that holds only what has moved.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cajole_core::{Move, Moving, Schedule};

/// `W_λ` and `∇` of one input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deltas {
    pub(crate) moving: Moving,
    shifts: BTreeMap<usize, f64>,
    gradient: BTreeMap<usize, f64>,
    /// What step rules remember of each weight.
    memory: BTreeMap<usize, [f32; 2]>,
    /// Unique to these weights; 0 at `W`.
    stamp: u64,
}

impl Deltas {
    pub(crate) fn new(moving: &Moving) -> Self {
        Deltas { moving: moving.clone(), ..Deltas::default() }
    }

    /// A name for weights: the same weights have the same name.
    pub(crate) fn stamp(nudge: Option<&Deltas>) -> u64 {
        nudge.map_or(0, |nudge| nudge.stamp)
    }

    /// How far the `i`-th weight has moved.
    pub(crate) fn shift(nudge: Option<&Deltas>, i: usize) -> f64 {
        nudge.and_then(|nudge| nudge.shifts.get(&i)).copied().unwrap_or(0.0)
    }

    pub(crate) fn restore(&mut self) {
        let moving = std::mem::take(&mut self.moving);
        *self = Deltas { moving, ..Deltas::default() };
    }

    pub(crate) fn clear_gradient(&mut self) {
        self.gradient.clear();
    }

    /// Adds to the gradient of the `i`-th weight.
    pub(crate) fn add(&mut self, i: usize, d: f64) {
        *self.gradient.entry(i).or_default() += d;
    }

    /// `∂/∂W_i`, for comparison with differences.
    pub(crate) fn gradient(&self, i: usize) -> f64 {
        self.gradient.get(&i).copied().unwrap_or(0.0)
    }

    /// Sets one shift, for differences.
    pub(crate) fn set_shift(&mut self, i: usize, shift: f64) {
        self.shifts.insert(i, shift);
        self.stamp = next_stamp();
    }
}

/// Completes a gradient: adds the pull, and takes the norm where the rule needs it.
pub(crate) fn complete(own: &mut Move<Deltas>) {
    let distance = length(own.nudge.shifts.values());
    if own.pull != 0.0 && distance != 0.0 {
        for (i, shift) in own.nudge.shifts.clone() {
            own.nudge.add(i, f64::from(own.pull) * shift / distance);
        }
    }
    own.norm = match own.schedule.rule.needs_norm() {
        true => length(own.nudge.gradient.values()) as f32,
        false => 1.0,
    };
}

/// `W_λ ← W_λ − η∇`.
pub(crate) fn step(own: &mut Move<Deltas>) {
    let Schedule { rule, step_size, .. } = own.schedule;
    let eta = rule.eta(own.t, step_size, own.norm);
    let Deltas { shifts, gradient, memory, stamp, .. } = &mut own.nudge;
    assert_eq!(own.t == 0, *stamp == 0, "the first step is taken from W, and no other");
    for (&i, &d) in &*gradient {
        // The rule's step from zero is how far the weight moves.
        let mut moved = [0.0];
        let (first, second) = memory.entry(i).or_default().split_at_mut(1);
        rule.step(own.t, eta, &mut moved, &[d as f32], (first, second));
        *shifts.entry(i).or_default() += f64::from(moved[0]);
    }
    *stamp = next_stamp();
    own.distance = length(shifts.values()) as f32;
}

fn length<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

fn next_stamp() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}
