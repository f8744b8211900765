//! Networks that are decoded symbol by symbol.
//!
//! Every [`AutoRegressive`](crate::AutoRegressive) network is one, and so are transformers, whose
//! steps read a cache of keys and values. The network sees one lane at a time; what lanes have in
//! common is here, and makes it a [`Stepper`].

use cajole_core::model::{Mark, Pass, Symbol};
use cajole_core::{BackendError, Recording, Stepper};

use crate::lanes::{Lane, Padding, Scratch};
use crate::network::{Network, Trained};
use crate::tape::{Graph, Tape};

/// A network that writes one symbol of every row at a time. `R` rows of a lane, `V` symbols.
pub trait Stepwise: Network {
    /// `V`: number of output symbols, including the end symbol.
    fn n_symbols(&self) -> usize;

    /// The end symbol.
    fn end(&self) -> Symbol;

    /// Length limit of an output for `x`, including its end symbol.
    fn cap(&self, x: &Self::Input) -> usize;

    /// Begins a pass over the inputs of a lane, one row each.
    fn begin(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Self::Lane,
        xs: &[&Self::Input],
        recording: Recording,
    );

    /// Extends every row by a symbol. In the first step, that is the end symbol.
    ///
    /// # Errors
    /// If there is no room for it.
    fn step(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Self::Lane,
        symbols: &[Symbol],
        recording: Recording,
    ) -> Result<(), BackendError>;

    /// Log-probabilities `(V)` of what follows a row after the last step.
    fn said<'t>(&self, tape: &'t Tape, lane: &'t Self::Lane, row: usize) -> &'t [f32];

    /// Continues with these rows.
    fn reorder(&self, tape: &mut Tape, lane: &mut Self::Lane, rows: &[u32]);

    /// A mark on the log-probability of `symbol` at a row after the last step.
    fn mark(&self, tape: &Tape, lane: &Self::Lane, row: usize, symbol: Symbol) -> Mark;

    /// Saves all rows.
    fn save(&self, tape: &Tape, lane: &mut Self::Lane);

    /// Continues with these saved rows.
    fn recall(&self, tape: &mut Tape, lane: &mut Self::Lane, which: &[u32]);
}

impl<N: Stepwise> Stepper for Trained<N> {
    fn n_symbols(&self) -> usize {
        self.net.n_symbols()
    }

    fn end(&self) -> Symbol {
        self.net.end()
    }

    fn cap(&self, x: &N::Input) -> usize {
        self.net.cap(x)
    }

    fn begin(
        &self,
        scratch: &mut Scratch<N::Lane>,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError> {
        let lanes = scratch.begin(self.net.layout(), set, recording, Padding::None);
        for lane in lanes.used() {
            let xs = lane.inputs(set);
            let (mut g, own) = lane.graph(lane.nudge(set), self.weights());
            self.net.begin(&mut g, own, &xs, recording);
        }
        Ok(())
    }

    fn step(
        &self,
        scratch: &mut Scratch<N::Lane>,
        set: &[Pass<'_, Self>],
        symbols: &[Symbol],
        log_probs: &mut Vec<f32>,
    ) -> Result<(), BackendError> {
        let recording = scratch.current;
        let lanes = scratch.lanes();
        lanes.used().iter_mut().for_each(|lane| lane.symbols.clear());
        for (&(lane, _), &symbol) in lanes.rows.iter().zip(symbols) {
            lanes.lanes[lane as usize].symbols.push(symbol);
        }
        for lane in lanes.used().iter_mut().filter(|lane| !lane.symbols.is_empty()) {
            lane.tape.check_room()?;
            let symbols = std::mem::take(&mut lane.symbols);
            let (mut g, own) = lane.graph(lane.nudge(set), self.weights());
            self.net.step(&mut g, own, &symbols, recording)?;
            lane.symbols = symbols;
        }
        log_probs.clear();
        for &(lane, row) in &lanes.rows {
            let Lane { tape, own, .. } = &lanes.lanes[lane as usize];
            log_probs.extend_from_slice(self.net.said(tape, own, row as usize));
        }
        debug_assert!(log_probs.len() == symbols.len() * self.net.n_symbols());
        Ok(())
    }

    fn reorder(&self, scratch: &mut Scratch<N::Lane>, rows: &[u32]) -> Result<(), BackendError> {
        scratch.lanes().reorder(rows, |lane, chosen| {
            self.net.reorder(&mut lane.tape, &mut lane.own, chosen);
        });
        Ok(())
    }

    fn mark(&self, scratch: &Scratch<N::Lane>, row: usize, symbol: Symbol) -> Mark {
        let lanes = scratch.lanes_of(Recording::Kept);
        let (lane, row) = lanes.rows[row];
        let Lane { tape, own, .. } = &lanes.lanes[lane as usize];
        self.net.mark(tape, own, row as usize, symbol)
    }

    fn save(&self, scratch: &mut Scratch<N::Lane>) -> Result<(), BackendError> {
        if let [Lane { tape, own, .. }] = scratch.lanes().used() {
            self.net.save(tape, own);
            return Ok(());
        }
        Err(BackendError::new("saving rows of several lanes is not supported"))
    }

    fn recall(&self, scratch: &mut Scratch<N::Lane>, which: &[u32]) -> Result<(), BackendError> {
        let lanes = scratch.lanes();
        lanes.rows.clear();
        lanes.rows.extend((0..which.len() as u32).map(|row| (0, row)));
        if let [Lane { tape, own, .. }] = lanes.used() {
            self.net.recall(tape, own, which);
        }
        Ok(())
    }
}
