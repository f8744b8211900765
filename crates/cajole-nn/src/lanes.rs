//! How a set of inputs is laid out over recordings.
//!
//! Inputs that share every matrix run through the network together: they form a lane, with one
//! tape. Where inputs are padded to the longest of their lane, a lane holds inputs of similar size.
//! An input whose matrices move has its own lane, even while they still equal `W`: the gradient of
//! a matrix is a sum over rows, and must not include those of other inputs.
//!
//! A [`Scratch`] holds the lanes of the current recording and, separately, those of unrecorded
//! passes.

use std::sync::Arc;

use cajole_core::model::{Move, Pass, Symbol};
use cajole_core::{Model, Recording};
use smallvec::SmallVec;

use crate::gradient::Gradient;
use crate::layout::Layout;
use crate::nudge::{Dense, Kind, Nudge};
use crate::tape::{Graph, Tape};
use crate::transposed::Copies;
use crate::vectors::Shifts;

/// One thread's recordings; `L` is the per-lane state of a kind of network.
pub struct Scratch<L> {
    pub(crate) kept: Lanes<L>,
    pub(crate) aside: Lanes<L>,
    /// The kind of the current pass.
    pub(crate) current: Recording,
    /// Which parameters may be read as f16.
    exact: Arc<[bool]>,
    copies: Copies,
    /// `∇` of all inputs of a lane, `(B, S)`.
    sums: Vec<f32>,
}

/// Whether inputs are padded to the longest of their lane.
#[derive(Clone, Copy)]
pub(crate) enum Padding<'a> {
    /// Not at all, or negligibly.
    None,
    /// Throughout the network; gives the length of the `i`-th input.
    To(&'a dyn Fn(usize) -> usize),
}

/// A smaller lane accepts any shorter input, since products take five rows at a time.
const FEWEST: usize = 5;

/// In a larger lane, the minimum length as a fraction of the longest.
const SHORTEST: f32 = 0.8;

/// The lanes of one pass.
pub(crate) struct Lanes<L> {
    pub(crate) lanes: Vec<Lane<L>>,
    /// How many lanes are in use.
    n: usize,
    /// By place: the lane of an input, and its index there.
    homes: Vec<(u32, u32)>,
    /// By row: its lane, and its index there.
    pub(crate) rows: Vec<(u32, u32)>,
    /// `rows` before the last reordering.
    rows_before: Vec<(u32, u32)>,
}

/// Inputs that run through the network together.
pub(crate) struct Lane<L> {
    pub(crate) tape: Tape,
    pub(crate) shifts: Shifts,
    /// The places of its inputs.
    pub(crate) places: Vec<usize>,
    /// Whether its inputs have their own biases, and nothing else moves.
    is_small: bool,
    /// The symbols that its rows are extended by.
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) own: L,
}

impl<L: Default> Scratch<L> {
    /// Scratch for a model in which these parameters may be read as f16, with these transposed copies.
    pub(crate) fn new(exact: Arc<[bool]>, copies: Copies) -> Self {
        let lanes = || Lanes {
            lanes: Vec::new(),
            n: 0,
            homes: Vec::new(),
            rows: Vec::new(),
            rows_before: Vec::new(),
        };
        let (kept, aside, current) = (lanes(), lanes(), Recording::Kept);
        Scratch { kept, aside, current, exact, copies, sums: Vec::new() }
    }

    /// The lanes of the current pass.
    pub(crate) fn lanes(&mut self) -> &mut Lanes<L> {
        match self.current {
            Recording::Kept => &mut self.kept,
            Recording::None => &mut self.aside,
        }
    }

    /// The lanes of this kind of pass.
    pub(crate) fn lanes_of(&self, recording: Recording) -> &Lanes<L> {
        match recording {
            Recording::Kept => &self.kept,
            Recording::None => &self.aside,
        }
    }

    /// Begins a pass over `set`: shared lanes for inputs under the weights `w`, and a lane for each
    /// input with its own weights.
    pub(crate) fn begin<M: Model<Nudge = Nudge>>(
        &mut self,
        layout: &Layout,
        set: &[Pass<'_, M>],
        recording: Recording,
        padding: Padding,
    ) -> &mut Lanes<L> {
        self.current = recording;
        let exact = self.exact.clone();
        let lanes = self.lanes();
        lanes.assign(layout, set, &exact, padding);
        lanes
    }

    /// `∂/∂W_λ Σ cost · log p(y_t)` for every recorded input with blame.
    pub(crate) fn gradient(&mut self, layout: &Layout, w: &[f32], set: &mut [Move<Nudge>]) {
        let Scratch { kept: Lanes { lanes, n, homes, .. }, sums, copies, .. } = self;
        for (l, lane) in lanes[..*n].iter_mut().enumerate() {
            let is_blamed = |own: &Move<Nudge>| {
                !own.is_over && home_of(homes, own.place).is_some_and(|(lane, _)| lane == l)
            };
            let mut blamed = set.iter_mut().filter(|own| is_blamed(own));
            let Some(first) = blamed.next() else { continue };
            let Kind::Small(small) = &first.nudge.0 else {
                for own in std::iter::once(first).chain(blamed) {
                    let Kind::Dense(dense) = &mut own.nudge.0 else { continue };
                    dense.prepare(&own.schedule, own.pull);
                    dense.backward(&mut lane.tape, (w, copies), layout, &own.blame);
                }
                continue;
            };
            let vectors = small.vectors.clone();
            sums.clear();
            sums.resize(lane.places.len() * vectors.len(), 0.0);
            let blamed = set.iter().filter(|own| is_blamed(own));
            let blame = blamed.flat_map(|own| own.blame.iter().copied());
            let shifts = lane.is_small.then_some(&lane.shifts);
            lane.tape.backward_by_input((w, copies), &vectors, shifts, blame, sums);
            for own in set.iter_mut().filter(|own| is_blamed(own)) {
                let home = home_of(homes, own.place);
                if let (Kind::Small(small), Some((_, at))) = (&mut own.nudge.0, home) {
                    small.grad.copy_from_slice(&sums[at * vectors.len()..][..vectors.len()]);
                }
            }
        }
    }
}

fn home_of(homes: &[(u32, u32)], place: usize) -> Option<(usize, usize)> {
    homes.get(place).map(|&(lane, at)| (lane as usize, at as usize))
}

impl<L: Default> Lanes<L> {
    /// The lane of the input at `place`, and its index there.
    pub(crate) fn home(&self, place: usize) -> Option<(usize, usize)> {
        home_of(&self.homes, place)
    }

    /// Moves `rows` to `rows_before` and clears it for a new selection.
    fn swap_rows(&mut self) {
        std::mem::swap(&mut self.rows, &mut self.rows_before);
        self.rows.clear();
    }

    /// Continues with these rows; `choose` is told those of each lane.
    pub(crate) fn reorder(&mut self, rows: &[u32], mut choose: impl FnMut(&mut Lane<L>, &[u32])) {
        self.swap_rows();
        let order = std::mem::take(&mut self.rows_before);
        for (l, lane) in self.used().iter_mut().enumerate() {
            let chosen = rows.iter().map(|&row| order[row as usize]);
            let chosen = chosen.filter(|&(lane, _)| lane as usize == l).map(|(_, row)| row);
            let chosen: SmallVec<[u32; 128]> = chosen.collect();
            choose(lane, &chosen);
        }
        let mut n_rows: SmallVec<[u32; 20]> = SmallVec::from_elem(0, self.used().len());
        self.rows.extend(rows.iter().map(|&row| {
            let (lane, _) = order[row as usize];
            n_rows[lane as usize] += 1;
            (lane, n_rows[lane as usize] - 1)
        }));
        self.rows_before = order;
    }

    /// The lanes in use.
    pub(crate) fn used(&mut self) -> &mut [Lane<L>] {
        &mut self.lanes[..self.n]
    }

    fn assign<M: Model<Nudge = Nudge>>(
        &mut self,
        layout: &Layout,
        set: &[Pass<'_, M>],
        exact: &[bool],
        padding: Padding,
    ) {
        self.homes.clear();
        self.homes.resize(set.len(), (0, 0));
        self.rows.clear();
        self.n = 0;
        let mut order: SmallVec<[(usize, usize); 20]> = (0..set.len()).map(|i| (0, i)).collect();
        if let Padding::To(size) = padding {
            order.iter_mut().for_each(|(length, i)| *length = size(*i));
            order.sort_unstable_by_key(|&(length, i)| (std::cmp::Reverse(length), i));
        }
        // The lane being filled, and the length of its longest input.
        let mut shared: Option<(usize, usize)> = None;
        for &(length, place) in &order {
            let dense = set[place].nudge.and_then(Nudge::dense);
            let is_full = |lane: usize, longest: usize| {
                let n = self.lanes[lane].places.len();
                FEWEST <= n && (length as f32) < SHORTEST * longest as f32
            };
            let lane = match shared {
                Some((lane, longest)) if dense.is_none() && !is_full(lane, longest) => lane,
                _ => self.open(layout, exact, dense.and_then(Dense::moved)),
            };
            if dense.is_none() && shared.is_none_or(|(of, _)| of != lane) {
                shared = Some((lane, length));
            }
            let places = &mut self.lanes[lane].places;
            self.homes[place] = (lane as u32, places.len() as u32);
            places.push(place);
        }
        self.rows.extend_from_slice(&self.homes);
        for lane in &mut self.lanes[..self.n] {
            let small = |place: &usize| set[*place].nudge?.small();
            let small = lane.places.iter().map(small);
            lane.is_small = small.clone().any(|small| small.is_some());
            lane.shifts.set(small.map(|small| small.map(|s| (&s.vectors, s.shift.as_slice()))));
        }
    }

    /// Opens one more lane, with an empty recording.
    fn open(&mut self, layout: &Layout, exact: &[bool], nudged: Option<&Gradient>) -> usize {
        let i = self.n;
        self.n += 1;
        if i == self.lanes.len() {
            let mut tape = Tape::default();
            tape.halves.allow(exact);
            let (shifts, places, symbols) = (Shifts::default(), Vec::new(), Vec::new());
            let (is_small, own) = (false, L::default());
            self.lanes.push(Lane { tape, shifts, places, is_small, symbols, own });
        }
        let lane = &mut self.lanes[i];
        lane.tape.clear();
        lane.tape.halves.begin(layout, nudged);
        lane.places.clear();
        i
    }
}

impl<L> Lane<L> {
    /// The lane's graph, to continue recording, and its state. All its inputs share weights: the
    /// first one's copy if it has one, else `w`.
    pub(crate) fn graph<'g>(
        &'g mut self,
        first: Option<&'g Nudge>,
        w: &'g [f32],
    ) -> (Graph<'g>, &'g mut L) {
        let Lane { tape, shifts, is_small, own, .. } = self;
        let w = first.and_then(Nudge::dense).map_or(w, |dense| dense.weights(w));
        (Graph { shifts: is_small.then_some(&*shifts), ..Graph::new(w, tape) }, own)
    }

    /// The inputs of the lane.
    pub(crate) fn inputs<'p, M: Model>(&self, set: &[Pass<'p, M>]) -> SmallVec<[&'p M::Input; 20]> {
        self.places.iter().map(|&place| set[place].input).collect()
    }

    /// The nudge of the lane's first input.
    pub(crate) fn nudge<'p, M: Model<Nudge = Nudge>>(
        &self,
        set: &[Pass<'p, M>],
    ) -> Option<&'p Nudge> {
        self.places.first().and_then(|&place| set.get(place)?.nudge)
    }
}
